"""`certify`, `show` and `export`: whole data sets."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attribound.cli.app import Arch, Data, Json, Model, Trust, app, interruptible
from attribound.errors import ArgumentError, AttriboundError

if TYPE_CHECKING:
    from attribound.runs.engines import Engine

Run = Annotated[Path, typer.Argument(help="Folder of a run, written by certify.", show_default=False)]


@app.command()
def certify(
    out: Annotated[Path, typer.Option(help="Folder of the run; the same command again goes on with it.")],
    model: Model,
    data: Data,
    arch: Arch = None,
    attribution: Annotated[
        str,
        typer.Option(help="saliency, ig, ig-random, input-x-gradient, guided-backprop, deconvolution, deeplift, ..."),
    ] = "saliency",
    output: Annotated[str, typer.Option(help="What is explained: logit or probability.")] = "logit",
    bound: Annotated[
        str, typer.Option(help="How the limit is known: unit, clip:L, proved:L; assumed:L is no certificate.")
    ] = "unit",
    noise: Annotated[str, typer.Option(help="uniform:R or gaussian:S, in the units of the pixels.")] = "gaussian:0.5",
    samples: Annotated[int, typer.Option(min=2, help="Noise draws per input.")] = 4096,
    alpha: Annotated[float, typer.Option(help="Probability that a record is false.")] = 1e-3,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="State the certified cosine at these [0.1 0.25 0.5].")
    ] = None,
    cosine: Annotated[list[float] | None, typer.Option(help="State the largest epsilon at these [0.8 0.9].")] = None,
    limit_items: Annotated[int | None, typer.Option(min=1, help="Certify only so many inputs.")] = None,
    shuffle: Annotated[bool, typer.Option(help="Take the inputs in an order shuffled by the seed.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes, one thread each; default: all cores.")] = None,
    engine: Annotated[str, typer.Option(help="local, or ray (needs attribound[ray]).")] = "local",
    address: Annotated[str | None, typer.Option(help="Address of an existing Ray cluster.")] = None,
    device: Annotated[str, typer.Option(help="cpu, or cuda.")] = "cpu",
    pictures: Annotated[int, typer.Option(min=0, help="Keep pictures of so many inputs, for the report.")] = 200,
    strict: Annotated[bool, typer.Option(help="Stop at the first input that fails.")] = False,
    retry: Annotated[bool, typer.Option(help="Try inputs again that failed before.")] = False,
    trust_model: Trust = False,
    as_json: Json = False,
) -> None:
    """Certify a whole data set: one record per input; kill it at any time and run it again to go on.

    Example: attribound certify --model mnist-cnn-consistency --data mnist-sample --noise gaussian:0.75
    --limit-items 50 --out my-run

    Then: attribound show my-run, attribound attack my-run, attribound report my-run. A bad input becomes a record with
    status `error`. Draws depend on (seed, item) only, so workers, engines and interruptions change no record.
    """
    from attribound.report import console
    from attribound.runs import RunConfig, Store, summarise
    from attribound.runs.runner import prepare, run

    given = RunConfig(
        model=model,
        data=data,
        arch=arch,
        attribution=attribution,
        output=output,
        bound=bound,
        noise=noise,
        samples=samples,
        alpha=alpha,
        epsilons=tuple(epsilon or RunConfig.epsilons),
        cosines=tuple(cosine or RunConfig.cosines),
        items=limit_items,
        shuffle=shuffle,
        seed=seed,
        pictures=pictures,
        device=device,
    )
    chosen = _engine(engine, workers, address, device)
    config, job = prepare(given, trust=trust_model)
    with interruptible() as interrupted, console.run_progress(config.cosines[0], quiet=as_json) as advance:
        state = run(job, out, chosen, strict=strict, retry=retry, stop=interrupted.is_set, progress=advance)
    if state.done < state.total and interrupted.is_set():
        again = shlex.join(["attribound", *sys.argv[1:]])
        print(f"{state.done} of {state.total} inputs are in {out}. To go on: {again}", file=sys.stderr)
        raise typer.Exit(130)
    with Store.read(out) as store:
        summary = summarise(store)
    if as_json:
        print(json.dumps({"out": str(out), **summary.to_json()}))
    else:
        console.show_summary(summary.to_json(), str(out))
    if summary.counts.get("error") == summary.total:
        raise AttriboundError("every input failed, see above")


def _engine(name: str, workers: int | None, address: str | None, device: str) -> "Engine":
    from attribound.runs.engines import Local
    from attribound.runs.work import cores

    count = workers or cores()
    if name == "local":
        return Local(count)
    if name != "ray":
        raise ArgumentError(f"expected --engine local or ray, got {name!r}")
    try:
        from attribound.runs.engines.ray import Ray
    except ImportError:
        raise ArgumentError("--engine ray needs ray: pip install 'attribound[ray]'") from None
    return Ray(count, address, device)


@app.command()
def show(run: Run, as_json: Json = False) -> None:
    """Summarise a run: counts, accuracy, quantiles of certified epsilon, certified fractions; it may be running."""
    from attribound.report import console
    from attribound.runs import Store, summarise

    with Store.read(run) as store:
        summary = summarise(store)
    if as_json:
        print(json.dumps(summary.to_json()))
    else:
        console.show_summary(summary.to_json(), str(run))


@app.command()
def export(
    run: Run,
    kind: Annotated[str, typer.Option("--format", help="csv, json, latex or parquet.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File; without it text goes to the screen.")] = None,
    as_json: Json = False,
) -> None:
    """Write a run's records as csv, json, latex or parquet.

    Example: attribound export my-run --format csv --out my-run.csv
    """
    from attribound.runs import Store
    from attribound.runs.export import export as write

    with Store.read(run) as store:
        text = write(store, "json" if as_json and out is None else kind, out)
    if text:
        print(text, end="")
    elif as_json:
        print(json.dumps({"out": str(out), "format": kind}))
    else:
        print(f"wrote {out}")
