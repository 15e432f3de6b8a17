"""A reader of UBJSON, the binary JSON of XGBoost's `.ubj` files: counts are checked before memory is taken."""

import struct
from typing import Any

import numpy as np

from attribound.errors import StoredDataError

_NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_CONSTANTS = {"Z": None, "T": True, "F": False}
_DEEPEST = 64


def decode(content: bytes) -> Any:
    """The document: dictionaries, lists, numpy arrays (of typed arrays), numbers, texts."""
    try:
        return _Reader(content).value(0)
    except (struct.error, IndexError, UnicodeDecodeError):
        raise StoredDataError("the file ends too early or is not UBJSON") from None


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def value(self, depth: int, kind: str | None = None) -> Any:
        """The value at the cursor, of a type already read or about to be."""
        kind = kind or self._letter()
        if depth > _DEEPEST:
            raise StoredDataError(f"the file nests more than {_DEEPEST} levels")
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind in _NUMBERS:
            return self._numbers(kind, 1)[0].item()
        if kind in ("S", "H"):
            return self._text()
        if kind == "C":
            return self._letter()
        if kind == "[":
            return self._array(depth)
        if kind == "{":
            return self._object(depth)
        raise StoredDataError(f"the file is not UBJSON: unknown type {kind!r}")

    def _array(self, depth: int) -> Any:
        kind, count = self._header()
        if kind in _NUMBERS and count is not None:
            return self._numbers(kind, count)
        values: list[Any] = []
        while self._more(count, len(values), "]"):
            values.append(self.value(depth + 1, kind))
        return values

    def _object(self, depth: int) -> dict[str, Any]:
        kind, count = self._header()
        values: dict[str, Any] = {}
        read = 0
        while self._more(count, read, "}"):
            if (key := self._text()) in values:
                raise StoredDataError("the file states a key twice")
            values[key] = self.value(depth + 1, kind)
            read += 1
        return values

    def _header(self) -> tuple[str | None, int | None]:
        """Type and number of what a container holds, where it says so."""
        kind = count = None
        if self._peek() == "$":
            self._letter()
            kind = self._letter()
        if self._peek() == "#":
            self._letter()
            count = self._count()
        return kind, count

    def _more(self, count: int | None, read: int, end: str) -> bool:
        if count is not None:
            return read < count
        if self._peek() == end:
            self._letter()
            return False
        return True

    def _count(self) -> int:
        kind = self._letter()
        if kind not in "iUIlL":
            raise StoredDataError(f"the file is not UBJSON: a count of type {kind!r}")
        number = int(self.value(0, kind))
        left = len(self._content) - self._at
        # Every value takes a byte, unless it is a constant of a typed array, which nobody writes.
        if not 0 <= number <= left:
            raise StoredDataError(f"the file promises {number} values and has {left} bytes left")
        return number

    def _numbers(self, kind: str, count: int) -> np.ndarray:
        dtype = np.dtype(_NUMBERS[kind])
        if count * dtype.itemsize > len(self._content) - self._at:
            raise StoredDataError(f"the file promises {count} numbers and ends before")
        values = np.frombuffer(self._content, dtype, count, self._at)
        self._at += count * dtype.itemsize
        return values

    def _text(self) -> str:
        count = self._count()
        self._at += count
        return self._content[self._at - count : self._at].decode()

    def _letter(self) -> str:
        self._at += 1
        return chr(self._content[self._at - 1])

    def _peek(self) -> str:
        return chr(self._content[self._at])
