"""What reading does to pictures, in a line: no picture is changed without a word."""

from collections import Counter

from attribound.data.pictures import Crop, is_enlarged, is_kept, resized_sides

Sides = Counter[tuple[int, int]]
"""How many pictures have which width and height."""


def treatment(sides: Sides, size: int, crop: Crop) -> str:
    """What happens to pictures of these sizes.

    Args:
        sides: the sizes.
        size: side of the square that is wanted.
        crop: what is done to a picture of another size.
    """
    total = sides.total()
    kept = sum(count for one, count in sides.items() if is_kept(one, size, crop))
    enlarged = sum(count for one, count in sides.items() if is_enlarged(one, size, crop))
    if kept == total:
        return f"{_many(total)} of {size} x {size} pixels, taken as they are"
    words = [f"{_many(total)} of {_range(sides)} pixels", _change(sides, size, crop)]
    words += [f"{kept} of {total} have that size and are taken as they are"] if kept else []
    words += [f"{enlarged} of {total} must be enlarged, which adds no detail"] if enlarged else []
    return "; ".join(words)


def _change(sides: Sides, size: int, crop: Crop) -> str:
    if crop == "none":
        squeezed = any(width != height for width, height in sides)
        return f"resized as a whole to {size} x {size}" + (", which changes proportions" if squeezed else "")
    margin = min(resized_sides((1, 1), size, "centre"))
    return (
        f"resized to {margin} on the shorter side and cut to the centre {size} x {size} (?crop=none keeps the whole "
        f"picture, ?size=N is another size)"
    )


def _many(count: int) -> str:
    return "1 picture" if count == 1 else f"{count:,} pictures"


def _range(sides: Sides) -> str:
    smallest, largest = min(sides, key=lambda one: one[0] * one[1]), max(sides, key=lambda one: one[0] * one[1])
    low, high = (f"{width} x {height}" for width, height in (smallest, largest))
    return low if low == high else f"{low} to {high}"
