"""Changes of one's own that are not what they say: refused, put right, or said as they are."""

import pytest
import torch

import attribound as ab
from attribound.changes import Together
from attribound.changes.base import adds_up
from attribound.errors import ArgumentError
from attribound.hashes import input_hash
from tests.changes.test_changes import picture
from tests.tolerances.known import Add, Mirrored, Turning

X = torch.zeros(3, dtype=torch.float64)
ASKED = {"samples": 300, "alpha": 0.1, "seed": 0}


class Writing(Add):
    """Writes to the input itself."""

    name = "writing"

    def apply(self, x, t):
        x[1:] += 1
        return super().apply(x, t)


def test_a_change_that_writes_to_its_input_has_one_of_its_own():
    given = X.clone()
    known = ab.tolerance(ab.Unit(Turning()), given, Writing(30), **ASKED)["writing"]
    assert torch.equal(given, X)
    assert known.record.input_sha256 == input_hash(X)
    two = Together([Writing(2), Add(2)])
    made = two.apply(X.clone(), torch.zeros(3, 2, dtype=torch.float64))
    assert torch.equal(made[0], made[2])


class Stretching(Add):
    """Makes maps longer where it brings them back, and does not say that it does."""

    name = "stretching"

    def back(self, maps, t, shape):
        return maps * torch.where(t.abs() > 29, 3.0, 1.0)[:, None]


def test_maps_are_brought_back_only_by_changes_that_say_so():
    """A limit that is proved for the map is none for the map brought back; `moves` is how this is known."""
    field = ab.Proved(Turning(), 1.0, reason="a cosine and a sine")
    with pytest.raises(ArgumentError, match="expected `moves = True` of stretching"):
        ab.tolerance(field, X, Stretching(30), **ASKED)


class Boasting(Add):
    """Says that it adds up."""

    adds_up = True

    def apply(self, x, t):
        return super().apply(x, 5 * t.abs().sqrt() * t.sign())


class Honest(Add):
    adds_up = True


class Mirrors(Mirrored):
    adds_up = True


@pytest.mark.parametrize(("change", "said"), [(Boasting(30), False), (Honest(30), True), (Mirrors(30), False)])
def test_that_changes_add_up_is_tried(change, said):
    known = ab.tolerance(ab.Unit(Turning()), X, change, **ASKED)[change.name]
    assert known.record.change.adds_up == said
    assert ("given the changed input" in known.words()) == said


def test_what_ships_adds_up_as_it_says():
    assert adds_up(ab.Gamma(4), picture(), 0.2)
    assert not adds_up(ab.Contrast(2), picture(), 0.1)


@pytest.mark.parametrize(("low", "high"), [(5.0, 30.0), (-30.0, -5.0), (0.0, 0.0), (float("nan"), 3.0)])
def test_a_range_has_no_change_in_it(low, high):
    with pytest.raises(ArgumentError, match="expected a range about 0 of add"):
        ab.tolerance(ab.Unit(Turning()), X, Add(high, low), **ASKED)
