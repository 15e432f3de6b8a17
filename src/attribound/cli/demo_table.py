"""What the demo prints: one table for all runs, and how to read it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from attribound.certificates.certificate import Certificate
from attribound.cli.console import print_wide
from attribound.rounding import lower_quantile, percent, round_down
from attribound.runs.remarks import what_alpha_means

Runs = Mapping[str, Sequence[Certificate]]

_FRACTION = 0.5
_READ = (
    "Read: no change of the image of l2 size up to the proved epsilon, whatever it is, can turn the exact smoothed map "
    "by more than 37 degrees (cosine 0.8); for the maps as sampled here and at the changed image, the epsilon is the "
    "one in brackets. Fidelity is the cosine of smoothed and plain maps, chance that of maps of different images: a "
    "certified cosine should be above chance."
)
_SHEET = (
    "Read: for every change in the interval the explanation keeps cosine 0.8 with that of the unchanged image. Exact: "
    "every alternative was tried; alpha: false with that probability at most. Nothing is said about other changes."
)
_CELLS = (
    "Cells: how many provably stay in the hottest half of the map under every change of the size given, and how many "
    "outside it; the open ones are not decided. Class and map together: no change up to this epsilon alters the "
    "smoothed class or turns the map further."
)
_PAPER = (
    "The paper's numbers come from its published formula, which is NOT valid; where they are smaller than ours "
    "(Gaussian noise), it is because its formula does not know how little the map varies."
)


def show_demo(certificates: Runs, summary: dict[str, Any]) -> None:
    """The demo's table, run by run, and where its files are."""
    console = Console(highlight=False)
    if "sheet" in summary:
        _show_sheet(console, summary["sheet"])
    print_wide(console, _table(certificates, summary["runs"][0]["explained"]))
    for run in summary["runs"]:
        console.print(
            f"{run['name']}: {run['noise']} noise, sigma {run['sigma']:g} per pixel (radius {run['radius']:.4g}); "
            f"{run['model']}: accuracy on these images {_share(run['accuracy'])}, "
            f"noisy {_share(run['accuracy_noisy'])}; fidelity {_level(run['fidelity'])}, chance {_level(run['chance'])}"
        )
    first, marked = summary["runs"][0], [_marked(column) for column in certificates.values()]
    total = sum(map(len, certificates.values()))
    sure = f"{first['samples']:,} draws each. {what_alpha_means(first['alpha'], total).text}"
    console.print()
    console.print("\n".join([f"{_READ} {sure}", *[_CELLS] * any(marked), *[_PAPER] * (not all(marked)), ""]))
    for row in summary["attacks"]:
        verdict = "VIOLATED" if row["violated"] else "holds"
        console.print(
            f"Attacked image {row['item']} at epsilon {round_down(row['epsilon'], 3)}: cosine certified "
            f"{round_down(row['certified'], 3)}, worst found {row['worst']:.3f}: {verdict}"
        )
    if summary["credit"]:
        _show_credit(console, summary["credit"])
    console.print(f"\nCertificates: {summary['out']}/*/*.json   (check one: attribound verify FILE)")
    pictures = ", ".join(f"{summary['out']}/{run['name']}.png" for run in summary["runs"])
    console.print(f"Pictures:     {pictures}")
    for report in summary["reports"].values():
        console.print(f"Report:       {report}   (open it in a browser)")
    console.print(f"Took {summary['seconds']:.0f} s.")


def _show_credit(console: Console, credit: Mapping[str, Any]) -> None:
    """What was proved about the applicants, and one letter."""
    held = ", ".join(f"{count} up to {size}" for size, count in credit["held"].items())
    console.rule("A credit decision")
    console.print(
        f"{credit['items']} applicants, {credit['model']} (XGBoost, SHAP values), exact for {credit['exact']}, in "
        f"{credit['seconds']:.0f} s. How many keep their first reason under every change of the columns, by its size "
        f"in standard deviations: {held}. At least half keep it up to {round_down(credit['median_reach'], 3)}.\n"
        f"The letter of applicant {credit['item']}:\n"
    )
    console.print(credit["letter"], markup=False, soft_wrap=True)


def _show_sheet(console: Console, rows: Sequence[Sequence[str]]) -> None:
    """How far the first image may change: what people ask first."""
    head, *rest = rows
    table = Table(title="How far the first image may change before its explanation does (plain or window's mean map)")
    kept = [place for place, name in enumerate(head) if name != "inputs"]
    for place in kept:
        table.add_column(head[place], justify="left", style="bold" if head[place].startswith("cosine") else "")
    for row in rest:
        table.add_row(*(row[place] for place in kept))
    console.print(table)
    console.print(f"{_SHEET}\n")


def _share(value: float | None) -> str:
    return "unknown" if value is None else percent(value)


def _level(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _table(certificates: Runs, explained: Sequence[str]) -> Table:
    """One row per image; its class is called as in the first run."""
    table = Table(title="Largest change (epsilon) that provably keeps the explanation's cosine at 0.8")
    table.add_column("image", justify="right")
    table.add_column("class", justify="right")
    for name, column in certificates.items():
        table.add_column(f"{name}: proved\n(as sampled)", justify="right", style="bold")
        if _marked(column):
            table.add_column("class and\nmap together", justify="right")
            table.add_column(f"hot, cold, open\ncells at {_epsilon(column[0]):g}", justify="right")
        else:
            table.add_column("paper says\n(invalid)", justify="right", style="dim")
    for name, row in zip(explained, zip(*certificates.values(), strict=True), strict=True):
        table.add_row(str(row[0].item), name, *(cell for one in row for cell in _line(one)))
    table.add_section()
    table.add_row("median", "", *(cell for column in certificates.values() for cell in _middle(column)))
    return table


def _marked(certificates: Sequence[Certificate]) -> bool:
    return bool(certificates[0].record.cells)


def _epsilon(certificate: Certificate) -> float:
    return min(0.25, certificate.law.sigma)


def _line(certificate: Certificate) -> tuple[str, ...]:
    proved = _pair(certificate.max_epsilon(0.8), certificate.max_visible_epsilon(0.8))
    if not _marked([certificate]):
        return proved, f"{certificate.max_epsilon_paper(0.8):.3f}"
    marks = certificate.cells(_FRACTION, _epsilon(certificate))
    counted = ", ".join(str(int((marks == mark).sum())) for mark in (1, -1, 0))
    return proved, round_down(certificate.joint_epsilon(0.8), 3), counted


def _middle(certificates: Sequence[Certificate]) -> tuple[str, ...]:
    rows = [(one.max_epsilon(0.8), one.max_visible_epsilon(0.8), one.joint_epsilon(0.8)) for one in certificates]
    exact, visible, joint = (lower_quantile(list(column), 0.5) for column in zip(*rows, strict=True))
    return (_pair(exact, visible), round_down(joint, 3), "") if _marked(certificates) else (_pair(exact, visible), "")


def _pair(exact: float, visible: float) -> str:
    return f"{round_down(exact, 3)} ({round_down(visible, 3)})"
