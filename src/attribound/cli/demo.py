"""`demo`: the first command."""

from pathlib import Path
from typing import Annotated

import typer

from attribound.cli.app import Alpha, Json, Seed, answer, app
from attribound.cli.choices import PrecisionName
from attribound.errors import ArgumentError


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for certificates and pictures.")] = Path("attribound-demo"),
    items: Annotated[
        int | None, typer.Option(min=1, max=300, help="Images to certify [default: the first 20; photos: all].")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=16, help="Noise draws per image and run [default: 8192; photos: 512].")
    ] = None,
    alpha: Alpha = 1e-3,
    seed: Seed = 0,
    photos: Annotated[
        bool,
        typer.Option("--photos", help="Grad-CAM of the shipped photographs. The ImageNet network is fetched once."),
    ] = False,
    weights: Annotated[Path, typer.Option(help="Folder for the network that --photos fetches.")] = Path(
        "data/efficientnet-lite0"
    ),
    precision: Annotated[
        PrecisionName, typer.Option(help="With --photos: run the network in this precision.")
    ] = "float32",
    as_json: Json = False,
) -> None:
    """Certify digits, then a credit decision; or photographs. Takes about two minutes.

    First comes the tolerance sheet of the first image: how far it may be turned, darkened or shifted before its
    explanation changes, with a page to open.

    Digits: MNIST with the shipped model and both noises; a few certificates are attacked. Prints what is proved for
    each image beside what the paper's (invalid) formula claims. For the same map, summed over 7 x 7 patches, it prints
    how far class and map are safe together and which patches you may rely on.

    Then a small XGBoost forest decides on fifty applications for credit. Prints exactly how far the first reason of
    each holds, and the letter to one applicant who is refused. This takes a few seconds.

    --photos: the four shipped photographs with centred Grad-CAM of an ImageNet network, which is fetched once. Prints
    how far class and map are safe together and which cells of the map you may rely on.

    Saves every certificate, a report, and pictures of input, plain map, smoothed map and certified curve.
    """
    from attribound import checks as check
    from attribound import demo as demos
    from attribound.cli import console
    from attribound.cli.demo_table import show_demo
    from attribound.data.fetch import fetch

    check.alpha(alpha)
    if photos:
        fetch(demos.PHOTO_ARCH, weights, say=console.say(quiet=as_json))
        network = weights / f"{demos.PHOTO_ARCH}.safetensors"
        configs = demos.photos(
            network, items=items, samples=samples or 512, alpha=alpha, seed=seed, precision=precision
        )
    elif precision != "float32":
        raise ArgumentError(f"expected --precision {precision} with --photos: the digits' network is too small")
    else:
        configs = demos.digits(items=items or 20, samples=samples or 8192, alpha=alpha, seed=seed)
    with console.progress(quiet=as_json) as advance:
        changes = demos.PHOTO_CHANGES if photos else demos.DIGIT_CHANGES
        attacked, say = "" if photos else "gaussian", console.say(quiet=as_json)
        runs, summary = demos.run_demo(
            out, configs, advance, attacked=attacked, changes=changes, credit=not photos, say=say
        )
    answer(summary, as_json, lambda: show_demo({run.name: run.certificates for run in runs}, summary))
    if any(row["violated"] for row in summary["attacks"]):
        raise typer.Exit(1)
