"""The command line: parse, call, print."""

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from attribound.errors import ArgumentError, AttriboundError

app = typer.Typer(
    name="attribound",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="""Prove how far an explanation can be bent.

A saliency map says why a classifier decided, but invisible changes of the input can turn it into almost anything.
attribound averages the map over noise and proves a lower bound on its cosine similarity after ANY change of l2 size
up to epsilon.

\b
Start with:  attribound demo      certify real images, see tables and pictures
Then:        attribound bound     the closed forms as a calculator
             attribound attack    attack what was certified
             attribound verify    check a stored certificate
""",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@app.command()
def bound(
    norm: Annotated[float, typer.Option(help="Norm of the smoothed attribution (or a lower bound on it).")],
    limit: Annotated[float, typer.Option(help="The attribution's norm never exceeds this.")] = 1.0,
    dim: Annotated[int | None, typer.Option(help="Number of input features; needed for the ball.")] = None,
    radius: Annotated[float | None, typer.Option(help="Radius of the uniform ball.")] = None,
    sigma: Annotated[float | None, typer.Option(help="Standard deviation of Gaussian noise, instead.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="l2 size of the change: asks for the cosine.")] = None,
    cosine: Annotated[float | None, typer.Option(help="Wanted cosine: asks for the largest epsilon.")] = None,
    as_json: Json = False,
) -> None:
    """The closed forms as a calculator: what norm, limit and noise prove about the cosine.

    Example: attribound bound --dim 784 --radius 1 --norm 0.5 --epsilon 0.01 --cosine 0.9

    With --epsilon it gives the certified cosine (-1 if nothing can be said), with --cosine the largest epsilon, with
    both also the smallest radius that would do if the norm did not change with the radius.
    """
    answers = _closed_forms(norm, limit, dim, radius, sigma, epsilon, cosine)
    if as_json:
        print(json.dumps({key: value if math.isfinite(value) else None for key, value in answers.items()}))
        return
    for key, value in answers.items():
        print(f"{key:16} {_shown(key, value)}{'   (the paper; NOT a guarantee)' if key == 'cosine_paper' else ''}")


def _shown(key: str, value: float) -> str:
    """Certified numbers are rounded down, needed ones up; the others as they are."""
    from attribound.certificate import round_down

    if not math.isfinite(value):
        return "none is large enough"
    if key in ("cosine", "max_epsilon"):
        return round_down(value, 10)
    if key in ("min_radius", "min_sigma"):
        return str(-float(round_down(-value, 10)))
    return f"{value:.10g}"


def _closed_forms(
    norm: float,
    limit: float,
    dim: int | None,
    radius: float | None,
    sigma: float | None,
    epsilon: float | None,
    cosine: float | None,
) -> dict[str, float]:
    from attribound import bounds

    if epsilon is None and cosine is None:
        raise ArgumentError("expected --epsilon, --cosine or both: what should be computed?")
    if radius is not None and sigma is not None:
        raise ArgumentError("expected --radius (uniform ball) or --sigma (Gaussian), got both")
    law: dict[str, Any] = {"sigma": sigma} if sigma is not None else {"radius": radius, "dim": dim}
    known = radius is not None or sigma is not None
    if not known and (epsilon is None or cosine is None):
        raise ArgumentError("expected --radius (uniform ball) or --sigma (Gaussian)")
    if sigma is None and dim is None:
        raise ArgumentError("expected --dim, the number of input features, for the uniform ball")
    answers: dict[str, float] = {}
    if epsilon is not None and known:
        moved = bounds.moved_fraction(epsilon, **law)
        answers["moved_fraction"] = moved
        answers["cosine"] = bounds.cosine_bound(norm, limit, moved)
        answers["cosine_paper"] = bounds.cosine_bound_paper(norm, limit, moved)
    if cosine is not None and known:
        answers["max_epsilon"] = bounds.max_epsilon(cosine, norm=norm, limit=limit, **law)
    if epsilon is not None and cosine is not None:
        if sigma is None:
            assert dim is not None
            answers["min_radius"] = bounds.min_radius(cosine, epsilon, norm=norm, limit=limit, dim=dim)
        else:
            answers["min_sigma"] = bounds.min_sigma(cosine, epsilon, norm=norm, limit=limit)
    return answers


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
    from attribound.bounds import arguments as check
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


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A certificate stored by attribound.", show_default=False)],
    model: Annotated[
        str | None,
        typer.Option(help="Also sample again with this shipped model, on the embedded sample's item."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Re-derive a stored certificate's numbers from what it stores; exit code 1 if it states more than it proves."""
    from attribound.verification import verify as check_file

    outcome = check_file(file)
    certificate, problems = outcome.certificate, list(outcome.problems)
    if model is not None:
        from attribound.demo import certify_again
        from attribound.verification import compare_runs

        problems += compare_runs(certificate, certify_again(certificate, model))
    if as_json:
        print(
            json.dumps({"file": str(file), "passed": not problems, "status": certificate.status, "problems": problems})
        )
    else:
        for problem in problems:
            print(f"{file}: {problem}")
        if not problems:
            print(f"{file}: every number follows from its evidence. {certificate!r}")
    if problems:
        raise typer.Exit(1)


@app.command()
def attack(
    path: Annotated[Path, typer.Argument(help="A stored certificate, a folder of them, or a case to --replay.")],
    model: Annotated[str, typer.Option(help="The shipped model that was certified.")] = "mnist-cnn-noise",
    method: Annotated[list[str] | None, typer.Option(help="direct, ifia, likelihood, random; default: all.")] = None,
    cosine: Annotated[float, typer.Option(help="Attack the largest epsilon certified for this cosine.")] = 0.8,
    restarts: Annotated[int, typer.Option(min=1, help="Independent starts of every method.")] = 20,
    steps: Annotated[int, typer.Option(min=1, help="Iterations per start.")] = 20,
    samples: Annotated[int, typer.Option(min=1, help="Draws that smooth the map during the attack.")] = 64,
    tightness: Annotated[bool, typer.Option(help="Also search the smallest epsilon that breaks the cosine.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the attacks.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for findings and violated cases.")] = Path("attribound-audit"),
    replay: Annotated[bool, typer.Option(help="PATH is a stored violation: score it again.")] = False,
    as_json: Json = False,
) -> None:
    """Attack what certificates claim; exit code 1, and a saved case, if one falls below its certificate.

    Example: attribound demo && attribound attack attribound-demo/gaussian/000.json

    Every certified (epsilon, cosine) is attacked with every method and restart; a minute or two per certificate. The
    table shows the certified cosine, the worst found, the gap, and the tightness: certified epsilon / smallest epsilon
    at which an attack (one start each) reached that cosine. For stored certificates of the embedded sample.
    """
    from attribound import auditing
    from attribound.report import console

    if replay:
        outcome = auditing.replay_case(path, model)
        print(json.dumps(outcome) if as_json else console.replay_line(outcome))
        raise typer.Exit(1 if outcome["violated"] else 0)
    options = {"steps": steps, "restarts": restarts, "samples": samples}
    with console.progress(quiet=as_json) as advance:
        findings = auditing.audit_stored(
            path, model, method, options, cosine=cosine, seed=seed, tightness=tightness, out=out, progress=advance
        )
    if as_json:
        print(json.dumps({"findings": [one.row() for one in findings], "out": str(out)}))
    else:
        console.show_findings([one.row() for one in findings], str(out))
    if any(one.violated for one in findings):
        print(f"error: a certificate was violated; the case is in {out}", file=sys.stderr)
        raise typer.Exit(1)


def main(arguments: list[str] | None = None) -> None:
    """Entry point: exit codes 0 done, 1 a check failed, 2 bad input (one line), 130 interrupted."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        code = int(app(arguments, standalone_mode=False, prog_name="attribound") or 0)
        return _interrupted() if code == 130 else code
    except typer.Exit as done:
        return _interrupted() if done.exit_code == 130 else done.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted()
    except AttriboundError as error:
        return _complain(str(error))
    except OSError as error:
        return _complain(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "))
    except Exception as error:
        # The parser's own errors (unknown option, wrong type) carry a message for the user.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        return _complain(message())


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return 130


def _complain(message: str) -> int:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
