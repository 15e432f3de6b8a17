"""What people see in the terminal: progress and tables."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from attribound.certificates.finding import Finding
from attribound.certificates.subject import called
from attribound.progress import Stages
from attribound.rounding import exact_text, percent, round_down
from attribound.runs import remarks
from attribound.runs.columns_summary import ColumnsSummary
from attribound.runs.compare import Comparison
from attribound.runs.compared import ComparedRuns
from attribound.runs.summary import Summary
from attribound.runs.tolerance_summary import ToleranceSummary
from attribound.sanitise import counted, printable, visible
from attribound.tolerances.finding import ToleranceFinding
from attribound.tolerances.words import interval_text

if TYPE_CHECKING:
    from attribound.paper import Table as PaperTable


_WIDEST = 200
"""Columns that a table may take in a file or pipe."""


@contextlib.contextmanager
def progress(*, quiet: bool = False) -> Iterator[Stages]:
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


def say(*, quiet: bool = False) -> Callable[[str], None]:
    """A callable that prints a line about what is being done, if there is one, on the error stream."""
    return lambda line: None if quiet or not line else print(printable(line), file=sys.stderr, flush=True)


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
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"), TimeElapsedColumn())
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
    parts = [f"{state.rate:.2f}/s"] if state.rate > 0 else []
    if state.draw_rate > 0:
        parts.append(f"{state.draw_rate:,.0f} draws/s")
    if state.rate > 0 and state.done < state.total:
        parts.append(f"{(state.total - state.done) / state.rate:.0f} s left")
    if state.median is not None:
        parts.append(f"median epsilon {round_down(state.median, 3)} at cosine {exact_text(cosine)}")
    if state.errors:
        parts.append(f"{state.errors} failed")
    return ", ".join(parts)


def show_summary(summary: Summary | ToleranceSummary | ColumnsSummary, name: str) -> None:
    """A run in tables or lines, whatever its records are."""
    if isinstance(summary, Summary):
        _show_certificates(summary, name)
    else:
        print(*map(visible, summary.lines(name)), sep="\n")


def _show_certificates(summary: Summary, name: str) -> None:
    """A run in three tables, with everything a reader must know to judge them."""
    console, config = Console(), summary.config
    noise = config.varied[1] if config.units is None else f"{config.noise} in units per feature"
    counts = ", ".join(f"{count} {status}" for status, count in sorted(summary.counts.items())) or "no records yet"
    word = "assumed" if summary.assumed else "certified"
    lines = [
        f"{name}: {counted(summary.total, 'input')}: {counts}"
        + ("" if summary.correct is None else f"; {word} and classified as labelled: {summary.correct}"),
        f"{config.network} on {config.data}; {config.method}, {config.bound}; "
        f"noise {noise}; {config.samples:,} samples, alpha {exact_text(config.alpha)}, seed {config.seed}",
        *([] if summary.assumed else [remarks.what_alpha_means(config.alpha, summary.total, config.simultaneous).text]),
        remarks.what_epsilon_counts(config.size).text,
    ]
    if summary.accuracy is not None and summary.accuracy_noisy is not None:
        lines.append(f"accuracy {percent(summary.accuracy)}, {percent(summary.accuracy_noisy)} under the noise")
    for line in lines:
        console.print(printable(line), highlight=False, markup=False, soft_wrap=True)
    if summary.assumed:
        console.print(remarks.ASSUMED.text, style="bold red")
    for claim in summary.claims:
        console.print(f"{claim}.", style="bold", highlight=False, markup=False, soft_wrap=True)
    if any(summary.quantiles.values()):
        console.print(_quantile_table(summary))
        console.print(_fraction_table(summary))
    for remark in _warnings(summary):
        console.print(printable(remark.text), style="bold red", highlight=False, markup=False, soft_wrap=True)
    for line in _notes(summary):
        console.print(printable(line), highlight=False, markup=False, soft_wrap=True)


def _warnings(summary: Summary) -> list[remarks.Remark]:
    broken = summary.attacked["violated"] if summary.attacked else 0
    return [
        *remarks.doubtful(summary.doubtful, summary.total),
        *remarks.violated(broken),
        *remarks.cautions_about(summary.config.cosines, summary.chance, summary.fidelity),
    ]


def _notes(summary: Summary) -> list[str]:
    note = "ASSUMED: " if summary.assumed else ""
    found = []
    if summary.example:
        item, *facts = summary.example.items()
        said = "; ".join(f"{about}: {note}{text}" for about, text in facts)
        found.append(f"for example, {' '.join(item)}: {said}")
    found += [] if summary.orders is None else [_reasons_line(summary.orders, assumed=summary.assumed)]
    if summary.fidelity is not None:
        chance = "unknown" if summary.chance is None else f"{summary.chance:.2f}"
        found.append(
            f"fidelity (smoothed and plain map) {summary.fidelity:.2f}; chance (maps of different inputs) {chance}"
        )
    if (attacked := summary.attacked) is not None:
        found.append(
            f"attacked {attacked['items']}: {attacked['violated']} violated, median gap {attacked['median_gap']:.3f}"
        )
    found += [f"{called(one['item'], one['input'])} is uncertified: {one['message']}" for one in summary.reasons]
    return found + [f"{called(one['item'], one['input'])} failed: {one['message']}" for one in summary.errors]


def _reasons_line(orders: Mapping[str, Any], *, assumed: bool) -> str:
    """How far reasons stay, the median over inputs."""
    stay = "would stay under the ASSUMED limit" if assumed else "provably stay"
    parts = [f"{count} of them up to {round_down(reach, 3)}" for count, reach in orders["stay"].items()]
    return (
        f"the top {orders['reasons']} reasons {stay}, median epsilon over inputs: {', '.join(parts)}; all of them in "
        f"order up to {round_down(orders['in_order'], 3)}"
    )


def _quantile_table(summary: Summary) -> Table:
    what = "epsilon under the ASSUMED limit" if summary.assumed else "certified epsilon"
    failed = summary.counts.get("error", 0)
    table = Table(title=f"Largest {what}: quantiles over inputs{' that did not fail' if failed else ''}")
    table.add_column("cosine", justify="right")
    for quantile in next(iter(summary.quantiles.values())):
        table.add_column(f"{float(quantile):.0%}", justify="right")
    table.add_column("50%, maps as sampled", justify="right")
    for cosine, row in summary.quantiles.items():
        table.add_row(cosine, *(round_down(value, 3) for value in row.values()), round_down(summary.visible[cosine], 3))
    return table


def _fraction_table(summary: Summary) -> Table:
    what = "that keep, under the ASSUMED limit," if summary.assumed else "certified at"
    table = Table(title=f"Share of inputs {what} cosine (row) and epsilon (column)")
    table.add_column("", justify="right")
    for epsilon in next(iter(summary.fractions.values())):
        table.add_column(epsilon, justify="right")
    for cosine, row in summary.fractions.items():
        table.add_row(cosine, *(percent(value) for value in row.values()))
    return table


def show_findings(findings: Sequence[Finding], out: str) -> None:
    """The audit's table: proved beside broken."""
    assumed = any(one.assumed for one in findings)
    word = "follows from the ASSUMED limit" if assumed else "certified"
    table = Table(title=f"What was {'claimed' if assumed else 'certified'}, and the worst that attackers found")
    for name in ("input", "epsilon", word, "worst found", "by", "gap", "tightness"):
        table.add_column(name, justify="left" if name == "by" else "right")
    for one in findings:
        table.add_row(
            str(one.item),
            round_down(one.epsilon, 3),
            round_down(one.certified, 3),
            f"{one.worst:.3f}",
            printable(one.method),
            "[bold red]VIOLATED[/]" if one.violated else f"{one.gap:.3f}",
            "-" if one.tightness is None else f"{one.tightness:.2f}",
        )
    console = Console()
    console.print(table)
    broken = sum(one.violated for one in findings)
    noun = f"{counted(len(findings), 'claim' if assumed else 'certificate')} attacked"
    about = " (under an assumed limit: not certificates)" if assumed else ""
    console.print(f"{noun}{about}, {broken} violated. Findings are in {out}", highlight=False)


def show_tolerance_findings(findings: Sequence[ToleranceFinding], out: str) -> None:
    """What is proved about changes, and the worst that was found inside each reach."""
    table = Table(title="What was proved about changes, and the worst found inside")
    for name in ("input", "change", "proved reach", "claimed", "worst found", "where", ""):
        table.add_column(name)
    for one in findings:
        guess = "ASSUMED: " if one.proof == "assumed" else ""
        claimed = f"{guess}{'share of the class' if one.about == 'class' else 'cosine'} {exact_text(one.claimed)}"
        reach = f"{interval_text(one.reach)} {one.unit}"
        worst = "nothing to try" if one.worst is None else f"{one.worst:.3f}"
        found = [claimed, worst, one.words, "VIOLATED" if one.violated else "not violated"]
        table.add_row(*map(printable, (str(one.item), one.change, reach, *found)))
    console = Console()
    print_wide(console, table, markup=False)
    broken = sum(one.violated for one in findings)
    about = f"{counted(len(findings), 'claim')} attacked, {broken} violated. Findings are in {out}"
    console.print(about, highlight=False, markup=False)


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
    table = Table(title=f"Noise levels for {scan['model']} (accuracy without noise {percent(scan['accuracy'])})")
    tried = scan["denoiser"] is not None
    table.add_column("noise", no_wrap=True)
    if tried:
        table.add_column("denoised")
    for name in ("accuracy", "fidelity", f"epsilon at cosine {scan['cosine']:g}", "class kept up to"):
        table.add_column(name, justify="right")
    if wanted:
        table.add_column(f"reach {exact_text(scan['epsilon'])}", justify="right")
    for level in scan["levels"]:
        last = [percent(level["certified"], 0)] if wanted else []
        name = f"{level['noise']} with the denoiser" if level["denoised"] else level["noise"]
        denoised = ["yes" if level["denoised"] else "no"] if tried else []
        cells = (level["noise"], *denoised, percent(level["accuracy_noisy"]), f"{level['fidelity']:.2f}")
        proved = (round_down(level["median_max_epsilon"], 3), round_down(level["median_prediction_radius"], 3))
        table.add_row(*cells, *proved, *last, style="bold" if name == scan["recommended"] else None)
    console = Console()
    console.print(table)
    if scan["assumed"]:
        console.print(remarks.ASSUMED.text, style="bold red")
    console.print(f"Recommended: {scan['recommended'] or 'none'}: {scan['advice']}.", highlight=False, markup=False)
    console.print("These numbers were looked at in order to choose: for certificates, certify draws afresh.")


def print_wide(console: Console, table: Table, *, markup: bool = True) -> None:
    """A table that is as wide as it needs to be in a file or pipe, where nobody's window is too narrow."""
    if not console.is_terminal:
        wide = console.options.update(max_width=_WIDEST)
        console.width = max(console.width, console.measure(table, options=wide).maximum)
    console.print(table, markup=markup)


def show_table(shown: "PaperTable", written: Path) -> None:
    """A table of text with its remarks, and where it was written."""
    table = Table(title=shown.title, box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for name in shown.columns:
        table.add_column(name, overflow="fold")
    for row in shown.rows:
        table.add_row(*row)
    console = Console()
    print_wide(console, table, markup=False)
    for note in shown.notes:
        console.print(f"- {note}", highlight=False, markup=False)
    print(f"written: {written}")


def show_comparison(found: ComparedRuns[Any], out: Path | None) -> None:
    """Two runs in a few sentences, and what moved most."""
    print(*map(printable, found.sentences), sep="\n")
    if isinstance(found, Comparison):
        _show_pairs(found)
    else:
        print(*map(printable, found.lines[:20]), sep="\n")
    if out is not None:
        print(f"wrote {out}: open it in a browser")


def _show_pairs(found: Comparison) -> None:
    console = Console()
    table = Table(box=SIMPLE_HEAD)
    epsilons = [f"epsilon at {key}" for key in found.medians]
    for head in ("input", "class", "cosine between", "verdict", *epsilons, "note"):
        table.add_column(head)
    for pair in found.ordered[:20]:
        label = "" if pair.label is None else str(pair.label)
        epsilons = [f"{round_down(before, 3)} -> {round_down(after, 3)}" for before, after in pair.epsilons.values()]
        table.add_row(pair.number, label, pair.shown, pair.verdict, *epsilons, printable(pair.reason))
    console.print(table, markup=False)
    if len(found.pairs) > 20:
        print(f"... and {len(found.pairs) - 20} more: --format json lists all")
