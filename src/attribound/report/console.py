"""What people see in the terminal: progress and tables."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from attribound.certificate import Certificate, round_down

Advance = Callable[[str, int, int], None]

_WIDEST = 200
"""Columns that a table may take in a file or pipe, where nobody's window is too narrow."""


@contextlib.contextmanager
def progress(*, quiet: bool = False) -> Iterator[Advance]:
    """Yield a callable (what, done, of): a bar on a terminal, plain lines elsewhere, nothing when quiet."""
    console = Console(stderr=True)
    if quiet:
        yield lambda what, done, total: None
    elif not console.is_terminal:
        yield _plain_line
    else:
        columns = (
            TextColumn("{task.description:10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
        )
        with Progress(*columns, console=console) as bar:
            tasks: dict[str, Any] = {}

            def advance(what: str, done: int, total: int) -> None:
                if what not in tasks:
                    tasks[what] = bar.add_task(what, total=total)
                bar.update(tasks[what], completed=done, total=total)

            yield advance


def _plain_line(what: str, done: int, total: int) -> None:
    step = max(total // 4, 1)
    if done and (done % step == 0 or done == total):
        print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def run_progress(cosine: float, *, quiet: bool = False) -> Iterator[Callable[[Any], None]]:
    """Yield a callable that takes a run's progress: a bar on a terminal, a line now and then elsewhere."""
    console = Console(stderr=True)
    if quiet:
        yield lambda state: None
    elif not console.is_terminal:
        yield _run_lines(cosine)
    else:
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
        )
        with Progress(*columns, console=console) as bar:
            task = bar.add_task("", total=None, note="")
            yield lambda state: bar.update(
                task, completed=state.done, total=state.total, note=_run_note(state, cosine), refresh=True
            )


def _run_lines(cosine: float) -> Callable[[Any], None]:
    last = time.monotonic()

    def line(state: Any) -> None:
        nonlocal last
        if state.done == state.total or state.done == state.begun_with or time.monotonic() - last >= 10:
            last = time.monotonic()
            print(f"{state.done} of {state.total}  {_run_note(state, cosine)}", file=sys.stderr, flush=True)

    return line


def _run_note(state: Any, cosine: float) -> str:
    parts = [f"{state.rate:.2f}/s"] if state.done > state.begun_with else []
    if state.rate > 0 and state.done < state.total:
        parts.append(f"{(state.total - state.done) / state.rate:.0f} s left")
    if state.median is not None:
        parts.append(f"median epsilon {round_down(state.median, 3)} at cosine {cosine:g}")
    if state.errors:
        parts.append(f"{state.errors} failed")
    return ", ".join(parts)


def show_summary(summary: Mapping[str, Any], name: str) -> None:
    """A run in three tables."""
    console, config = Console(), summary["config"]
    counts = ", ".join(f"{count} {status}" for status, count in sorted(summary["counts"].items())) or "no records yet"
    console.print(f"{name}: {summary['items']} inputs: {counts}", highlight=False, markup=False, soft_wrap=True)
    console.print(
        f"{config['model']} on {config['data']}; {config['attribution']}, {config['bound']}; noise {config['noise']}; "
        f"{config['samples']:,} samples, alpha {config['alpha']:g}, seed {config['seed']}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    if summary["accuracy"] is not None:
        noisy = f"{summary['accuracy_noisy']:.1%} under the noise"
        console.print(f"accuracy {summary['accuracy']:.1%}, {noisy}", highlight=False)
    if str(config["bound"]).startswith("assumed"):
        console.print("The limit is ASSUMED: none of these numbers is a certificate.", style="bold red")
    if any(summary["quantiles"].values()):
        console.print(_quantile_table(summary["quantiles"]))
        console.print(_fraction_table(summary["fractions"]))
    if (attacked := summary["attacked"]) is not None:
        console.print(
            f"attacked {attacked['items']}: {attacked['violated']} violated, median gap {attacked['median_gap']:.3f}",
            style="bold red" if attacked["violated"] else None,
            highlight=False,
        )
    for one in summary["errors"]:
        console.print(f"item {one['item']} failed: {one['message']}", highlight=False, markup=False, soft_wrap=True)


def _quantile_table(quantiles: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table(title="Largest certified epsilon: quantiles over inputs")
    table.add_column("cosine", justify="right")
    for quantile in next(iter(quantiles.values())):
        table.add_column(f"{float(quantile):.0%}", justify="right")
    for cosine, row in quantiles.items():
        table.add_row(cosine, *(round_down(value, 3) for value in row.values()))
    return table


def _fraction_table(fractions: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table(title="Share of inputs certified at cosine (row) and epsilon (column)")
    table.add_column("", justify="right")
    for epsilon in next(iter(fractions.values())):
        table.add_column(epsilon, justify="right")
    for cosine, row in fractions.items():
        table.add_row(cosine, *(f"{value:.1%}" for value in row.values()))
    return table


def show_demo(certificates: Mapping[str, Sequence[Certificate]], summary: dict[str, Any]) -> None:
    """The demo's table, by noise law, and where its files are."""
    console = Console()
    console.print(_demo_table(certificates))
    for run in summary["runs"]:
        console.print(
            f"{run['noise']}: sigma {run['sigma']:g} per pixel (radius {run['radius']:.4g}); {run['model']}: "
            f"accuracy {run['accuracy']:.1%}, noisy {run['accuracy_noisy']:.1%}",
            highlight=False,
        )
    first = summary["runs"][0]
    console.print(
        "\nRead: no change of the image of l2 size up to the proved epsilon, whatever it is, can turn the smoothed "
        "saliency map by more than 37 degrees (cosine 0.8). "
        f"Each line holds with probability {1 - first['alpha']:.1%}; {first['samples']:,} samples per image. "
        "The paper's numbers come from its published formula, which is NOT "
        "valid: they are shown for comparison.\n",
        highlight=False,
    )
    for row in summary["attacks"]:
        verdict = "VIOLATED" if row["violated"] else "holds"
        console.print(
            f"Attacked image {row['item']} at epsilon {round_down(row['epsilon'], 3)}: cosine certified "
            f"{round_down(row['certified'], 3)}, worst found {row['worst']:.3f}: {verdict}",
            highlight=False,
        )
    console.print(f"\nCertificates: {summary['out']}/*/*.json   (check one: attribound verify FILE)", highlight=False)
    console.print(f"Pictures:     {summary['out']}/uniform.png, {summary['out']}/gaussian.png", highlight=False)
    console.print(f"Report:       {summary['reports']['gaussian']}   (open it in a browser)", highlight=False)
    console.print(f"Took {summary['seconds']:.0f} s.", highlight=False)


def _demo_table(certificates: Mapping[str, Sequence[Certificate]]) -> Table:
    table = Table(title="Largest change (epsilon) that provably keeps the explanation's cosine at 0.8")
    table.add_column("image", justify="right")
    table.add_column("class", justify="right")
    for kind in certificates:
        table.add_column(f"{kind}:\nproved", justify="right", style="bold")
        table.add_column("paper says\n(invalid)", justify="right", style="dim")
    for row in zip(*certificates.values(), strict=True):
        table.add_row(str(row[0].item), str(row[0].target), *(cell for one in row for cell in _demo_cells(one)))
    table.add_section()
    medians = [median(one.max_epsilon(0.8) for one in column) for column in certificates.values()]
    table.add_row("median", "", *(cell for value in medians for cell in (round_down(value, 3), "")))
    return table


def _demo_cells(certificate: Certificate) -> tuple[str, str]:
    return (
        round_down(certificate.max_epsilon(0.8), 3),
        f"{certificate.max_epsilon_paper(0.8):.3f}",
    )


def show_findings(rows: Sequence[Mapping[str, Any]], out: str) -> None:
    """The audit's table: proved beside broken."""
    table = Table(title="What was certified, and the worst that attackers found")
    for name in ("image", "epsilon", "certified", "worst found", "by", "gap", "tightness"):
        table.add_column(name, justify="left" if name == "by" else "right")
    for row in rows:
        tightness = "-" if row["tightness"] is None else f"{row['tightness']:.2f}"
        mark = "[bold red]VIOLATED[/]" if row["violated"] else f"{row['gap']:.3f}"
        table.add_row(
            str(row["item"]),
            round_down(row["epsilon"], 3),
            round_down(row["certified"], 3),
            f"{row['worst']:.3f}",
            row["method"],
            mark,
            tightness,
        )
    console = Console()
    console.print(table)
    broken = sum(row["violated"] for row in rows)
    console.print(f"{len(rows)} certificates attacked, {broken} violated. Findings are in {out}", highlight=False)


def replay_line(outcome: Mapping[str, Any]) -> str:
    """One line about a case that was scored again."""
    verdict = "VIOLATED" if outcome["violated"] else "not violated"
    return (
        f"{verdict}: certified cosine {round_down(outcome['certified'])}, found {outcome['cosine']:.4f} "
        f"(exact value at most {outcome['cosine_most']:.4f})"
    )


def show_scan(scan: Mapping[str, Any]) -> None:
    """The table of `tune` and its advice."""
    wanted = scan["epsilon"] is not None
    table = Table(title=f"Noise levels for {scan['model']} (accuracy without noise {scan['accuracy']:.1%})")
    for name in ("noise", "sigma", "accuracy", f"epsilon at cosine {scan['cosine']:g}"):
        table.add_column(name, justify="right")
    if wanted:
        table.add_column(f"certified at {scan['epsilon']:g}", justify="right")
    for level in scan["levels"]:
        last = [f"{level['certified']:.0%}"] if wanted else []
        mark = "bold" if level["noise"] == scan["recommended"] else None
        cells = (level["noise"], f"{level['sigma']:g}", f"{level['accuracy_noisy']:.1%}")
        table.add_row(*cells, round_down(level["median_max_epsilon"], 3), *last, style=mark)
    console = Console()
    console.print(table)
    console.print(f"Recommended: {scan['recommended'] or 'none'}: {scan['advice']}.", highlight=False)


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> None:
    """Any table of text with remarks."""
    table = Table(title=title, box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console()
    if not console.is_terminal:
        wide = console.options.update(max_width=_WIDEST)
        console.width = max(console.width, console.measure(table, options=wide).maximum)
    console.print(table, markup=False)
    for note in notes:
        console.print(f"- {note}", highlight=False, markup=False)
