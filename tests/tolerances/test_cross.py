"""Every change, crossed with everything a sheet says, with units and with the model's precision."""

import pytest
import torch
from torch import nn

import attribound as ab
from attribound.certificates.verify import verify_record
from attribound.certification.again import sample_again
from attribound.changes import Continuous, names, parse_change
from attribound.changes.registry import CHANGES, EVERYDAY
from attribound.fields.precision import in_precision
from attribound.tolerances.again import ask_again
from attribound.tolerances.sheet_file import read_sheet, sheet_problems
from tests.changes.test_changes import picture

SPECS = {
    "rotation": "rotation:20", "zoom": "zoom:20%", "contrast": "contrast:2", "gamma": "gamma:2", "blur": "blur:2",
    "saturation": "saturation:2", "brightness": "brightness:9", "warmth": "warmth:9", "shift": "shift:2",
    "shift-x": "shift-x:3", "shift-y": "shift-y:3", "jpeg": "jpeg:90", "flip": "flip",
}  # fmt: skip
X = picture(height=16, width=20)


def field(precision="float32"):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1), nn.Softplus(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(480, 3)
    )
    return in_precision(ab.Unit(ab.Pooled(ab.Saliency(model.eval()), 4)), precision)


def test_every_change_is_crossed():
    """Words are no picture's; a new change belongs in the list above."""
    outside = {name for name in CHANGES if not CHANGES[name].__module__.startswith("attribound.")}  # of other tests
    assert {*SPECS} == {*names()} - {EVERYDAY, "hidden-word"} - outside


@pytest.fixture(scope="module", params=[("float32", "shown"), ("bfloat16", "plain")])
def sheet(request):
    precision, reference = request.param
    asked = {"cosine": (0.3, 0.6), "samples": 400, "seed": 1, "reference": reference}
    return ab.tolerance(field(precision), X, [*SPECS.values()], **asked)


def seen(sheet, change, t):
    """Maps of changed pictures, brought back and scaled, and their classes: each by itself, and without the library."""
    known = field(sheet["flip"].record.subject.precision)
    maps, classes = [], []
    for one in t.split(1):
        x = change.apply(X, one)
        row = change.back(known.base.attribute(x, sheet.target).detach(), one, X.shape).flatten().double()
        maps.append(row / row.norm())
        classes.append(int(known.model(x).argmax()))
    return torch.stack(maps), torch.tensor(classes)


@pytest.mark.parametrize("name", SPECS)
def test_answers_are_true(sheet, name):
    """Lists to their last alternative and digit, scans by dense search."""
    known, change = sheet[name], parse_change(SPECS[name])
    if isinstance(change, Continuous):
        window = change.inner(known.window)
        for cosine in (0.3, 0.6):
            ends = known.reach(cosine) or (change.shown(0.0),) * 2
            for t in set(map(change.inner, ends)):
                rows = t + window * torch.linspace(-1, 1, 11, dtype=torch.float64)
                mean = seen(sheet, change, rows.abs() if change.mirrored else rows)[0].mean(dim=0)
                turned = float(mean @ known.shown.flatten().double() / mean.norm() / known.shown.norm())
                assert turned >= cosine - 0.02 or known.reach(cosine) is None
        return
    t = change.alternatives(X)
    maps, classes = seen(sheet, change, t)
    cosines = maps @ known.shown.flatten().double()
    values = torch.tensor([change.shown(float(place)) for place in change.places(t)])
    assert torch.allclose(cosines, torch.from_numpy(known.record.evidence().cosines), rtol=0, atol=1e-12)
    for interval, holds in (
        (known.reach(0.6), cosines >= 0.6),
        (known.class_reach, classes == sheet.prediction),
    ):
        inside = (values >= interval[0]) & (values <= interval[1])
        assert holds[inside].all()
        beyond = values[~inside]
        assert not len(beyond) or not holds[~inside].all()


def test_all_that_is_said_fits_together(sheet, tmp_path):
    sheet.save(tmp_path / "sheet.json")
    assert sheet_problems(read_sheet(tmp_path / "sheet.json")) == []
    for name, known in sheet.tolerances.items():
        change, record = parse_change(SPECS[name]), known.record
        low, high = record.change.low, record.change.high
        inner, outer = known.reach(0.6), known.reach(0.3)
        for interval in (inner, outer, known.class_reach):
            assert interval is None or low <= interval[0] <= record.change.zero <= interval[1] <= high
        assert inner is None or (outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1])
        broken = known.broken[0.6]
        assert broken is None or inner is None or name == "shift" or not inner[0] < broken.value < inner[1]
        assert record.change.unit in known.words(0.6) or inner is None
        assert record.proof == ("alpha" if isinstance(change, Continuous) else "exact")
        assert (record.alpha > 0) == isinstance(change, Continuous)
        assert name in repr(sheet)
        if isinstance(change, Continuous):
            assert [change.inner(change.shown(t)) for t in (change.low, change.high)] == pytest.approx(
                [change.low, change.high]
            )


def test_everything_is_made_again_from_its_record(sheet):
    for known in sheet.tolerances.values():
        assert ask_again(known.record, field(), X)[0] == []


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_combinations_are_crossed_with_every_statement(precision):
    specs = [spec for name, spec in SPECS.items() if name not in ("shift", "jpeg", "flip")]
    asked = {"cells": (0.5,), "reasons": 2, "intervals": True}
    noise = ab.Gaussian(0.2)
    known = ab.certify(field(precision), X, changes=specs, noise=noise, samples=64, **asked)
    assert verify_record(known).problems == []
    assert known.dim == 10
    assert known.joint_epsilon(0.5) <= known.max_epsilon(0.5)
    assert known.cells(0.5, 0.01).shape == (4, 4)
    assert len(known.record.stated_reasons) == 2
    assert sample_again(known, field(), X, noise).problems == []
