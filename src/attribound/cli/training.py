"""`train` and `tune`: before there is something to certify."""

import json
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attribound.bounds.laws import Normal
from attribound.cli import shared
from attribound.cli.app import Alpha, Data, Json, Model, Seed, answer, app
from attribound.cli.choices import NoiseKind, NormMode, ObjectiveName
from attribound.cli.typos import check_words
from attribound.errors import ArgumentError

if TYPE_CHECKING:
    from attribound.data import Dataset
    from attribound.fields import Field
    from attribound.fields.base import Model as Network

_GAUSSIAN = NoiseKind(Normal.kind)


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="File for the weights, FILE.safetensors; its model card is FILE.json.")],
    data: Data = "mnist-sample",
    test_data: Annotated[
        str | None, typer.Option(help="Data to measure on. Default: the test part of mnist and cifar10, else --data.")
    ] = None,
    arch: Annotated[str, typer.Option(help="small-cnn, resnet18, resnet20, ... or denoiser.")] = "small-cnn",
    start: Annotated[str | None, typer.Option(help="Start from this model's weights (name or file).")] = None,
    objective: Annotated[
        ObjectiveName | None, typer.Option(help="The loss to minimise.  [default: standard]", show_default=False)
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option(help="TOML file with one [[phase]] table per phase, with the objective and the options below."),
    ] = None,
    noise: Annotated[str | None, typer.Option(help="gaussian:S or uniform:R, added to every input.")] = None,
    augment: Annotated[bool, typer.Option(help="Shift and mirror images at random.")] = False,
    norm: Annotated[
        NormMode | None,
        typer.Option(help="Batch norm: mixed (statistics of the batch, in the loss only) or frozen.  [default: mixed]"),
    ] = None,
    bfloat16: Annotated[bool, typer.Option(help="Compute in 16 bits where that is enough.")] = False,
    epsilon: Annotated[float | None, typer.Option(help="l2 radius of the attacks that the objective makes.")] = None,
    attack_steps: Annotated[int | None, typer.Option(min=1, help="Iterations of these attacks.")] = None,
    step_size: Annotated[float | None, typer.Option(help="Length of each step.")] = None,
    beta: Annotated[float | None, typer.Option(help="Weight of the second term of trades or consistency.")] = None,
    weight: Annotated[float | None, typer.Option(help="Weight of the attribution term of ig-norm and igr.")] = None,
    path_steps: Annotated[int | None, typer.Option(min=1, help="Points on the path of that attribution.")] = None,
    attacked_cross_entropy: Annotated[
        bool, typer.Option(help="TRADES as the paper prints it: cross-entropy of the attacked input.")
    ] = False,
    epochs: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="Passes over the data.  [default: 4]")
    ] = None,
    images: Annotated[int | None, typer.Option(min=1, help="Total number of images seen, instead of --epochs.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, max=1_000_000, help="Images per step.  [default: 128]")] = None,
    rate: Annotated[float | None, typer.Option(help="Peak learning rate.  [default: 0.003]")] = None,
    decay: Annotated[float | None, typer.Option(help="Weight decay.  [default: 0]")] = None,
    momentum: Annotated[float | None, typer.Option(help="Gradient descent with this momentum instead of Adam.")] = None,
    patience: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many epochs without a smaller loss.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="Seed of weights, batches and noise.  [default: 0]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a model whose explanations hold.

    Example: attribound train --data mnist:data/mnist --objective consistency --noise gaussian:0.75 --beta 0.5
    --out my.safetensors

    A certificate is only large on a model that keeps its explanation under noise. `consistency` trains the certificate
    itself. The state is saved every half minute: after Ctrl-C the same command resumes and ends with the
    same weights.
    """
    check_words(data=[data, test_data], noise=noise)
    from attribound.cli import console
    from attribound.data import fitted, has_splits, open_data
    from attribound.models import DENOISERS, load_denoiser, load_model, make_model
    from attribound.noise import units_of
    from attribound.training import fresh, make_phase, read_recipe, summary
    from attribound.training import train as run
    from attribound.training.phases import SETTINGS

    typed = _typed(locals(), SETTINGS)
    learn = open_data(data, "train")
    settings = [typed] if recipe is None else [_joined(typed, phase) for phase in read_recipe(recipe)]
    phases = [make_phase(phase, units_of(learn.scale)) for phase in settings]
    test = open_data(test_data or data, "test") if test_data or has_splits(data) else learn
    # A second copy is looked at: looking at the model itself would change its batch norms.
    model, seen = (fresh(lambda: make_model(arch), phases[0].schedule.seed) for _ in range(2))
    seen.eval()
    fit = fitted(data, learn, seen)
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
            phases[0].objective,
            phases[0].schedule,
            out,
            then=phases[1:],
            noise=phases[-1].noise,
            patience=patience,
            start=start,
            command=shlex.join(["attribound", *sys.argv[1:]]),
            report=lambda epoch, value: print(f"epoch {epoch}: loss {value:.4f}", file=sys.stderr, flush=True),
            progress=advance,
        )
    answer({"out": str(out), **card}, as_json, lambda: print(f"{out}: {summary(card)}"))


def _typed(options: dict[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """What was typed of the settings of a phase, under the names of the options."""
    given = {name: options.get(name.replace("-", "_")) for name in settings}
    return {name: value for name, value in given.items() if value is not None and value is not False}


def _joined(typed: dict[str, Any], phase: dict[str, Any]) -> dict[str, Any]:
    """A phase of a recipe with what was typed; raises ArgumentError where both speak."""
    for name in typed:
        if name in phase:
            raise ArgumentError(f"the recipe sets {name}: leave out --{name}")
    return {**typed, **phase}


@app.command()
@shared.spread
def tune(
    *,
    model: Model = "mnist-cnn-consistency",
    data: Data = "mnist-sample",
    explained: shared.Method,
    denoiser: shared.Denoiser = None,
    noise: Annotated[NoiseKind, typer.Option(help="Kind of noise.")] = _GAUSSIAN,
    level: Annotated[
        list[float] | None, typer.Option(help="Sigma per feature; repeat for several. Default: levels from 0.05 to 1.")
    ] = None,
    cosine: Annotated[float, typer.Option(help="Wanted cosine.")] = 0.8,
    epsilon: Annotated[float | None, typer.Option(help="Wanted epsilon.")] = None,
    fidelity: Annotated[
        float, typer.Option(help="Lowest median cosine of smoothed and plain maps to accept; 0 allows any.")
    ] = 0.5,
    items: Annotated[int, typer.Option(min=1, help="Inputs to certify per level.")] = 10,
    samples: Annotated[int, typer.Option(min=16, help="Draws per certificate.")] = 2048,
    alpha: Alpha = 1e-3,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Also write the scan to this JSON file, and a picture.")] = None,
    trust_model: shared.Trust = False,
    as_json: Json = False,
) -> None:
    """Scan noise levels, weigh accuracy under noise against what can be certified, and recommend one level.

    Example: attribound tune --model mnist-cnn-noise --cosine 0.8 --epsilon 0.5

    More noise certifies more, until the model no longer recognises anything. If no level is good, the model needs
    training with noise first, or a denoiser: --denoiser scans every level with and without it. The draws here are not
    those of `certify`, so choosing a level by these numbers does not bias the certificates.
    """
    check_words(attribution=explained.attribution or "", maps=explained.maps or (), data=[data], model=model)
    from attribound import tuning
    from attribound.certification.suspicions import check_columns
    from attribound.cli import console
    from attribound.data import fitted, open_data
    from attribound.files import check_target
    from attribound.models import Denoised, load_denoiser, load_model
    from attribound.noise import units_of

    if level and min(level) <= 0:
        raise ArgumentError(f"expected every --level > 0, got {min(level):g}")
    target, source = None if out is None else check_target(out), open_data(data)
    say = console.say(quiet=as_json)

    def plain(net: "Network") -> "Field":
        return explained.field(net, model, units_of(source.scale))

    network = load_model(model, explained.arch, trust=trust_model)
    check_columns(source.features, network, model)
    _, source, note = fitted(data, source, network)
    say(note)
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
    say(_about_precision(plain(network), source))
    row = {"model": model, "denoiser": denoiser, "data": data, "precision": explained.precision, **outcome.row()}
    _write_scan(row, out, target)
    answer(row, as_json, lambda: console.show_scan(row))


def _write_scan(row: dict[str, Any], out: Path | None, target: Path | None) -> None:
    if out is None or target is None:
        return
    from attribound.files import write_whole
    from attribound.report.figures import plots, tune_plot

    write_whole(out, json.dumps(row, indent=1) + "\n")
    if target.is_file():  # beside a device or a pipe there is no place for a picture
        plots.save(tune_plot.plot_scan(row), out.with_suffix(".png"))


def _about_precision(field: "Field", source: "Dataset") -> str:
    """Whether another precision would pay, or the one asked for does not; empty if there is nothing to say."""
    from attribound.fields.precision import advice, slow_here

    if field.precision != "float32":
        return slow_here(field.precision, "cpu")
    return advice(field, source.input(0)) if len(source) else ""
