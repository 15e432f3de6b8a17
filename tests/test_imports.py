"""The import graph: data flows one way, and each foreign library has one home."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "attribound"

# Rooms from the foundation up; a room may import itself and rooms before it.
ROOMS = [
    "errors",
    "limits",
    "bounds",
    "noise",
    "fields",
    "spread",
    "estimation",
    "certificate",
    "certification",
    "search",
    "verification",
    "metrics",
    "attacks",
    "models",
    "data",
    "training",
    "tuning",
    "runs",
    "report",
    "demo",
    "auditing",
    "baselines",
    "paper",
    "cli",
]
HOMES = {
    "captum": {"fields/captum.py"},
    "matplotlib": {"report/plots.py"},
    "ray": {"runs/engines/ray.py"},
}


def modules() -> list[Path]:
    return [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module == "attribound"
                else [node.module]
            )
    return names


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_arrow_points_up(path: Path) -> None:
    here = room_of(path)
    assert here in ROOMS, f"{here} is not in the list of rooms"
    below = set(ROOMS[: ROOMS.index(here) + 1])
    for name in imported(path):
        if name.startswith("attribound."):
            assert name.split(".")[1] in below | {"bounds"}, f"{path.name} reaches up to {name}"


def test_foreign_libraries_have_one_home() -> None:
    for library, homes in HOMES.items():
        users = {
            str(path.relative_to(SOURCE))
            for path in modules()
            if any(n.split(".")[0] == library for n in imported(path))
        }
        assert users == homes


def test_bounds_need_no_torch() -> None:
    code = "import sys, attribound as ab; ab.bounds.cosine_bound(.5, 1, .1); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_public_names_load() -> None:
    import attribound

    for name in attribound.__all__:
        assert getattr(attribound, name) is not None
    assert callable(attribound.certify), "the function, not a module of the same name"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = attribound.nothing
