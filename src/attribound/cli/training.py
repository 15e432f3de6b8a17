"""`train` and `tune`: before there is something to certify."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attribound.bounds.laws import Normal
from attribound.cli.app import (
    Alpha,
    Arch,
    Attribution,
    Bound,
    Data,
    Denoiser,
    Json,
    Maps,
    Model,
    Seed,
    Trust,
    answer,
    app,
)
from attribound.cli.choices import NoiseKind, ObjectiveName
from attribound.cli.typos import check_words
from attribound.errors import ArgumentError

if TYPE_CHECKING:
    from attribound.fields import Field
    from attribound.fields.base import Model as Network

_GAUSSIAN = NoiseKind(Normal.kind)


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="File of the weights, FILE.safetensors; FILE.json is its card.")],
    data: Data = "mnist-sample",
    test_data: Annotated[
        str | None, typer.Option(help="Measured on this; default: the test part of mnist and cifar10, else --data.")
    ] = None,
    arch: Annotated[str, typer.Option(help="small-cnn, resnet18, resnet20, ... or denoiser.")] = "small-cnn",
    start: Annotated[str | None, typer.Option(help="Start from this model's weights (name or file).")] = None,
    objective: Annotated[ObjectiveName, typer.Option(help="What is minimised.")] = ObjectiveName.STANDARD,
    noise: Annotated[str | None, typer.Option(help="gaussian:S or uniform:R, added to every input.")] = None,
    augment: Annotated[bool, typer.Option(help="Shift and mirror images at random.")] = False,
    epsilon: Annotated[float | None, typer.Option(help="l2 radius of the attacks of the objective.")] = None,
    beta: Annotated[float | None, typer.Option(help="Weight of TRADES' or the consistency's second term.")] = None,
    weight: Annotated[float | None, typer.Option(help="Weight of the attribution term of ig-norm and igr.")] = None,
    attacked_cross_entropy: Annotated[
        bool, typer.Option(help="TRADES as the paper prints it: cross-entropy of the attacked input.")
    ] = False,
    epochs: Annotated[int, typer.Option(min=1, max=1_000_000)] = 4,
    batch: Annotated[int, typer.Option(min=1, max=1_000_000, help="Images per step.")] = 128,
    rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 3e-3,
    decay: Annotated[float, typer.Option(help="Weight decay.")] = 0.0,
    momentum: Annotated[float | None, typer.Option(help="Gradient descent with this momentum instead of Adam.")] = None,
    patience: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many epochs without a smaller loss.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1)] = 0,
    as_json: Json = False,
) -> None:
    """Train a model whose explanations hold.

    Example: attribound train --data mnist:data/mnist --objective consistency --noise gaussian:0.75 --beta 0.5
    --out my.safetensors

    A certificate is only large on a model that keeps its explanation under noise. `consistency` trains the certificate
    itself. The state is saved after every epoch: Ctrl-C, and the same command goes on to the same weights.
    """
    check_words(data=[data, test_data], noise=noise)
    from attribound.cli import console
    from attribound.data import fitted, has_splits, open_data
    from attribound.models import DENOISERS, load_denoiser, load_model, make_model
    from attribound.noise import Gaussian, parse_noise, units_of
    from attribound.training import Schedule, fresh, make_objective, summary
    from attribound.training import train as run

    learn = open_data(data, "train")
    law = None if noise is None else parse_noise(noise, units_of(learn.scale))
    options = {"epsilon": epsilon, "beta": beta, "weight": weight, "attacked_cross_entropy": attacked_cross_entropy}
    loss = make_objective(objective.value, law, augment=augment, **options)
    test = open_data(test_data or data, "test") if test_data or has_splits(data) else learn
    model = fresh(lambda: make_model(arch), seed)
    seen = fresh(lambda: make_model(arch), seed).eval()  # looking at the model itself would change its batch norms
    fit = fitted(data, learn, seen)
    if fit.note:
        console.say(quiet=as_json)(fit.note)
    learn, test = fit.data, fit.data if test is learn else fitted(test_data or data, test, seen).data
    if start is not None:
        model.load_state_dict((load_denoiser(start) if start in DENOISERS else load_model(start, arch)).state_dict())
    with console.progress(quiet=as_json) as advance:
        card = run(
            model,
            arch,
            learn,
            test,
            loss,
            Schedule(epochs=epochs, batch=batch, rate=rate, decay=decay, momentum=momentum, seed=seed),
            out,
            noise=law or Gaussian(0.25),
            patience=patience,
            command=shlex.join(["attribound", *sys.argv[1:]]),
            report=lambda epoch, value: print(f"epoch {epoch}: loss {value:.4f}", file=sys.stderr, flush=True),
            progress=advance,
        )
    answer({"out": str(out), **card}, as_json, lambda: print(f"{out}: {summary(card)}"))


@app.command()
def tune(
    model: Model = "mnist-cnn-consistency",
    arch: Arch = None,
    denoiser: Denoiser = None,
    data: Data = "mnist-sample",
    attribution: Attribution = "saliency",
    maps: Maps = None,
    bound: Bound = "unit",
    noise: Annotated[NoiseKind, typer.Option(help="Law of the noise.")] = _GAUSSIAN,
    level: Annotated[
        list[float] | None, typer.Option(help="Sigma per feature; repeat for several. Default: 0.05 to 1.")
    ] = None,
    cosine: Annotated[float, typer.Option(help="Wanted cosine.")] = 0.8,
    epsilon: Annotated[float | None, typer.Option(help="Wanted epsilon.")] = None,
    fidelity: Annotated[float, typer.Option(help="Least median cosine of smoothed and plain maps; 0: any.")] = 0.5,
    items: Annotated[int, typer.Option(min=1, help="Inputs to certify per level.")] = 10,
    samples: Annotated[int, typer.Option(min=16, help="Draws per certificate.")] = 2048,
    alpha: Alpha = 1e-3,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Also write the scan to this JSON file, and a picture.")] = None,
    trust_model: Trust = False,
    as_json: Json = False,
) -> None:
    """Scan noise levels: accuracy under noise against what can be certified; recommends one.

    Example: attribound tune --model mnist-cnn-noise --cosine 0.8 --epsilon 0.5

    More noise certifies more, until the model no longer recognises anything under it. If no level is good, the model
    needs training with noise first, or a denoiser: --denoiser scans every level with and without one. Draws are of
    another stream than those of `certify`: what is chosen here by looking is certified afresh.
    """
    check_words(attribution=attribution, maps=maps or (), data=[data], model=model)
    from attribound import tuning
    from attribound.certificates.suspicions import check_columns
    from attribound.cli import console
    from attribound.data import fitted, open_data
    from attribound.fields import make_field
    from attribound.files import check_target, write_whole
    from attribound.models import Denoised, load_denoiser, load_model
    from attribound.noise import units_of
    from attribound.report import plots

    if level and min(level) <= 0:
        raise ArgumentError(f"expected every --level > 0, got {min(level):g}")
    target = None if out is None else check_target(out)
    source = open_data(data)

    def plain(network: "Network") -> "Field":
        return make_field(network, attribution, bound, maps=maps or None, units=units_of(source.scale))

    network = load_model(model, arch, trust=trust_model)
    check_columns(source.features, network, model)
    _, source, note = fitted(data, source, network)
    if note:
        console.say(quiet=as_json)(note)
    cleaner = None if denoiser is None else load_denoiser(denoiser)
    with console.progress(quiet=as_json) as advance:
        outcome = tuning.tune(
            plain(network),
            source,
            denoised=None if cleaner is None else lambda sigma: plain(Denoised(network, cleaner, sigma).eval()),
            kind=noise.value,
            sigmas=level or None,
            cosine=cosine,
            epsilon=epsilon,
            fidelity=fidelity,
            items=items,
            samples=samples,
            alpha=alpha,
            seed=seed,
            progress=advance,
        )
    row = {"model": model, "denoiser": denoiser, "data": data, **outcome.row()}
    if out is not None and target is not None:
        write_whole(out, json.dumps(row, indent=1) + "\n")
        if target.is_file():  # beside a device or a pipe there is no place for a picture
            plots.save(plots.plot_scan(row), out.with_suffix(".png"))
    answer(row, as_json, lambda: console.show_scan(row))
