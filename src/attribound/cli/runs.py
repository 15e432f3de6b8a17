"""`show`, `export`, `copy` and `verify`: what is stored."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attribound.cli import shared
from attribound.cli.app import Json, Run, answer, app
from attribound.cli.choices import Format
from attribound.errors import ArgumentError
from attribound.sanitise import counted, printable

if TYPE_CHECKING:
    from attribound.certification.reopen import Opener


@app.command()
def show(run: Run, as_json: Json = False) -> None:
    """Summarise a run: counts, accuracy, quantiles of what is proved. The run may still be running."""
    from attribound.cli import console
    from attribound.runs import Store
    from attribound.runs.kinds import kind_of

    with Store.read_any(run) as store:
        summary = kind_of(run).summarise(store)
    answer(summary.to_json(), as_json, lambda: console.show_summary(summary, str(run)))


@app.command()
def export(
    run: Run,
    kind: Annotated[Format, typer.Option("--format", help="Format of the records.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File to write; without it, text goes to the screen.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="csv: everything that records hold, not only the answers.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a run's records as csv, json, latex or parquet, a section for a model card, or a pack of evidence.

    Example: attribound export my-run --format csv --out my-run.csv

    The pack (--format evidence --out pack.zip, or a new folder) holds the records, the configuration, hashes,
    versions, the auditor's report and a script that checks them.
    """
    if kind in ("evidence", "model-card"):
        _export_page(run, kind, out)
    else:
        _export_records(run, "json" if as_json and out is None else kind, out, everything=everything)
    if out is not None:
        answer({"out": str(out), "format": kind}, as_json, lambda: print(f"wrote {out}"))


def _export_records(run: Path, kind: str, out: Path | None, *, everything: bool) -> None:
    from attribound.runs import Store
    from attribound.runs.export import export as write
    from attribound.runs.export import slim
    from attribound.runs.kinds import kind_of

    with Store.read_any(run) as store:
        rows = kind_of(run).rows
        brief = kind == "csv" and not everything
        for piece in write(store, kind, out, (lambda found: map(slim, rows(found))) if brief else rows):
            print(piece, end="")


def _export_page(run: Path, kind: Format, out: Path | None) -> None:
    from attribound.files import write_whole
    from attribound.report.auditor.card import model_card
    from attribound.report.auditor.pack import write_pack
    from attribound.runs import Store

    if kind == "evidence":
        if out is None:
            raise ArgumentError("expected --out FILE.zip or a new folder for the pack of evidence")
        write_pack(run, out)
        return
    with Store.read(run) as store:
        text = model_card(store)
    if out is None:
        print(text, end="")
    else:
        write_whole(out, text)


@app.command()
def copy(
    run: Run,
    out: Annotated[Path, typer.Argument(help="New folder for the copy.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Copy a run safely, even while it is running: a plain copy of the files might be damaged.

    Example: attribound copy my-run backup
    """
    from attribound.runs.copies import copy_run

    count = copy_run(run, out)
    answer({"out": str(out), "records": count}, as_json, lambda: print(f"copied {counted(count, 'record')} to {out}"))


@app.command()
@shared.spread
def verify(
    *,
    path: Annotated[Path, typer.Argument(help="A stored certificate or sheet, or a run.", show_default=False)],
    repeated: shared.Repeated,
    resample: Annotated[
        int, typer.Option(min=0, help="Compute this many records of a run again, chosen at random.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Derive stored numbers again from their evidence; exit code 1 if a number states more than its evidence proves.

    Example: attribound verify my-run --resample 3, or attribound verify certificate.json --model mnist-cnn-noise

    With --model, a certificate is also sampled again, and every change of a sheet is made again: every number must come
    out as stored.
    """
    from attribound.runs import is_run
    from attribound.tolerances.sheet_file import is_sheet

    if is_run(path):
        _verify_run(path, repeated.opener(), resample, as_json)
        return
    if resample:
        raise ArgumentError("--resample is for runs; a certificate is sampled again with --model")
    verify_one = _verify_sheet if is_sheet(path) else _verify_file
    verify_one(path, repeated.opener() if repeated else None, as_json)


def _verify_file(path: Path, opener: "Opener | None", as_json: bool) -> None:
    """Derive a certificate's numbers anew; with an opener, sample it again."""
    from attribound.certificates import verify
    from attribound.certificates.statements.registry import words

    outcome = verify(path)
    certificate, problems, remarks = outcome.certificate, list(outcome.problems), list[str]()
    if opener is not None:
        from attribound.certification.again import sample_again

        opened = opener(certificate.record.subject)
        again = sample_again(certificate, opened.field, opened.x, opened.noise)
        problems, remarks = problems + again.problems, again.remarks
    value = {"file": str(path), "passed": not problems, "status": certificate.status}
    value |= {"problems": problems, "remarks": remarks}
    stated = [] if problems else [f"{about}: {text}" for about, text in words(certificate).items()]
    _conclude(value, as_json, f"every number follows from its evidence. {certificate!r}", stated)


def _verify_sheet(path: Path, opener: "Opener | None", as_json: bool) -> None:
    """Derive a sheet's intervals anew; with an opener, make every change again."""
    from attribound.tolerances.sheet_file import read_sheet, sheet_problems

    sheet = read_sheet(path)
    problems, remarks = sheet_problems(sheet), list[str]()
    for record in sheet.records if opener is not None else ():
        from attribound.tolerances.again import ask_again

        again, notes = ask_again(record, *opener.explained(record.subject))  # type: ignore[union-attr]
        problems += [f"{record.part}: {line}" for line in again]
        remarks += [f"{record.part}: {line}" for line in notes]
    value = {"file": str(path), "passed": not problems, "problems": problems, "remarks": remarks}
    _conclude(value, as_json, f"all intervals of {len(sheet.records)} changes follow from their facts")


def _conclude(value: dict[str, Any], as_json: bool, proved: str, stated: Sequence[str] = ()) -> None:
    """Say what is wrong with a file, or what it proves and states; exit code 1 if anything is wrong."""

    def lines() -> None:
        for line in (*value["problems"], *value["remarks"], *[proved] * value["passed"]):
            print(f"{value['file']}: {printable(line)}")
        for line in stated:
            print(printable(line))

    answer(value, as_json, lines)
    if not value["passed"]:
        raise typer.Exit(1)


def _verify_run(path: Path, opener: "Opener", resample: int, as_json: bool) -> None:
    """Derive a run's numbers anew, and sample some records again."""
    from attribound.cli import console
    from attribound.runs.kinds import kind_of

    kind = kind_of(path)
    with console.progress(quiet=as_json) as advance:
        found = kind.check(path, resample, opener, lambda done, total: advance("sampling again", done, total))
    value = {
        "run": str(path),
        "passed": found.passed,
        "records": found.records,
        "resampled": found.resampled,
        "unseen": found.unseen,
        "problems": {str(item): lines for item, lines in found.problems.items()},
        "run_problems": found.whole,
        "remarks": found.remarks,
    }

    def lines() -> None:
        for item, problems in found.problems.items():
            print(f"item {item}: {printable('; '.join(problems))}")
        for problem in found.whole:
            print(f"{path}: {printable(problem)}")
        if found.passed:
            follow = "record follows from its" if found.records == 1 else "records follow from their"
            again = f"; computed again, with the same result: {found.resampled}" if found.resampled else ""
            print(f"{path}: {found.records} {follow} evidence{again}")
        for remark in filter(None, (found.unseen, *found.remarks)):
            print(f"note: {printable(remark)}")

    answer(value, as_json, lines)
    if not found.passed:
        raise typer.Exit(1)
