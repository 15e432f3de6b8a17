"""`certify`: whole data sets."""

import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attribound.cli import shared
from attribound.cli.app import Alpha, Data, Model, answer, app, interruptible
from attribound.cli.statements import asking
from attribound.cli.typos import check_words
from attribound.errors import ArgumentError, AttriboundError

if TYPE_CHECKING:
    from attribound.runs import RunConfig
    from attribound.runs.engines import Engine
    from attribound.runs.job import Job

    Prepare = Callable[..., tuple[RunConfig, Job]]


@app.command()
@shared.spread
@asking
def certify(
    *,
    out: shared.Out,
    model: Model,
    data: Data,
    explained: shared.Method,
    denoiser: shared.Denoiser = None,
    output: shared.Output = "logit",
    target: shared.Target = None,
    noise: Annotated[
        str, typer.Option(help="uniform:R or gaussian:S, in the units of the inputs, of ?scale=FILE, or of --change.")
    ] = "gaussian:0.5",
    change: Annotated[
        list[str] | None,
        typer.Option(
            help="Put the noise on the amounts of everyday changes, made one after the other, e.g. rotation:10 and "
            "zoom:10%; each of these amounts counts as 1. Repeat for several."
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=2, help="Noise draws per input.")] = 4096,
    asked: Any = None,
    alpha: Alpha = 1e-3,
    simultaneous: Annotated[
        bool,
        typer.Option(
            help="Share alpha among all inputs: with probability 1 - alpha all certificates are true at once."
        ),
    ] = False,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="State the certified cosine at these epsilons [default: 0.1 0.25 0.5].")
    ] = None,
    cosine: Annotated[
        list[float] | None, typer.Option(help="State the largest epsilon at these cosines [default: 0.8 0.9].")
    ] = None,
    work: shared.Work,
) -> None:
    """Certify a data set against any change up to epsilon; resumes after any interruption.

    Example: attribound certify --model mnist-cnn-consistency --data mnist-sample --noise gaussian:0.75 --items 50
    --out my-run

    Then: attribound show my-run, attribound attack my-run, attribound report my-run. There is one record per input; a
    bad input becomes a record with status `error`. Draws depend only on seed and input, so the number of workers, the
    engine and interruptions change no record.
    """
    check_words(
        attribution=explained.attribution or "", maps=explained.maps or (), data=[data], noise=noise, model=model
    )
    from attribound.certificates.statements.base import COSINES, EPSILONS
    from attribound.runs import RunConfig
    from attribound.runs.runner import prepare

    config = RunConfig(
        model=model,
        data=data,
        denoiser=denoiser,
        output=output,
        noise=noise,
        changes=tuple(one.strip() for one in change or ()),
        target=target,
        samples=samples,
        asked=asked,
        alpha=alpha,
        epsilons=tuple(epsilon or EPSILONS),
        cosines=tuple(cosine or COSINES),
        **explained.of(model),
        **work.settings,
    )
    carry_out(config, out, work, partial(prepare, simultaneous=simultaneous))


def carry_out(config: "RunConfig", out: Path, work: shared.Work, prepare: "Prepare") -> None:
    """Start or resume a run, and show it; if it is interrupted, say how to resume."""
    from attribound.certificates.subject import called
    from attribound.cli import console
    from attribound.runs import Store
    from attribound.runs.kinds import kind_of
    from attribound.runs.runner import run
    from attribound.runs.summary import Summary

    as_json, engine, say = work.as_json, _engine(work), console.say(quiet=work.as_json)
    config, job = prepare(config, trust=work.trust_model, say=say)
    with interruptible() as interrupted, console.run_progress(config.cosines[0], quiet=as_json) as advance:
        state = run(
            job,
            out,
            engine,
            progress=advance,
            say=say,
            stop=interrupted.is_set,
            strict=work.strict,
            retry=work.retry,
        )
    if state.done < state.total and interrupted.is_set():
        again = shlex.join(["attribound", *sys.argv[1:]])
        print(f"{state.done} of {state.total} records are in {out}. To resume: {again}", file=sys.stderr)
        raise typer.Exit(130)
    with Store.read_any(out) as store:
        summary = kind_of(out).summarise(store)
    answer({"out": str(out), **summary.to_json()}, as_json, lambda: console.show_summary(summary, str(out)))
    if summary.failed:
        first = next(iter(summary.errors if isinstance(summary, Summary) else summary.messages))
        raise AttriboundError(f"every input failed; {called(first['item'], first['input'])}: {first['message']}")


def _engine(work: shared.Work) -> "Engine":
    """Where the work is done."""
    from attribound.runs.engines import Local
    from attribound.runs.work import cores

    count = work.workers or cores()
    if work.engine == "local":
        if work.address is not None:
            raise ArgumentError("--address is for --engine ray")
        return Local(count)
    try:
        from attribound.runs.engines.ray import Ray
    except ImportError:
        raise ArgumentError("--engine ray needs ray: pip install 'attribound[ray]'") from None
    return Ray(count, work.address, work.device)
