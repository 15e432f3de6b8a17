"""The import graph: data flows one way, each foreign library has one home, and nothing heavy loads before its time."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "attribound"

ROOMS = (
    "errors",
    "checks",
    "rounding",
    "sanitise",
    "suggest",
    "plugins",
    "files",
    "frames",
    "file_quota",
    "hashes",
    "progress",
    "randomness",
    "threads",
    "memory",
    "metrics",
    "codebook",
    "bounds",
    "forests",
    "noise",
    "models",
    "data",
    "fields",
    "changes",
    "sampling",
    "certificates",
    "certification",
    "tolerances",
    "attacks",
    "search",
    "training",
    "tuning",
    "baselines",
    "runs",
    "report",
    "demo",
    "paper",
    "cli",
    "__main__",
    "pytest",
)
"""Rooms from the foundation up: a room may import itself and rooms before it."""

HOMES = {
    "captum": {"fields/captum.py"},
    "gx2": {"bounds/paper.py"},
    "jinja2": {"report/shared/templating.py"},
    "onnxruntime": {"models/onnx.py"},
    "matplotlib": {"report/figures/plots.py"},
    "pandas": {"frames.py"},
    "plotly": set(),
    "ray": {"runs/engines/ray.py"},
    "treelite": {"forests/reader.py"},
    "rich": {"cli/console.py", "cli/demo_table.py"},
}
"""Libraries that these files only may import."""

FLOORS = {
    "pytest": {"pytest"},
    "typer": {"cli"},
    "msgspec": {"certificates", "certification", "tolerances", "attacks", "runs", "report"},
    "safetensors": {"models", "training", "data"},
    "pyarrow": {"data", "runs"},
    "PIL": {"changes", "data", "report", "paper"},
}
"""Libraries that belong to some rooms only."""

WITHOUT_TORCH = ("errors", "checks", "rounding", "files", "suggest", "plugins", "bounds", "forests")


def modules() -> dict[str, Path]:
    return {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE} | {
        path.name: path for path in sorted(SOURCE.glob("*.py")) if path.name != "__init__.py"
    }


def room_of(name: str) -> str:
    return name.split("/")[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, anywhere in it, for typing too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively"
            whole = node.module == "attribound"
            yield from (f"attribound.{alias.name}" for alias in node.names) if whole else (node.module or "",)


def offenders() -> Iterator[str]:
    """Every arrow that points up, and every library outside of its home."""
    users: dict[str, set[str]] = {library: set() for library in HOMES}
    for name, path in modules().items():
        room = room_of(name)
        if room not in ROOMS:
            yield f"{name}: {room} is not in the list of rooms"
            continue
        for module in imported(path):
            library, *rest = module.split(".")
            if library == "attribound" and rest:
                if rest[0] not in ROOMS[: ROOMS.index(room) + 1]:
                    yield f"{name} reaches up to {module}"
            elif library in users:
                users[library].add(name)
            elif library in FLOORS and room not in FLOORS[library]:
                yield f"{name} imports {library}, which belongs to {', '.join(sorted(FLOORS[library]))}"
            elif library == "torch" and room in WITHOUT_TORCH:
                yield f"{name} imports torch"
    for library, names in users.items():
        if names != HOMES[library]:
            yield f"{library} is imported by {sorted(names)}, its home is {sorted(HOMES[library])}"


def test_the_import_graph() -> None:
    found = list(offenders())
    assert found == [], "\n".join(found)


HEAVY = {"torch", "captum", "ray", "matplotlib", "typer", "treelite", "scipy.stats"}
LOADED = f"import sys; {{code}}; print(sorted({{{HEAVY!r}}} & set(sys.modules)))"


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import attribound", "[]"),
        ("import attribound as ab; ab.bounds.cosine_bound(.5, 1, .1)", "[]"),
        ("import attribound.bounds as b; b.moved_fraction(0.1, sigma=1)", "[]"),
        ("import attribound as ab; ab.Forest, ab.TreeShap", "[]"),
        ("import attribound.certificates", "[]"),
        ("from attribound.certificates import decode, verify_record, Certificate", "[]"),
        ("import attribound as ab; ab.certify, ab.Unit, ab.Saliency, ab.Gaussian, ab.attack", "['torch']"),
    ],
)
def test_nothing_heavy_loads_before_its_time(code: str, loaded: str) -> None:
    command = [sys.executable, "-W", "error", "-c", LOADED.format(code=code)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, loaded), done.stderr


def test_runs_are_read_without_torch() -> None:
    """Whoever only reads results, a report or an export, does not wait for torch."""
    names = ("store", "proved", "export", "summary", "gate", "gate_files", "compare")
    code = "import " + ", ".join(f"attribound.runs.{name}" for name in names)
    done = subprocess.run([sys.executable, "-c", LOADED.format(code=code)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_load() -> None:
    import attribound

    assert [name for name in attribound.__all__ if getattr(attribound, name) is None] == []
    assert callable(attribound.certify), "the function, not a module of the same name"
    assert set(attribound.__all__) <= set(dir(attribound))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = attribound.nothing
