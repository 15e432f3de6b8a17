"""The house's own rules, counted: what no reviewer should have to look for."""

import ast
import math
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from attribound.bounds import LAWS
from attribound.bounds.shares import SHARES
from attribound.fields import ATTRIBUTIONS
from tests.sampling.running import default_statistics

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "attribound"
LONGEST_FILE, LONGEST_FUNCTION = 400, 60
LAWS_HOMES = {"bounds/laws.py", "paper/published.py"}
"""Where laws are told apart, and the paper's own numbers under the paper's own names."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield str(path.relative_to(SOURCE)), ast.parse(path.read_text())


# --- branches on a law's name


def branches(tree: ast.AST, names: frozenset[str]) -> Iterator[int]:
    """Lines that compare with a law's name or look something up by it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            values = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            values = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Subscript):
            values = [node.slice]
        elif isinstance(node, ast.MatchValue):
            values = [node.value]
        else:
            continue
        nested = [inner for value in values for inner in _members(value)]
        if any(isinstance(value, ast.Constant) and value.value in names for value in nested):
            yield node.lineno if isinstance(node, ast.expr) else node.value.lineno


def _members(value: ast.expr) -> list[ast.expr]:
    """The value, or what a tuple, list or set of values holds."""
    return list(value.elts) if isinstance(value, ast.Tuple | ast.List | ast.Set) else [value]


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ('noise == "uniform"', 1),
        ('"gaussian" != kind', 1),
        ('kind in ("uniform", "gaussian")', 1),
        ('{"uniform": 1, "other": 2}', 1),
        ('table["gaussian"]', 1),
        ('match kind:\n  case "uniform":\n    pass', 1),
        ('text = "uniform in a ball"', 0),
        ('print("gaussian")', 0),
        ("kind == other", 0),
    ],
)
def test_branches_are_seen(code: str, count: int) -> None:
    assert len(list(branches(ast.parse(code), frozenset(LAWS)))) == count


def test_no_other_file_asks_which_law_it_is() -> None:
    """A new law is one file and one line: whatever depends on the law is a question to the law."""
    names = frozenset(LAWS)
    found = [f"{name}:{line}" for name, tree in trees() if name not in LAWS_HOMES for line in branches(tree, names)]
    assert found == [], f"{len(found)} branches on a law's name: {', '.join(found)}"


# --- sizes


def test_no_file_is_too_long() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_function_is_too_long() -> None:
    """The signature of a command of the command line is the list of its options: there, what follows it counts."""
    found = {
        f"{name}:{node.name}": length
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := _length(node, options=name.startswith("cli/"))) > LONGEST_FUNCTION
    }
    assert found == {}


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef, *, options: bool) -> int:
    start = node.body[0].lineno if options else node.lineno
    return (node.end_lineno or start) - start + 1


# --- alpha


def test_shares_of_alpha_are_not_more_than_all() -> None:
    assert math.fsum(SHARES.values()) <= 1
    assert all(share > 0 for share in SHARES.values())
    everything = default_statistics(cells=(0.5, 0.1), intervals=True, reasons=2)
    shares = [one.share for one in everything]
    assert all(0 < share < 1 for share in shares)
    assert math.fsum(shares) <= 1
    assert len({type(one) for one in everything}) == len(everything), "no statistic is counted twice"


def test_every_statistic_proves_a_fact_that_records_know() -> None:
    from attribound.bounds import FACTS

    for one in default_statistics(cells=(0.5,), intervals=True, reasons=2):
        assert FACTS[one.fact.name] is one.fact


# --- words


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [file for file in files if file.is_file() and file.suffix in (".py", ".md", ".toml", ".txt", ".js", ".css")]


def test_no_merge_was_left_half_done() -> None:
    marks = re.compile(r"^(<{7} |>{7} |={7}$)", re.MULTILINE)
    assert [str(file.relative_to(ROOT)) for file in tracked() if marks.search(file.read_text())] == []


def test_names_that_people_type_are_unique() -> None:
    assert len(set(ATTRIBUTIONS)) == len(ATTRIBUTIONS)
    assert all(law.kind == name for name, law in LAWS.items())
