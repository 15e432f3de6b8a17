"""`verify` and `attack`: what stored certificates are worth."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attribound.cli.app import Arch, Json, Trust, app, interruptible

if TYPE_CHECKING:
    from attribound.attacks import Attack


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
    path: Annotated[Path, typer.Argument(help="A run, a stored certificate or a folder of them; a case to --replay.")],
    model: Annotated[
        str | None, typer.Option(help="The certified model; default: the run's own, or the demo's.")
    ] = None,
    arch: Arch = None,
    method: Annotated[list[str] | None, typer.Option(help="direct, ifia, likelihood, random; default: all.")] = None,
    cosine: Annotated[float, typer.Option(help="Attack the largest epsilon certified for this cosine.")] = 0.8,
    restarts: Annotated[int, typer.Option(min=1, help="Independent starts of every method.")] = 20,
    steps: Annotated[int, typer.Option(min=1, help="Iterations per start.")] = 20,
    samples: Annotated[int, typer.Option(min=1, help="Draws that smooth the map during the attack.")] = 64,
    tightness: Annotated[bool, typer.Option(help="Also search the smallest epsilon that breaks the cosine.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the attacks.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for findings and violated cases (a run keeps its own).")] = Path(
        "attribound-audit"
    ),
    limit_items: Annotated[int | None, typer.Option(min=1, help="Attack only so many inputs of a run.")] = None,
    trust_model: Trust = False,
    replay: Annotated[bool, typer.Option(help="PATH is a stored violation: score it again.")] = False,
    as_json: Json = False,
) -> None:
    """Attack what a run or stored certificates claim; exit code 1, and a saved case, if one is found false.

    Example: attribound attack my-run --method direct --restarts 2 --limit-items 10

    Every certified (epsilon, cosine) is attacked with every method and restart; a minute or two per certificate. The
    table shows the certified cosine, the worst found, the gap, and the tightness: certified epsilon / smallest epsilon
    at which an attack (one start each) reached that cosine. A run stores its findings; run again to go on. Stored
    certificates must be of the embedded sample.
    """
    from attribound import auditing
    from attribound.demo import MODEL
    from attribound.report import console
    from attribound.runs import is_run

    options = {"steps": steps, "restarts": restarts, "samples": samples}
    if is_run(path):
        attacks = auditing.make_attacks(method, options)
        _attack_run(path, attacks, model, arch, trust_model, cosine, seed, tightness, limit_items, as_json)
        return
    model = model or MODEL
    if replay:
        outcome = auditing.replay_case(path, model)
        print(json.dumps(outcome) if as_json else console.replay_line(outcome))
        raise typer.Exit(1 if outcome["violated"] else 0)
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


def _attack_run(
    path: Path,
    attacks: "Sequence[Attack]",
    model: str | None,
    arch: str | None,
    trust: bool,
    cosine: float,
    seed: int,
    tightness: bool,
    items: int | None,
    as_json: bool,
) -> None:
    from attribound.report import console
    from attribound.runs.audit import audit_run

    with interruptible() as interrupted, console.progress(quiet=as_json) as advance:
        rows = audit_run(
            path,
            attacks,
            model=model,
            arch=arch,
            trust=trust,
            cosine=cosine,
            seed=seed,
            tightness=tightness,
            items=items,
            stop=interrupted.is_set,
            progress=lambda done, total: advance("audit", done, total),
        )
    if as_json:
        print(json.dumps({"findings": rows, "out": str(path)}))
    else:
        console.show_findings(rows, str(path))
    if any(row["violated"] for row in rows):
        print(f"error: a certificate was violated; the case is in {path}", file=sys.stderr)
        raise typer.Exit(1)
    if interrupted.is_set():
        print(f"{len(rows)} inputs are attacked; the same command goes on", file=sys.stderr)
        raise typer.Exit(130)
