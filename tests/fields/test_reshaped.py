"""Maps in other shapes: pooling, centring, tokens and groups, by hand, under every limit, and differentiated."""

import numpy as np
import pytest
import torch
from torch import Tensor

from attribound.errors import ArgumentError, FieldError
from attribound.fields import (
    Assumed,
    Centred,
    Clip,
    Explanation,
    Field,
    Grouped,
    Pooled,
    Proved,
    Saliency,
    Tokens,
    Unit,
    make_field,
)
from tests.fields.networks import Convolutions, images, seeded


class Fixed(Field):
    """A field that gives the same maps whatever it is asked."""

    name = "fixed"

    def __init__(self, maps: Tensor) -> None:
        self.maps, self.model = maps, lambda x: x

    def explain(self, inputs, target, *, generator=None, create_graph=False) -> Explanation:
        return Explanation(self.maps)


def values(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def shaped(wrap, maps: Tensor) -> Tensor:
    return wrap(Fixed(maps)).attribute(maps, 0)


# --- by hand -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["abs", "signed"])
def test_pooling_by_hand(of: str) -> None:
    maps = values(2, 3, 8, 12)
    used = maps.abs() if of == "abs" else maps
    expected = torch.zeros(2, 4, 4, dtype=torch.float64)
    for row in range(4):
        for column in range(4):
            patch = used[:, :, 2 * row : 2 * row + 2, 3 * column : 3 * column + 3]
            expected[:, row, column] = patch.sum(dim=(1, 2, 3))
    assert torch.allclose(shaped(lambda base: Pooled(base, 4, of), maps), expected, rtol=1e-14, atol=1e-14)


def naive_overlap(patch: int, pixel: int, patches: int, pixels: int) -> float:
    """The part of a pixel that lies in a patch, in exact fractions of a unit of 1 / patches."""
    start, end = max(patch * pixels, pixel * patches), min((patch + 1) * pixels, (pixel + 1) * patches)
    return max(end - start, 0) / patches


@pytest.mark.parametrize(("size", "height", "width"), [(3, 7, 8), (7, 9, 15), (5, 5, 6), (1, 4, 4)])
def test_sizes_that_do_not_divide(size: int, height: int, width: int) -> None:
    maps = values(2, height, width)
    expected = torch.zeros(2, size, size, dtype=torch.float64)
    for i, j, y, x in np.ndindex(size, size, height, width):
        weight = naive_overlap(i, y, size, height) * naive_overlap(j, x, size, width)
        expected[:, i, j] += weight * maps[:, y, x]
    pooled = shaped(lambda base: Pooled(base, size, "signed"), maps)
    assert torch.allclose(pooled, expected, atol=1e-13)
    assert torch.allclose(pooled.sum(dim=(1, 2)), maps.sum(dim=(1, 2)), atol=1e-12)


def test_a_constant_map_pools_to_a_constant() -> None:
    pooled = shaped(lambda base: Pooled(base, 7), torch.ones(1, 1, 100, 60))
    assert torch.allclose(pooled, torch.full_like(pooled, 6000 / 49))


def test_centred_by_hand() -> None:
    maps = values(3, 2, 5)
    assert torch.allclose(shaped(Centred, maps), maps - maps.mean(dim=(1, 2), keepdim=True), atol=1e-15)


def test_constant_maps_centre_to_exactly_zero() -> None:
    """Rounding errors would be stretched to length 1 by `Unit` and look like a map."""
    maps = values(100, 1, 1).expand(100, 7, 7).contiguous()
    assert (shaped(Centred, maps) == 0).all()
    assert (Unit(Centred(Fixed(maps))).attribute(maps, 0) == 0).all()


def test_correlation_is_the_cosine_of_centred_maps() -> None:
    first, second = values(1, 49), values(1, 49, seed=1) + 0.5 * values(1, 49)
    centred = [shaped(Centred, maps)[0] for maps in (first + 3, second + 8)]
    cosine = centred[0] @ centred[1] / (centred[0].norm() * centred[1].norm())
    assert float(cosine) == pytest.approx(np.corrcoef(first[0], second[0])[0, 1], rel=1e-12)


@pytest.mark.parametrize("of", ["abs", "signed"])
def test_tokens_by_hand(of: str) -> None:
    maps = values(2, 5, 16)
    used = maps.abs() if of == "abs" else maps
    assert torch.allclose(shaped(lambda base: Tokens(base, of), maps), used.sum(dim=2), atol=1e-14)


@pytest.mark.parametrize("of", ["abs", "signed"])
def test_groups_by_hand(of: str) -> None:
    maps, groups = values(3, 2, 3), [0, 2, 2, 1, 0, 2]
    used = (maps.abs() if of == "abs" else maps).flatten(1)
    expected = torch.stack([used[:, [0, 4]].sum(1), used[:, 3], used[:, [1, 2, 5]].sum(1)], dim=1)
    field = Grouped(Fixed(maps), torch.tensor(groups).view(2, 3), of)
    assert torch.allclose(field.attribute(maps, 0), expected, atol=1e-15)


def test_groupings_are_told_apart() -> None:
    base = Fixed(values(1, 4))
    specs = {
        Grouped(base, groups, of).reshaped[0] for groups in ([0, 0, 1, 1], [0, 1, 0, 1]) for of in ("abs", "signed")
    }
    assert len(specs) == 4
    assert all(spec.startswith(("grouped:2@", "grouped-abs:2@")) for spec in specs)


# --- composed ----------------------------------------------------------------------------------------------

WRAPPED = {
    "centred": Centred,
    "pooled": lambda field: Pooled(field, 3),
    "pooled-signed": lambda field: Pooled(field, 2, "signed"),
    "centred pooled": lambda field: Centred(Pooled(field, 4)),
    "grouped": lambda field: Grouped(field, torch.arange(128) % 5),
    "tokens": lambda field: Tokens(Grouping(field)),
}


class Grouping(Field):
    """Saliency of a picture read as 8 tokens of 16 features."""

    name = "sequence"

    def __init__(self, base: Field) -> None:
        self.base, self.model = base, base.model

    def explain(self, inputs, target, *, generator=None, create_graph=False) -> Explanation:
        maps = self.base.attribute(inputs, target, create_graph=create_graph)
        return Explanation(maps.reshape(len(maps), 8, 16))


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize(
    "limit", [Unit, lambda f: Clip(f, 0.05), lambda f: Proved(f, 9.0, "small"), lambda f: Assumed(f, 9.0)]
)
def test_under_every_limit(name: str, limit) -> None:
    model, x = seeded(Convolutions), images()
    plain = WRAPPED[name](Saliency(model))
    bounded = limit(plain)
    assert bounded.reshaped == plain.reshaped
    maps, expected = bounded.attribute(x, 0).flatten(1), plain.attribute(x, 0).flatten(1)
    assert float(maps.norm(dim=1).max()) <= bounded.limit * (1 + 1e-12)
    assert torch.allclose(torch.nn.functional.cosine_similarity(maps, expected), torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize("name", WRAPPED)
def test_slopes_match_differences(name: str) -> None:
    field, x = Unit(WRAPPED[name](Saliency(seeded(Convolutions)))), images(2)
    direction = values(*x.shape, seed=4)
    point = x.clone().requires_grad_(True)
    weights = values(*field.attribute(x, 0).shape, seed=5)
    (slope,) = torch.autograd.grad((field.attribute(point, 0, create_graph=True) * weights).sum(), point)
    ends = [(field.attribute(x + step * direction, 0) * weights).sum() for step in (1e-6, -1e-6)]
    assert float((slope * direction).sum()) == pytest.approx(float(ends[0] - ends[1]) / 2e-6, rel=1e-4)


@pytest.mark.parametrize("name", WRAPPED)
def test_around_another_field_changes_nothing_else(name: str) -> None:
    model, x = seeded(Convolutions), images()
    field = WRAPPED[name](Saliency(model))
    again = field.around(field.base)
    assert again.reshaped == field.reshaped
    assert torch.equal(again.attribute(x, 0), field.attribute(x, 0))


def test_records_keep_the_order() -> None:
    field = Centred(Pooled(Saliency(seeded(Convolutions)), 4, "signed"))
    assert field.reshaped == ("pooled-signed:4", "centred")
    again = make_field(field.model, "saliency", maps=field.reshaped)
    assert torch.equal(again.attribute(images(), 0), Unit(field).attribute(images(), 0))


def test_half_precision_maps_are_summed_in_double() -> None:
    maps = torch.full((1, 1, 300, 300), 100.0, dtype=torch.float16)
    assert shaped(lambda base: Pooled(base, 1), maps).item() == 9e6
    assert shaped(lambda base: Grouped(base, torch.zeros(90000, dtype=torch.long)), maps).item() == 9e6


# --- refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda f: Pooled(f, 0), ArgumentError, "expected `size` to be a whole number >= 1, got 0"),
        (lambda f: Pooled(f, 7, "sum"), ArgumentError, "expected `of` 'abs' or 'signed', got 'sum'"),
        (lambda f: Tokens(f, "sum"), ArgumentError, "expected `of` 'abs' or 'signed', got 'sum'"),
        (lambda f: Grouped(f, []), ArgumentError, "expected `groups` to hold a group number"),
        (lambda f: Grouped(f, [0, -1]), ArgumentError, "expected `groups` to hold a group number"),
        (lambda f: Grouped(f, [0.5, 1.0]), ArgumentError, "expected `groups` to hold a group number"),
        (lambda f: Grouped(f, [0, 2, 2]), ArgumentError, "to use every number up to the largest, 1 is missing"),
        (lambda f: Centred(Unit(f)), FieldError, r"the limit outermost, e.g. Unit\(Centred"),
        (lambda f: Centred(3), FieldError, "expected a field such as Saliency"),
    ],
)
def test_bad_arguments(make, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(Fixed(values(1, 3)))


@pytest.mark.parametrize(
    ("wrap", "shape", "message"),
    [
        (lambda f: Pooled(f, 9), (1, 8, 12), r"at least 9 x 9 to pool, got \(8, 12\)"),
        (lambda f: Pooled(f, 2), (1, 8), r"at least 2 x 2 to pool, got \(8,\)"),
        (Tokens, (1, 2, 3, 4), r"maps \(tokens, features\)"),
        (lambda f: Grouped(f, [0, 1]), (1, 3), "expected 2 features as in `groups`, got 3"),
    ],
)
def test_maps_that_do_not_fit(wrap, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(FieldError, match=message):
        shaped(wrap, values(*shape))
