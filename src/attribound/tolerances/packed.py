"""Arrays in JSON: bytes of equal weight side by side, deflated, in base64."""

import base64
import binascii
import math
import zlib
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Kind = Literal["f8", "f4", "u1", "u2", "u4"]
_MOST_BYTES = 2**28
"""A small file may not unpack into all memory."""


class Packed(Struct, frozen=True, forbid_unknown_fields=True):
    """An array of finite numbers.

    Attributes:
        kind: numpy's name of the little-endian type.
        shape: its shape.
        data: the numbers, byte by byte of equal weight, deflated, in base64.
    """

    kind: Kind
    shape: tuple[int, ...]
    data: str

    @classmethod
    def of(cls, values: npt.NDArray[Any], kind: Kind) -> "Packed":
        """Pack an array; it must fit the kind."""
        content = np.ascontiguousarray(values, f"<{kind}")
        weighed = content.reshape(-1).view(np.uint8).reshape(-1, content.itemsize).T
        return cls(kind, tuple(values.shape), base64.b64encode(zlib.compress(weighed.tobytes(), 9)).decode())

    def values(self) -> npt.NDArray[Any]:
        """The array; a ValueError if it is none."""
        size, count = np.dtype(f"<{self.kind}").itemsize, math.prod(self.shape)
        if min(self.shape, default=1) < 0 or size * count > _MOST_BYTES:
            raise ValueError(f"an array of shape {self.shape}")
        try:
            unpacker = zlib.decompressobj()
            content = unpacker.decompress(base64.b64decode(self.data, validate=True), size * count + 1)
        except (binascii.Error, zlib.error):
            raise ValueError("an array that cannot be unpacked") from None
        if len(content) != size * count:
            raise ValueError(f"an array whose values do not fill its shape {self.shape}")
        weighed = np.frombuffer(content, np.uint8).reshape(size, count).T
        values = np.ascontiguousarray(weighed).view(f"<{self.kind}").reshape(self.shape)
        if not np.isfinite(values).all():
            raise ValueError("an array with NaN or infinity in it")
        return values.astype(values.dtype.newbyteorder("="))
