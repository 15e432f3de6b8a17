"""`demo`: the first command."""

import json
from pathlib import Path
from typing import Annotated

import typer

from attribound.cli.app import Json, app


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for certificates and pictures.")] = Path("attribound-demo"),
    items: Annotated[int, typer.Option(min=1, max=300, help="Images to certify.")] = 20,
    samples: Annotated[int, typer.Option(min=16, help="Noise draws per image and noise law.")] = 8192,
    alpha: Annotated[float, typer.Option(help="Probability that a certificate is false.")] = 1e-3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    as_json: Json = False,
) -> None:
    """Certify real MNIST images with the shipped model and both noises, and attack a few; about a minute or two.

    Prints what is proved for each image beside what the paper's (invalid) formula claims, and saves every
    certificate and pictures of input, plain map, smoothed map and certified curve.
    """
    from attribound import checks as check
    from attribound.demo import run_demo
    from attribound.report import console

    check.alpha(alpha)
    with console.progress(quiet=as_json) as advance:
        runs, summary = run_demo(out, items=items, samples=samples, alpha=alpha, seed=seed, progress=advance)
    if as_json:
        print(json.dumps(summary))
    else:
        console.show_demo({run.noise.kind: run.certificates for run in runs}, summary)
    if any(row["violated"] for row in summary["attacks"]):
        raise typer.Exit(1)
