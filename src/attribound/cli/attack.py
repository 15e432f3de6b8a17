"""`attack` and `replay`: what certificates are worth."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attribound.cli import shared
from attribound.cli.app import Json, answer, app
from attribound.cli.choices import METHODS, Budget
from attribound.errors import ArgumentError
from attribound.sanitise import printable

if TYPE_CHECKING:
    from attribound.certificates.finding import Finding
    from attribound.certification.reopen import Opener


@app.command()
@shared.spread
def attack(
    *,
    path: Annotated[Path, typer.Argument(help="A run, or a stored certificate.", show_default=False)],
    repeated: shared.Repeated,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{', '.join(METHODS)}, or a registered one; repeat for several. Default: those of the budget."
        ),
    ] = None,
    budget: Annotated[
        Budget, typer.Option(help="Per certificate: quick takes seconds, normal about a minute, thorough many minutes.")
    ] = "normal",
    cosine: Annotated[
        float | None, typer.Option(help="Attack the largest epsilon certified for this cosine [default: 0.8].")
    ] = None,
    restarts: Annotated[
        int | None, typer.Option(min=1, help="Independent starts. Default: as the budget says.")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Iterations per start. Default: as the budget says.")] = None,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Draws that smooth the map during the attack. Default: as the budget says."),
    ] = None,
    tightness: Annotated[
        bool | None,
        typer.Option(help="Also search for the smallest epsilon that breaks the cosine [default: only if thorough]."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the attacks.")] = 0,
    items: Annotated[int | None, typer.Option(min=1, help="Attack only this many inputs of a run.")] = None,
    limit_items: shared.Items = None,
    as_json: Json = False,
) -> None:
    """Attack what a run or a stored certificate claims; if a claim is false, save the case and exit with code 1.

    Example: attribound attack my-run --budget quick --items 3

    Every certified (epsilon, cosine) is attacked. An attack that does not fit the model is skipped, and a line says so.
    The table shows the certified cosine, the worst cosine found, the gap between them, and the tightness: certified
    epsilon / smallest epsilon at which an attack reached that cosine. For the columns of a forest, changes inside every
    proved reach are tried, and the nearest changes are checked with the library of the forest. For tolerances of
    pictures, alternatives inside every proved reach are computed anew, and scans are searched with draws of their own.
    A run stores its findings; the same command again resumes.
    """
    from attribound.attacks import BUDGETS, make_attacks
    from attribound.cli import console
    from attribound.runs import is_run
    from attribound.runs.audit import Audit

    opener = repeated.opener()
    if path.is_dir() and not is_run(path):
        raise ArgumentError(f"expected a run or a stored certificate, and {path} is neither")
    asked = {"restarts": restarts, "steps": steps, "samples": samples}
    if (kind := _kind(path)) != "certify":
        _refuse_others(kind, {"method": method, "cosine": cosine, "tightness": tightness, **asked})
        attack_kind = _attack_columns if kind == "columns" else _attack_tolerances
        attack_kind(path, opener, budget=budget, seed=seed, items=items or limit_items, as_json=as_json)
        return
    plan = BUDGETS[budget]
    options = plan.options | {key: value for key, value in asked.items() if value is not None}
    attacks = make_attacks(method or plan.methods, options)
    close = plan.tightness if tightness is None else tightness
    with console.progress(quiet=as_json) as advance:
        audit = Audit(attacks, opener, _COSINE if cosine is None else cosine, seed, close, console.say(quiet=as_json))
        if is_run(path):
            count = items or limit_items
            findings = audit.of_run(path, items=count, progress=lambda done, total: advance("audit", done, total))
        elif items or limit_items:
            raise ArgumentError(f"--items is for runs, and {path} is not a run")
        else:
            findings = [audit.of_file(path)]
    _finish(findings, path, as_json)


_POINTS = {"quick": 512, "normal": 4096, "thorough": 65536}
"""Points for each way to move the columns of a row."""


_COSINE = 0.8
"""Attacked unless told otherwise."""


def _kind(path: Path) -> str:
    """What is attacked: a run of some kind, or a certificate."""
    from attribound.runs import Store, is_run

    if not is_run(path):
        return "certify"
    with Store.read_any(path) as store:
        return store.config.kind


def _refuse_others(kind: str, asked: dict[str, Any]) -> None:
    """Options of attacks on certificates say nothing about runs of other kinds."""
    typed = ", ".join(f"--{name}" for name, value in asked.items() if value is not None)
    if typed:
        what = "tolerances of columns" if kind == "columns" else "tolerances"
        raise ArgumentError(
            f"{typed}: for attacks on certificates only, and this is a run of {what}, which has --budget and --seed"
        )


def _attack_tolerances(
    path: Path, opener: "Opener", *, budget: Budget, seed: int, items: int | None, as_json: bool
) -> None:
    """Try alternatives inside every proved reach anew, and search scans with draws of their own."""
    from attribound.cli import console
    from attribound.runs.tolerance_audit import ToleranceAudit
    from attribound.tolerances.attack import EFFORTS, ToleranceAttack

    with console.progress(quiet=as_json) as advance:
        audit = ToleranceAudit(ToleranceAttack(EFFORTS[budget], seed), opener, console.say(quiet=as_json))
        findings = audit.of_run(path, items=items, progress=lambda done, total: advance("attack", done, total))
    rows = [one.row() for one in findings]
    answer({"findings": rows, "out": str(path)}, as_json, lambda: console.show_tolerance_findings(findings, str(path)))
    if broken := sum(one.violated for one in findings):
        print(f"error: {broken} claim(s) were found false", file=sys.stderr)
        raise typer.Exit(1)


def _attack_columns(
    path: Path, opener: "Opener", *, budget: Budget, seed: int, items: int | None, as_json: bool
) -> None:
    """Try points inside every proved reach, and hand nearest changes to the library itself."""
    from attribound.cli import console
    from attribound.runs.audit import audit_columns

    with console.progress(quiet=as_json) as advance:
        findings = audit_columns(
            path,
            opener,
            count=_POINTS[budget],
            seed=seed,
            items=items,
            progress=lambda done, total: advance("attack", done, total),
            say=console.say(quiet=as_json),
        )
    broken = [one for one in findings if one.violated]

    def lines() -> None:
        points = sum(one.points for one in findings)
        print(f"{len(findings)} statements attacked with {points:,} changes inside their reach")
        if asked := [one for one in findings if one.confirmed is not None]:
            confirmed = sum(one.confirmed is True for one in asked)
            print(f"{confirmed} of {len(asked)} nearest changes break them in {asked[0].library}")
        for one in broken[:20]:
            print(printable(f"row {one.item}: {one.words}: FALSE, see its finding"))

    answer({"findings": [one.row() for one in findings], "out": str(path)}, as_json, lines)
    if broken:
        print(f"error: {len(broken)} statement(s) were found false", file=sys.stderr)
        raise typer.Exit(1)


def _finish(findings: "list[Finding]", path: Path, as_json: bool) -> None:
    from attribound.cli import console

    rows = [one.row() for one in findings]
    answer({"findings": rows, "out": str(path)}, as_json, lambda: console.show_findings(findings, str(path)))
    if any(one.violated for one in findings):
        print(f"error: a certificate was violated; the case is in {path}", file=sys.stderr)
        raise typer.Exit(1)


@app.command()
@shared.spread
def replay(
    *,
    case: Annotated[Path, typer.Argument(help="A stored violation (violation-*.json).", show_default=False)],
    repeated: shared.Repeated,
    as_json: Json = False,
) -> None:
    """Score a stored violation again, with fresh noise, on the model, data and method that it is about.

    Exit code 1 if it still violates the certificate.
    """
    from attribound.attacks.case import load_case
    from attribound.attacks.case import replay as score_again
    from attribound.cli import console

    stored = load_case(case)
    outcome = score_again(stored, repeated.opener()(stored.certificate.record.subject))
    answer(outcome.row(), as_json, lambda: print(console.replay_line(outcome.row())))
    raise typer.Exit(1 if outcome.violated else 0)
