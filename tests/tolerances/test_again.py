"""Records of tolerances that were forged in one place, consistently, and sealed again: making them again tells."""

import numpy as np
import pytest
import torch
from msgspec.structs import replace
from torch import nn

import attribound as ab
from attribound.certificates.sealed import encode_sealed
from attribound.tolerances.again import ask_again
from attribound.tolerances.packed import Packed
from attribound.tolerances.record import decode
from attribound.tolerances.verify import problems


@pytest.fixture(scope="module")
def known():
    """A field, a picture, and the records of its changes."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 3)).eval()
    x = (torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(1)) * 255).round() / 255
    field = ab.Unit(ab.Saliency(model))
    asked = ["rotation:20", ab.Zoom(20.123456789), "brightness:30", "jpeg:60"]
    sheet = ab.tolerance(field, x, asked, samples=512, alpha=0.1, seed=1)
    return field, x, {name: decode(encode_sealed(sheet[name].record), name) for name in sheet}


def stretched(record, factor):
    """Everything that people read of a change, larger; places, draws and cosines as they were."""

    def larger(interval):
        return interval and (interval[0] * factor, interval[1] * factor)

    change, facts = record.change, record.facts
    facts = replace(facts, values=Packed.of(facts.values.values() * factor, "f8"))
    low, zero, high = change.low * factor, change.zero * factor, change.high * factor
    return replace(
        record,
        facts=facts,
        window=None if record.window is None else record.window * factor,
        change=replace(change, low=low, zero=zero, high=high),
        reaches={key: larger(interval) for key, interval in record.reaches.items()},
        class_reach=larger(record.class_reach),
        breaks={key: one and replace(one, value=one.value * factor) for key, one in record.breaks.items()},
    )


def mirrored(record):
    """What was found to the right stands for both sides."""
    right = record.class_reach[1]
    return replace(record, facts=replace(record.facts, sizes=True), class_reach=(-right, right))


def bolder(record):
    """Bets chosen after the draws: the largest, which pays least for chance."""
    facts, forged = record.facts, {}
    for cosine, one in facts.decisions.items():
        best = np.full_like(one.bet.values(), max(one.bet.values().max(), 60))
        forged[cosine] = replace(one, bet=Packed.of(best, "u1"), least=Packed.of(0 * one.least.values(), "u2"))
    record = replace(record, facts=replace(facts, decisions=forged))
    reaches = record.facts.evidence().reaches(record.cosines, record.alpha)
    return replace(record, reaches={key: reaches[float(key)] for key in record.reaches})


FORGERIES = {
    "rotation, three times as far": ("rotation", lambda one: stretched(one, 3.0)),
    "brightness, three times as far": ("brightness", lambda one: stretched(one, 3.0)),
    "another unit": ("rotation", lambda one: replace(one, change=replace(one.change, unit="turns"))),
    "other words": ("brightness", lambda one: replace(one, change=replace(one.change, made="all that may happen"))),
    "one side for both": ("brightness", mirrored),
    "more faithful": ("rotation", lambda one: replace(one, fidelity=min(one.fidelity + 0.01, 1.0))),
    "bets after the draws": ("rotation", bolder),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_records_differ_from_what_is_found_again(known, name):
    field, x, records = known
    part, forge = FORGERIES[name]
    forged = decode(encode_sealed(forge(records[part])), "forged")
    assert problems(forged) == [], "its own facts give what it states"
    assert ask_again(forged, field, x)[0] != []


def test_honest_records_are_found_again(known):
    field, x, records = known
    assert {part: ask_again(record, field, x) for part, record in records.items()} == {
        part: ([], []) for part in records
    }
    jpeg = replace(records["jpeg"], versions={}, seal="")
    assert any("does not say which" in line for line in ask_again(jpeg, field, x)[1])


def test_a_gain_within_rounding_is_said(known):
    """Cosines are raised by less than is allowed between processors, over the threshold of one alternative."""
    field, x, records = known
    record = records["brightness"]
    lowest = float(record.facts.cosines.values().min())
    asked = ab.tolerance(field, x, "brightness:30", cosine=lowest + 5e-5, seed=1)["brightness"].record
    raised = Packed.of(np.minimum(asked.facts.cosines.values() + 9e-5, 1.0), "f8")
    forged = replace(asked, facts=replace(asked.facts, cosines=raised), breaks=dict.fromkeys(asked.breaks))
    whole = dict.fromkeys(asked.reaches, (-30.0, 30.0))
    assert asked.reaches != whole
    found, remarks = ask_again(replace(forged, reaches=whole), field, x)
    assert found == []
    assert any("rounding explains it" in line for line in remarks)


@pytest.mark.parametrize(("spec", "cosine"), [("rotation:20", 0.99), ("brightness:30", 0.9995)])
def test_breaks_that_are_left_out_or_moved_away_are_found_again(known, spec, cosine):
    field, x, _ = known
    record = ab.tolerance(field, x, spec, cosine=cosine, samples=210, alpha=0.1, seed=1)[spec.partition(":")[0]].record
    (key, found), high = *record.breaks.items(), record.change.high
    assert abs(found.value) < high / 2
    for hidden in (None, replace(found, value=high)):
        lines = ask_again(replace(record, breaks={key: hidden}), field, x)[0]
        assert any(f"as the nearest break of cosine {key}" in line for line in lines)
    assert ask_again(record, field, x) == ([], [])
