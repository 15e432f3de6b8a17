"""Maps in the shape that people look at: centred, pooled over patches, one number per token or group.

Each is a field like any other: the theory needs no relation between the map's shape and the input's. They go under the
limit (`Unit(Centred(Pooled(Saliency(model), size=7)))`), and attacks differentiate through them.
"""

import hashlib
from collections.abc import Sequence
from typing import Literal, final

import torch
from torch import Tensor

from attribound import checks as check
from attribound.errors import ArgumentError, FieldError
from attribound.fields.base import Field, MapWrapper, Wrapper, innermost
from attribound.fields.bounded import Bounded

Of = Literal["abs", "signed"]


class Reshaped(MapWrapper):
    """A field whose maps get another shape or level, row by row."""

    def __init__(self, base: Field, spec: str) -> None:
        super().__init__(base)
        if isinstance(base, Bounded):
            kind = type(self).__name__
            raise FieldError(f"expected the limit outermost, e.g. Unit({kind}(...)), got {kind}({type(base).__name__})")
        self.reshaped = (*base.reshaped, spec)


def centre(maps: Tensor) -> Tensor:
    """Each row less its mean, in float64."""
    rows = maps.flatten(1).double()
    # Less its first number beforehand: a constant row becomes exactly zero and not a row of rounding errors.
    shifted = rows - rows[:, :1]
    return (shifted - shifted.mean(dim=1, keepdim=True)).view(maps.shape)


@final
class Centred(Reshaped):
    """Each map less its own mean: the cosine of two such maps is Pearson's correlation.

    Maps that are non-negative or mostly constant have a high cosine with anything; centring takes that away.
    """

    def __init__(self, base: Field) -> None:
        super().__init__(base, "centred")

    def change(self, maps: Tensor) -> Tensor:
        """Subtract each row's mean."""
        return centre(maps)


@final
class Pooled(Reshaped):
    """Sums over a grid of size x size patches of an image's map, colour channels together.

    All patches are equally large: where the size does not divide the picture, a pixel on a border counts in each patch
    with the part of it that lies there. So the sum over all patches is always that over all pixels.
    """

    def __init__(self, base: Field, size: int = 7, of: Of = "abs") -> None:
        """Pool a field's maps.

        Args:
            base: a field with maps (B, C, H, W) or (B, H, W).
            size: patches along each side.
            of: "abs" pools absolute values, "signed" the values themselves.
        """
        self.size, self.of = check.whole("size", size), _check_of(of)
        check.count("size", self.size)
        super().__init__(base, f"pooled:{self.size}" if of == "abs" else f"pooled-signed:{self.size}")
        if of == "abs" and "centred" in base.reshaped:
            raise ArgumentError(
                "expected a map to pool that is not centred, because the absolute value of a cell below the mean "
                "counts as one above it: pool first and centre then (--map pooled:7 --map centred, or "
                "GradCAM(..., centred=False)), or pool the values themselves (--map pooled-signed:7, of='signed')"
            )

    def change(self, maps: Tensor) -> Tensor:
        """(B, C, H, W) or (B, H, W) to (B, size, size)."""
        if maps.ndim not in (3, 4) or min(maps.shape[-2:]) < self.size:
            raise FieldError(
                f"expected maps of at least {self.size} x {self.size} to pool, got {tuple(maps.shape[1:])}"
            )
        values = _values(maps if maps.ndim == 4 else maps[:, None], self.of).sum(dim=1, dtype=torch.float64)
        rows, columns = (_overlaps(self.size, side).to(maps.device) for side in maps.shape[-2:])
        return rows @ values @ columns.T


def _overlaps(patches: int, pixels: int) -> Tensor:
    """(patches, pixels) which part of each pixel lies in each of equally wide patches."""
    cuts = torch.arange(patches + 1, dtype=torch.float64) * pixels / patches
    starts = torch.arange(pixels, dtype=torch.float64)
    ends = torch.minimum(cuts[1:, None], starts + 1)
    return (ends - torch.maximum(cuts[:-1, None], starts)).clamp(min=0)


@final
class Tokens(Reshaped):
    """One number per token of an embedded sequence (B, tokens, features): the sum over its features.

    `of` is "abs" for the sum of absolute values, "signed" for that of the values themselves.
    """

    def __init__(self, base: Field, of: Of = "abs") -> None:
        self.of = _check_of(of)
        super().__init__(base, "tokens" if of == "abs" else "tokens-signed")
        if hasattr(innermost(base), "layer"):
            raise ArgumentError(f"expected maps of an embedded sequence, got {base.name}, whose maps are of a layer")

    def change(self, maps: Tensor) -> Tensor:
        """(B, tokens, features) to (B, tokens)."""
        if maps.ndim != 3:
            raise FieldError(f"expected maps (tokens, features) of an embedded sequence, got {tuple(maps.shape[1:])}")
        return _values(maps, self.of).sum(dim=2, dtype=torch.float64)


@final
class Grouped(Reshaped):
    """Sums over groups of features: columns of a table that belong together, superpixels of an image."""

    def __init__(self, base: Field, groups: Tensor | Sequence[int], of: Of = "signed") -> None:
        """Group a field's maps.

        Args:
            base: a field.
            groups: the group number 0, 1, ... of every feature, flat or in the map's shape.
            of: "signed" sums the values, "abs" their absolute values.
        """
        self.groups, self.of = _check_groups(groups), _check_of(of)
        self.count = int(self.groups.max()) + 1
        fingerprint = hashlib.sha256(self.groups.numpy().tobytes()).hexdigest()[:8]
        super().__init__(base, f"grouped{'-abs' if of == 'abs' else ''}:{self.count}@{fingerprint}")

    def change(self, maps: Tensor) -> Tensor:
        """(B, ...) to (B, groups)."""
        if maps[0].numel() != len(self.groups):
            raise FieldError(f"expected {len(self.groups)} features as in `groups`, got {maps[0].numel()}")
        values = _values(maps.flatten(1), self.of).double()
        sums = torch.zeros(len(maps), self.count, dtype=torch.float64, device=maps.device)
        return sums.index_add(1, self.groups.to(maps.device), values)


@final
class Absolute(Reshaped):
    """Absolute values: the largest are then the strongest, whichever way they point."""

    def __init__(self, base: Field) -> None:
        super().__init__(base, "abs")

    def change(self, maps: Tensor) -> Tensor:
        """Drop the signs."""
        return maps.abs()


@final
class Scaled(Reshaped):
    """Each number times its feature's unit: gradients per standard deviation, which features of any unit share."""

    def __init__(self, base: Field, scale: Tensor | Sequence[float]) -> None:
        """Scale a field's maps.

        Args:
            base: a field whose maps have a cell per feature.
            scale: the unit of every feature, as in `Gaussian(sigma, scale)`.
        """
        super().__init__(base, "scaled")
        self.scale = torch.tensor(check.positive("scale", scale)).flatten()

    def change(self, maps: Tensor) -> Tensor:
        """(B, ...) to the same shape, in float64."""
        if maps[0].numel() != len(self.scale):
            raise FieldError(f"expected {len(self.scale)} features as in `scale`, got {maps[0].numel()}")
        return (maps.flatten(1).double() * self.scale.to(maps.device)).view(maps.shape)


def shapes(field: Field, units: Sequence[float] | None) -> tuple[str, ...]:
    """What was done to a field's map, as records say it: "scaled" alone means the units of the noise.

    Args:
        field: the field.
        units: of the noise.
    """
    below = field.base.reshaped if isinstance(field, Wrapper) else ()
    own = field.reshaped[len(below) :]
    if isinstance(field, Scaled) and field.scale.tolist() != list(units or ()):
        own = (f"scaled@{hashlib.sha256(field.scale.numpy().tobytes()).hexdigest()[:8]}",)
    return (*shapes(field.base, units), *own) if isinstance(field, Wrapper) else own


def _values(maps: Tensor, of: Of) -> Tensor:
    return maps.abs() if of == "abs" else maps


def _check_of(of: Of) -> Of:
    if of not in ("abs", "signed"):
        raise ArgumentError(f"expected `of` 'abs' or 'signed', got {of!r}")
    return of


def _check_groups(groups: Tensor | Sequence[int]) -> Tensor:
    """Group numbers as a flat tensor: whole, from 0 on, none left out."""
    try:
        numbers = torch.as_tensor(groups).flatten().cpu().clone()  # whoever gave it may write to it
    except (TypeError, ValueError, RuntimeError):
        numbers = torch.empty(0)
    whole = numbers.long()
    if not len(whole) or not torch.equal(whole.to(numbers.dtype), numbers) or int(whole.min()) < 0:
        raise ArgumentError("expected `groups` to hold a group number 0, 1, ... for every feature")
    missing = set(range(int(whole.max()) + 1)) - set(whole.tolist())
    if missing:
        raise ArgumentError(f"expected `groups` to use every number up to the largest, {min(missing)} is missing")
    return whole
