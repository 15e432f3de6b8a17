"""Certified reasons: what a certificate says of its largest features, stored, checked and named."""

import json

import msgspec
import numpy as np
import pytest
import torch

from attribound.bounds import Orders
from attribound.certificates import Certificate, compare, verify_record
from attribound.certification.certifier import certify, certify_again
from attribound.errors import ArgumentError, StoredDataError
from attribound.fields import Absolute, Assumed, Saliency, Scaled, Unit
from attribound.noise import Gaussian
from tests.certificates.forging import problems
from tests.problems import Linear

NAMES = ("age", "income", "debt", "tenure", "requests")
WEIGHTS = torch.tensor([0.1, 0.9, -0.6, 0.5, 0.0], dtype=torch.float64)


def noisy_model() -> torch.nn.Module:
    """A linear score with a bump, so that maps vary a little under the noise."""

    class Bump(Linear):
        def forward(self, y: torch.Tensor) -> torch.Tensor:
            return super().forward(y + 0.3 * torch.sin(3 * y))

    return Bump(WEIGHTS).eval()


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    field = Unit(Saliency(noisy_model()))
    x = torch.zeros(5, dtype=torch.float64)
    return certify(field, x, 0, noise=Gaussian(0.5), samples=4096, seed=1, reasons=3, features=NAMES)


def test_reasons_are_named_in_order_with_what_is_proved(certificate) -> None:
    reasons = certificate.reasons()
    assert reasons.names == ("income", "tenure", "age")
    assert reasons.features == (1, 3, 0)
    assert all(reach > 0.2 for reach in reasons.stays[:2])
    assert reasons.leads[0] > 0.2
    assert reasons.max_epsilon == min(reasons.stays)
    assert reasons.max_order_epsilon == min(*reasons.stays, *reasons.leads[:2])
    assert reasons.staying(0.0) == reasons.names
    assert reasons.staying(reasons.stays[0] + 1) == ()
    lines = str(reasons).splitlines()
    assert lines[0].startswith("1 income  among the top 3 up to epsilon 0.")
    assert "above the next up to 0." in lines[0]
    assert "above the next" not in lines[2]


def test_reasons_under_an_assumed_limit_say_so(certificate) -> None:
    """Orders need the limit: a difference of two features is at most sqrt(2) times it."""
    field, x = Assumed(Saliency(noisy_model()), 3.0), torch.zeros(5, dtype=torch.float64)
    reasons = certify(field, x, 0, noise=Gaussian(0.5), samples=2048, seed=1, reasons=2).reasons()
    assert reasons.assumed
    assert min(reasons.stays) > 0
    assert str(reasons).startswith("The limit is ASSUMED: this is not a certificate.\n1 1  among the top 2 up to ")
    assert not certificate.reasons().assumed
    assert "ASSUMED" not in str(certificate.reasons())


def test_fewer_reasons_may_be_asked_but_not_more(certificate) -> None:
    two = certificate.reasons(2)
    assert two.names == ("income", "tenure")
    assert two.stays[1] <= certificate.reasons(3).stays[1], "to be among two is harder than among three"
    with pytest.raises(ArgumentError, match=r"expected `k` in 1\.\.3, the reasons that were counted, got 4"):
        certificate.reasons(4)
    with pytest.raises(ArgumentError, match="expected `epsilon` >= 0, got -1"):
        two.staying(-1)


def test_proved_reasons_agree_with_the_ball_around_the_map(certificate) -> None:
    """`top_k` speaks of the same exact map by other means: what both say must fit."""
    exact = certificate.top_k(3, 0.0)
    assert len(certificate.reasons().staying(0.0)) == exact == 3


def test_without_counted_orders_the_question_is_refused_and_nothing_new_is_stored() -> None:
    plain = certify(Unit(Saliency(noisy_model())), torch.zeros(5).double(), 0, noise=Gaussian(0.5), samples=64)
    with pytest.raises(StoredDataError, match="certify with reasons=4"):
        plain.reasons()
    stored = msgspec.to_builtins(plain.record)
    assert "reasons" not in stored
    assert "features" not in stored, "records of before keep their seals"
    assert plain.features == ()


def test_they_are_stored_checked_and_made_again(certificate, tmp_path) -> None:
    certificate.save(tmp_path / "c.json")
    stored = json.loads((tmp_path / "c.json").read_text())
    assert stored["features"] == list(NAMES)
    assert [one["name"] for one in stored["reasons"]] == ["income", "tenure", "age"]
    loaded = Certificate.load(tmp_path / "c.json")
    assert verify_record(loaded).problems == []
    assert loaded.reasons() == certificate.reasons()
    field = Unit(Saliency(noisy_model()))
    again = certify_again(loaded, field, torch.zeros(5).double(), Gaussian(0.5))
    assert compare(loaded, again) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda one: one["reasons"][0].update(stays=9.0), "states more about the reason 'income'"),
        (lambda one: one["reasons"][0].update(leads=9.0), "states more about the reason 'income'"),
        (lambda one: one["reasons"][0].update(feature=2), "states reasons that were not counted"),
        (lambda one: one["facts"].pop("orders"), "states reasons, but no orders were counted"),
        (lambda one: one["facts"]["orders"]["radius"][0].__setitem__(4, 9.0), "orders hold further than 4096 draws"),
        (lambda one: one["facts"]["orders"].update(alpha=4e-5), "orders spent alpha 4e-05, more than their share 3.1"),
        (lambda one: one["reasons"][0].update(name="debt"), "calls feature 1 'debt', which is not its name"),
        (lambda one: one.update(features=["a", "b"]), "names 2 features of a map of shape"),
    ],
)
def test_forged_reasons_are_found(certificate, tmp_path, change, told) -> None:
    found = problems(certificate, tmp_path / "c.json", change)
    assert any(told in line for line in found), found


def test_names_must_fit_the_map() -> None:
    with pytest.raises(ArgumentError, match=r"expected one of `features` per cell of the map \(5\), got 2"):
        certify(
            Unit(Saliency(noisy_model())),
            torch.zeros(5).double(),
            0,
            noise=Gaussian(0.5),
            samples=64,
            features=("a", "b"),
        )


def test_strength_without_direction_and_units() -> None:
    x, noise = torch.zeros(5).double(), Gaussian(0.5)
    strong = certify(
        Unit(Absolute(Saliency(noisy_model()))), x, 0, noise=noise, samples=2048, reasons=3, features=NAMES
    )
    assert strong.reasons().names == ("income", "debt", "tenure")
    units = torch.tensor([10.0, 0.1, 1.0, 1.0, 1.0])
    scaled = Unit(Scaled(Saliency(noisy_model()), units))
    counted = certify(scaled, x, 0, noise=Gaussian(0.05, scale=units), samples=2048, reasons=2, features=NAMES)
    assert set(counted.reasons().names) == {"age", "tenure"}
    assert counted.record.maps == ("scaled",)
    assert counted.evidence.budget.units == tuple(units.tolist())


def test_a_shift_in_units_is_the_same_theory_in_their_space() -> None:
    """The same model on inputs in other units, with noise and maps in those units, proves the same."""
    units = torch.tensor([2.0, 0.5, 4.0, 1.0, 0.25], dtype=torch.float64)
    model = noisy_model()
    other = torch.nn.Sequential(Divide(units), model).eval()
    x = torch.tensor([0.1, -0.2, 0.3, 0.0, 0.2], dtype=torch.float64)
    here = certify(Unit(Saliency(model)), x, 0, noise=Gaussian(0.5), samples=512, seed=0, reasons=2)
    there = certify(
        Unit(Scaled(Saliency(other), units)),
        x * units,
        0,
        noise=Gaussian(0.5, scale=units),
        samples=512,
        seed=0,
        reasons=2,
    )
    assert there.evidence.fact(Orders).radius == pytest.approx(here.evidence.fact(Orders).radius, rel=1e-3)
    assert there.max_epsilon(0.8) == pytest.approx(here.max_epsilon(0.8), rel=1e-3)
    assert np.allclose(there.attribution, here.attribution, atol=1e-6)


class Divide(torch.nn.Module):
    def __init__(self, units: torch.Tensor) -> None:
        super().__init__()
        self.units = units

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        return y / self.units
