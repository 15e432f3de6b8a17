"""Recompressed as JPEG."""

import io
from typing import Self, final

import numpy as np
import torch
from PIL import Image, features
from PIL import __version__ as pillow
from torch import Tensor

from attribound.changes.base import Finite, number, whole
from attribound.changes.pictures import check_levels, from_levels, levels_of
from attribound.errors import ArgumentError

_BEST = 100


@final
class Jpeg(Finite):
    """Stored as JPEG at every quality from 100 down to a lowest one, and read again."""

    name = "jpeg"
    title = "Stored as JPEG"
    unit = "quality"
    example = "jpeg:10"

    def __init__(self, lowest: int = 5) -> None:
        """Allow every whole quality from `lowest` to 100."""
        self.lowest = whole(type(self), lowest)
        if self.lowest > _BEST:
            raise ArgumentError(f"expected a JPEG quality in 1..100, got {self.lowest}")

    @classmethod
    def parse(cls, amount: str) -> Self:
        """Jpeg, or jpeg:10 with the lowest quality."""
        return cls(whole(cls, number(cls, amount, ("",)))) if amount else cls()

    @property
    def made(self) -> str:  # type: ignore[override]
        """With the version of the library, for another one may compute other pixels."""
        (library, number), (_, around) = self.versions.items()
        return f"stored as JPEG and read again, as computed by {library} {number} in Pillow {around}"

    @property
    def versions(self) -> dict[str, str]:
        """The JPEG library and Pillow."""
        turbo = features.version_feature("libjpeg_turbo")
        library = {"libjpeg-turbo": turbo} if turbo else {"libjpeg": str(features.version("jpg"))}
        return {**library, "pillow": pillow}

    @property
    def spec(self) -> str:
        """As people type it."""
        return f"{self.name}:{self.lowest}"

    def check(self, x: Tensor) -> None:
        """Pictures of 8 bits only."""
        check_levels(x, self.name)

    def alternatives(self, x: Tensor) -> Tensor:
        """Every quality."""
        return torch.arange(self.lowest, _BEST + 1).double()

    def places(self, t: Tensor) -> Tensor:
        """The best quality is nearest to no compression, all lie to the left of it."""
        return t - _BEST - 1

    def shown(self, place: float) -> float:
        """Quality again."""
        return min(place + _BEST + 1, _BEST)

    def label(self, t: Tensor) -> str:
        """As people say it: quality 40."""
        return f"{self.unit} {float(t):g}"

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Store and read on the processor."""
        pixels = levels_of(x).to("cpu", torch.uint8).permute(1, 2, 0).numpy()
        picture = Image.fromarray(pixels[:, :, 0] if len(x) == 1 else pixels)
        stored = [_stored(picture, round(quality)) for quality in t.tolist()]
        levels = torch.from_numpy(np.stack(stored)).view(len(t), *x.shape[1:], len(x)).permute(0, 3, 1, 2)
        return from_levels(levels.to(x.device, torch.float64), x).contiguous()


def _stored(picture: Image.Image, quality: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    memory = io.BytesIO()
    picture.save(memory, format="JPEG", quality=quality)
    memory.seek(0)
    with Image.open(memory, formats=["JPEG"]) as read:
        return np.asarray(read).copy()
