"""`verify` and `attack`: what stored certificates are worth."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from attribound.cli.app import Json, app


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
