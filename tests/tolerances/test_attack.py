"""Attacks on tolerances: honest records survive, claims that are too wide do not."""

import math

import numpy as np
import pytest
import torch
from msgspec.structs import replace

import attribound as ab
from attribound.changes.registry import register_change
from attribound.randomness import Purpose, stream
from attribound.sampling.along import Along
from attribound.sampling.scan import Scan
from attribound.tolerances.attack import EFFORTS, Effort, ToleranceAttack, claims_of
from attribound.tolerances.finding import BEYOND, ToleranceFinding
from attribound.tolerances.windows import WindowSearch
from tests.tolerances.known import Add, Mirrored, Steps, Turning

X = torch.zeros(4, dtype=torch.float64)
TRUE = math.degrees(math.acos(0.8)) / 2
"""At 2 degrees per unit the cosine is 0.8 there."""


@register_change
class TypedAdd(Add):
    """Adds up to so much."""

    name = "typed-add"

    @classmethod
    def parse(cls, amount):
        return cls(float(amount))


@register_change
class TypedMirrored(Mirrored):
    """The same, for t >= 0 only."""

    name = "typed-mirrored"

    @classmethod
    def parse(cls, amount):
        return cls(float(amount))


@register_change
class TypedSteps(Steps):
    """Adds a whole number."""

    name, sizes = "typed-steps", False

    @property
    def spec(self):
        return f"{self.name}:{self.count}"

    @classmethod
    def parse(cls, amount):
        return cls(int(amount))


def asked(change, **field):
    """A field and the record of a change, with the class at an edge if one is asked for."""
    about = ab.Unit(Turning(**field))
    return about, ab.tolerance(about, X, change, samples=2048, seed=1)[change.partition(":")[0]].record


def shown_at(record):
    """The angle of the map shown: of t >= 0 only, that of half a window."""
    return record.window if record.part == "typed-mirrored" else 0.0


def attacked(field, record, effort=EFFORTS["quick"], seed=0):
    return {one.about: one for one in ToleranceAttack(effort, seed)(record, field, X)}


@pytest.mark.parametrize("budget", EFFORTS)
@pytest.mark.parametrize("change", ["typed-add:30", "typed-mirrored:30", "typed-steps:30"])
def test_honest_records_survive(change, budget):
    field, record = asked(change)
    found = attacked(field, record, EFFORTS[budget])
    assert set(found) == {"cosine", "class"}
    worst = found["cosine"]
    assert not worst.violated
    assert worst.reach == record.reaches["0.8"]
    end = max(map(abs, worst.reach))
    assert worst.worst == pytest.approx(math.cos(math.radians(2 * end - shown_at(record))), abs=0.02)
    assert abs(worst.at) == pytest.approx(end, abs=0.5)
    assert found["class"].worst == 1.0


@pytest.mark.parametrize("change", ["typed-add:30", "typed-mirrored:30", "typed-steps:30"])
def test_a_reach_that_is_too_wide_is_found(change):
    field, record = asked(change)
    low = 0.0 if "mirrored" in change else -22.0
    forged = replace(record, reaches={"0.8": (low, 22.0)})
    worst = attacked(field, forged)["cosine"]
    assert worst.violated
    assert worst.worst == pytest.approx(math.cos(math.radians(44 - shown_at(record))), abs=0.02)
    assert abs(worst.at) == 22.0
    assert worst.words == f"{worst.at:g} {worst.unit}"


def test_one_side_alone_is_found():
    field, record = asked("typed-add:30")
    worst = attacked(field, replace(record, reaches={"0.8": (-5.0, 22.0)}))["cosine"]
    assert worst.violated
    assert worst.at == 22.0


def test_chance_is_no_violation():
    """Where a claim is exactly true at both ends, with noisy maps: the errors are those of a fair test."""
    along = Along(ab.Unit(Turning(noise=0.5)), TypedAdd(30.0), X, 0)
    scan, reference, places = Scan(along, 2048, 3.75, 0, 0), np.eye(6)[0], np.linspace(-TRUE, TRUE, 33)
    errors = []
    for seed in range(100):
        search = WindowSearch(scan, reference, draws=512, fresh=64, seed=seed)
        errors.append(search.worst_cosine(places, search.look(places), 0.8).errors)
    assert min(errors) > -BEYOND
    assert -0.3 < np.mean(errors) < 1.0, "at the worst window the claim holds by nothing, or by a little"
    assert 0.6 < np.std(errors) < 1.5


@pytest.mark.parametrize("change", ["typed-add:30", "typed-steps:30"])
def test_the_class_is_attacked(change):
    field, record = asked(change, edge=10.0)
    assert not attacked(field, record)["class"].violated
    low, high = record.class_reach
    assert (low, high) == (-30.0, pytest.approx(10.0, abs=1.5))
    worst = attacked(field, replace(record, class_reach=(low, 16.0)))["class"]
    assert worst.violated
    assert worst.worst == 0.0
    assert 10 < worst.at <= 16


def test_a_choice_of_alternatives_has_both_ends():
    field, record = asked("typed-steps:30")
    found = attacked(field, replace(record, reaches={"0.8": (-18.0, 20.0)}), Effort(5, 1, 1))["cosine"]
    assert (found.tried, found.at, found.violated) == (5, 20.0, True)
    assert attacked(field, record, EFFORTS["normal"])["cosine"].tried == 36


def test_a_tie_is_no_violation():
    finding = ToleranceFinding(
        item=0, change="a", about="cosine", claimed=0.8, reach=(0, 1), unit="", proof="exact", tried=1, worst=0.8 - 5e-7
    )
    assert not finding.violated
    assert replace(finding, worst=0.8 - 2e-6).violated
    assert not replace(finding, worst=0.5, errors=-3.9).violated
    assert replace(finding, worst=0.5, errors=-4.1).violated
    assert not replace(finding, worst=None).violated


def test_draws_are_not_those_of_the_scan(monkeypatch):
    """No parameter of the scan that made the record is met again but those of its pilot, which made the map shown."""
    field, record = asked("typed-add:30")
    made = TypedAdd(30.0)
    ab.tolerance(field, X, made, samples=2048, seed=1)
    again = TypedAdd(30.0)
    monkeypatch.setattr("attribound.tolerances.again.parse_change", lambda spec: again)
    ToleranceAttack(EFFORTS["quick"], seed=1)(record, field, X)
    common = set(made.seen) & set(again.seen)
    assert len(set(again.seen) - common) >= 512
    assert len(common) < 2048 // 4, "the pilot and the probes"


def test_what_decides_was_not_searched(monkeypatch):
    """The search, the direction, the test and the class: no stream is used for two of them."""
    field, record = asked("typed-add:30")
    used = []

    def noted(*asked):
        used.append(asked[:4])
        return stream(*asked)

    monkeypatch.setattr("attribound.sampling.stratified.stream", noted)
    ToleranceAttack(EFFORTS["quick"])(record, field, X)
    assert len(set(used)) == len(used)
    assert {purpose for purpose, *_ in used} == {Purpose.ATTACK, Purpose.SCORE}


def test_nothing_claimed_is_not_attacked():
    field, record = asked("typed-add:30")
    silent = replace(record, reaches={"0.8": None}, class_reach=None)
    assert claims_of(silent) == []
    assert ToleranceAttack()(silent, field, X) == ()
