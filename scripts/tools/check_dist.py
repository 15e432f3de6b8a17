"""Check what `python -m build` made, in a fresh environment elsewhere: `python scripts/tools/check_dist.py dist`.

The wheel is installed without its dependencies into a new environment in a temporary folder, which borrows torch and
the rest from the environment that runs this script: what is tested is our package, not the index. Then the demo runs.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable
from email.parser import Parser
from pathlib import Path

from attribound.models.shipped import weights_folder
from attribound.rounding import round_down

NEEDED = (
    "attribound/py.typed",
    "attribound/data/mnist-sample.npz",
    "attribound/data/credit/README.md",
    "attribound/data/photos/README.md",
    "attribound/report/page/templates/report.html",
    *(f"attribound/models/weights/{path.name}" for path in weights_folder().iterdir()),
)
IN_SDIST = ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py", "constraints.txt", "tests/conftest.py")
JUNK = re.compile(r"^(\.venv|\.git|\.ci|\.github|artefacts|site|dist|data)/|__pycache__/|\.(pyc|checkpoint|log)$")
LARGEST = 25_000_000
"""Bytes that a wheel or a source archive may have."""
RELATIVE = re.compile(r"\]\((?!https?://|#)[^)]+\)")
DEMO = ("demo", "--items", "2", "--samples", "512", "--json")


def main() -> None:
    """Raise SystemExit with one line at the first thing that is wrong."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    wheel, source = (_only(folder, pattern) for pattern in ("*.whl", "*.tar.gz"))
    check_wheel(wheel)
    check_source(source)
    with tempfile.TemporaryDirectory() as elsewhere:
        run_elsewhere(wheel, Path(elsewhere))
    print(f"{wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB) and {source.name} are fine")


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"error: expected one {pattern} in {folder}, got {len(found)}")
    return found[0]


def check_wheel(path: Path) -> None:
    """What people install: everything that is needed, nothing else, and a description without dead links."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        described = Parser().parsestr(wheel.read(metadata).decode())
    for name in NEEDED:
        if name not in names:
            raise SystemExit(f"error: {path.name} lacks {name}")
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        raise SystemExit(f"error: {path.name} lacks its licence")
    check_junk(path, names, [name for name in names if not name.startswith(("attribound/", "attribound-"))])
    if dead := RELATIVE.findall(str(described.get_payload())):
        raise SystemExit(f"error: the description has the relative link {dead[0]}")


def check_junk(path: Path, names: Iterable[str], strangers: Iterable[str] = ()) -> None:
    """Nothing that was left behind, and no more than people want to fetch."""
    for name in (*strangers, *filter(JUNK.search, names)):
        raise SystemExit(f"error: {path.name} holds {name}")
    if path.stat().st_size > LARGEST:
        raise SystemExit(f"error: {path.name} has {path.stat().st_size:,} bytes, expected at most {LARGEST:,}")


def check_source(path: Path) -> None:
    """What distributions build from."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in IN_SDIST:
        if name not in names:
            raise SystemExit(f"error: {path.name} lacks {name}")
    check_junk(path, names)


def run_elsewhere(wheel: Path, folder: Path) -> None:
    """Install the wheel in a new environment and run the demo far from the repository."""
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    packages = Path(_answer([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder))
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    _answer([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel.resolve()], folder)
    where = _answer([python, "-c", "import attribound; print(attribound.__file__)"], folder)
    if not Path(where).is_relative_to(packages):
        raise SystemExit(f"error: attribound came from {where}, expected the new environment")
    command = folder / "venv" / "bin" / "attribound"
    version = _answer([command, "--version"], folder)
    if version.split()[-1] not in wheel.name:
        raise SystemExit(f"error: {wheel.name} says that it is {version}")
    runs = json.loads(_answer([command, *DEMO], folder))["runs"]
    for run in runs:
        if not run["median_max_epsilon"]["0.8"] > 0:
            raise SystemExit(f"error: the demo certified nothing with {run['noise']} noise")
        shown = round_down(run["median_max_epsilon"]["0.8"])
        print(f"{version}, {run['noise']} noise: median epsilon at cosine 0.8 is {shown}")


def _answer(command: list, folder: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"error: {' '.join(map(str, command))}: {done.stderr.strip()[-500:]}")
    return done.stdout.strip()


if __name__ == "__main__":
    main()
