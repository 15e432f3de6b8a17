"""The house's own rules, counted: what no reviewer should have to look for."""

import ast
import math
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from attribound.bounds import LAWS
from attribound.bounds.shares import SHARES
from attribound.changes.registry import CHANGES
from attribound.fields import ATTRIBUTIONS
from attribound.noise import Noise
from attribound.sampling import AtPoint
from attribound.sampling.scan import Scan
from tests.sampling.running import default_statistics

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "attribound"
LONGEST_FILE, LONGEST_FUNCTION, METHODS_SCREEN = 350, 50, 120
LAWS_HOMES = ("bounds/laws/", "paper/published.py")
"""Where laws are told apart, and the paper's own numbers under the paper's own names."""
KINDS = frozenset(kind.__name__ for kind in [*LAWS.values(), *Noise.__subclasses__(), *CHANGES.values(), AtPoint, Scan])
"""Classes that nobody asks for: laws, noises that draw from them, changes, and designs."""
HOMONYMS = {
    "bounds/rules/moment.py": "the moment rule's own shift",
    "data/fetch/resnet50.py": "Keras calls a weight gamma",
}
"""Files where the name of a change means something else."""
CHANGES_HOMES = {
    "fields/families.py": "families know how a change is made",
    "noise.py": "`onto` gives every row of a training batch its own noise",
    "training/denoise.py": "a denoiser learns a level of its own per picture",
    "certification/again.py": "last digits are moved, which is no law's noise",
}
"""Files that may add what was drawn to an input, beside everything in changes/."""


@cache
def trees() -> list[tuple[str, ast.Module]]:
    """Every source file by its path, parsed once for all tests."""
    return [(str(path.relative_to(SOURCE)), ast.parse(path.read_text())) for path in sorted(SOURCE.rglob("*.py"))]


# --- branches on a law's name


def branches(tree: ast.AST, names: frozenset[str]) -> Iterator[int]:
    """Lines that compare with a law's name or class or look something up by it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in ("isinstance", "issubclass"):
            if any(_is_kind(inner) for argument in node.args[1:] for inner in ast.walk(argument)):
                yield node.lineno
            continue
        if isinstance(node, ast.MatchClass) and _is_kind(node.cls):
            yield node.cls.lineno
            continue
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
        if any(_is_kind(value) or _asks_kind(value) or _is_name(value, names) for value in nested):
            yield node.lineno if isinstance(node, ast.expr) else node.value.lineno


def _called(node: ast.Call) -> str:
    """The last word of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _word(value: ast.AST) -> str:
    return value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")


def _is_name(value: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(value, ast.Constant) and value.value in names


def _is_kind(value: ast.AST) -> bool:
    return isinstance(value, ast.Name | ast.Attribute) and _word(value) in KINDS


def _asks_kind(value: ast.expr) -> bool:
    """`law.kind`, `certificate.law.kind`, `record.noise.kind`, `Normal.kind`."""
    return isinstance(value, ast.Attribute) and value.attr == "kind" and _word(value.value) in {"law", "noise", *KINDS}


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
        ("law.kind == other", 1),
        ("certificate.law.kind != Normal.kind", 1),
        ("type(law) is Ball", 1),
        ("isinstance(law, Normal)", 1),
        ("isinstance(noise, (laws.Ball, Normal))", 1),
        ("isinstance(noise, noise.Gaussian | UniformBall)", 1),
        ("match law:\n  case Ball():\n    pass", 1),
        ("isinstance(change, Rotation)", 1),
        ("isinstance(design, AtPoint)", 1),
        ("isinstance(noise, Noise)", 0),
        ("bound.kind == other", 0),
        ("text = law.kind", 0),
    ],
)
def test_branches_are_seen(code: str, count: int) -> None:
    assert len(list(branches(ast.parse(code), frozenset(LAWS)))) == count


def test_no_other_file_asks_which_law_it_is() -> None:
    """A new law is one file and one line: whatever depends on the law is a question to the law."""
    names = frozenset(LAWS)
    found = [
        f"{name}:{line}" for name, tree in trees() if not name.startswith(LAWS_HOMES) for line in branches(tree, names)
    ]
    assert found == [], f"{len(found)} branches on a law's name: {', '.join(found)}"


def test_no_other_file_asks_which_change_it_is() -> None:
    """A new change is one file and one line. `everyday` is the name of a set, and belongs to the command line too."""
    names = frozenset({*CHANGES, "shift-x", "shift-y"})
    found = [
        f"{name}:{line}"
        for name, tree in trees()
        if not name.startswith("changes/") and name not in HOMONYMS
        for line in branches(tree, names)
    ]
    assert found == [], f"{len(found)} branches on a change's name: {', '.join(found)}"


# --- only a change changes an input

DRAWING = {"draw", "randn", "randn_like", "normal_"}


def additions(tree: ast.AST) -> Iterator[int]:
    """Lines that add what was drawn to something, there or by a name that was given to it before."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        drawn = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and _draws(node.value, set())
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            if any(_draws(part, drawn) for part in _summands(node)):
                yield node.lineno


def _summands(node: ast.AST) -> list[ast.expr]:
    """What is added here, if anything."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return [node.left, node.right]
    return list(node.args) if isinstance(node, ast.Call) and _called(node) in ("add", "add_", "plus") else []


def _draws(value: ast.AST, drawn: set[str]) -> bool:
    return any(
        (isinstance(node, ast.Call) and _called(node) in DRAWING) or (isinstance(node, ast.Name) and node.id in drawn)
        for node in ast.walk(value)
    )


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("return x + noise.draw(3, x, generator)", 1),
        ("return x + sigma * torch.randn(x.shape)", 1),
        ("shifts = noise.draw(3, x, generator)\n return x - shifts", 1),
        ("return plus(x, noise.draw(3, x, generator))", 1),
        ("return x.add(torch.randn_like(x))", 1),
        ("return family.inputs(noise.draw(3, x, generator))", 0),
        ("direction = torch.randn(3)\n return direction / direction.norm()", 0),
        ("return x + epsilon", 0),
    ],
)
def test_additions_are_seen(code: str, count: int) -> None:
    assert len(set(additions(ast.parse(f"def f():\n {code}")))) == count


def test_only_changes_add_to_an_input() -> None:
    """A new change is one file: whoever needs a changed input asks the family, and training asks the noise."""
    found = [
        f"{name}:{line}"
        for name, tree in trees()
        if name not in CHANGES_HOMES and not name.startswith("changes/")
        for line in additions(tree)
    ]
    assert found == [], f"draws are added to inputs in {', '.join(found)}"


def test_only_training_puts_noise_onto_a_batch() -> None:
    callers = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _called(node) == "onto" and not name.startswith("training/")
    }
    assert callers == set()


# --- sizes


def test_no_file_is_too_long() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_the_method_is_one_screen() -> None:
    """One file draws, collects, proves and answers, and no other file does so for certificates."""
    method = "certification/method.py"
    assert len((SOURCE / method).read_text().splitlines()) <= METHODS_SCREEN
    calls = {name: {_called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)} for name, tree in trees()}
    assert calls[method] >= {"rounds", "start", "add", "judge", "stating"}
    assert {name for name, called in calls.items() if called >= {"rounds", "start"}} == {method}
    assert "answer" in calls["certification/certifier.py"]


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
