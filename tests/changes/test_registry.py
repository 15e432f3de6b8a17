"""Specs as people type them: what they make, and one clear line for everything else."""

import pytest
import torch

from attribound.changes import Continuous, Contrast, Shift, Zoom, make_changes, names, parse_change, register_change
from attribound.changes import registry as known
from attribound.errors import ArgumentError
from tests.changes.test_changes import picture


@pytest.mark.parametrize(
    ("spec", "again"),
    [
        ("rotation:30", "rotation:30"),
        ("rotation:7.5deg", "rotation:7.5"),
        ("rotation:30°", "rotation:30"),
        ("zoom:20%", "zoom:20%"),
        ("contrast:2x", "contrast:2"),
        ("gamma:1.5", "gamma:1.5"),
        ("saturation:2", "saturation:2"),
        ("blur:3px", "blur:3"),
        ("brightness:100", "brightness:100"),
        ("warmth:30", "warmth:30"),
        ("shift:10", "shift:10"),
        ("shift-x:10px", "shift-x:10"),
        ("shift-y:3", "shift-y:3"),
        ("jpeg", "jpeg:5"),
        ("jpeg:25", "jpeg:25"),
        ("flip", "flip"),
        ("hidden-word", "hidden-word"),
    ],
)
def test_specs(spec, again):
    assert parse_change(spec).spec == again
    assert repr(parse_change(spec)).endswith(f": {again}>")
    assert spec.split(":")[0] in names()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rotaton:30", r"got 'rotaton'; did you mean 'rotation'\?"),
        ("brigthness:3", r"did you mean 'brightness'\?"),
        ("qqq", r"got 'qqq'$"),
        ("", r"expected a change \(rotation"),
        ("rotation", "expected a range for rotation, such as rotation:30, got 'rotation:'"),
        ("rotation:", "expected a range for rotation"),
        ("rotation:0", "expected a range > 0 for rotation, such as rotation:30, got 'rotation:0'"),
        ("rotation:-5", "expected a range > 0"),
        ("rotation:nan", "expected a range > 0"),
        ("rotation:inf", "expected a range > 0"),
        ("rotation:far", "expected a range > 0"),
        ("rotation:\x1b[31m", r"got 'rotation:\\x1b\[31m'"),
        ("zoom:20", "expected a range with its unit for zoom, such as zoom:20%, got 'zoom:20'"),
        ("contrast:1", "expected a factor > 1 for contrast"),
        ("gamma:0.5", "expected a factor > 1 for gamma"),
        ("brightness:1.5", "expected a whole number >= 1 for brightness"),
        ("shift:0.5", "expected a whole number >= 1"),
        ("jpeg:101", r"expected a JPEG quality in 1\.\.100, got 101"),
        ("flip:2", "expected flip without a range"),
        ("hidden-word:2", "expected hidden-word without a range"),
    ],
)
def test_bad_specs_get_one_clear_line(spec, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        parse_change(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Zoom("20%"), "expected a range > 0 for zoom, such as zoom:20%, got '20%'"),
        (lambda: Contrast(None), "expected a factor > 1 for contrast, such as contrast:2, got None"),
        (lambda: Shift("3"), "expected a whole number >= 1 for shift, such as shift:10, got '3'"),
        (lambda: Zoom(-1), "expected a range > 0 for zoom, such as zoom:20%, got -1"),
    ],
)
def test_in_python_too(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_everyday_is_a_set_for_pictures():
    colour, grey = (make_changes("everyday", picture(channels)) for channels in (3, 1))
    assert [one.name for one in colour] == [
        "rotation", "zoom", "contrast", "blur", "brightness", "warmth", "shift-x", "jpeg"
    ]  # fmt: skip
    assert "warmth" not in [one.name for one in grey]
    assert make_changes("everyday", picture(1, 28, 28))[-2].spec == "shift-x:2"
    with pytest.raises(ArgumentError, match="needs a picture"):
        make_changes("everyday", torch.rand(30))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([], "at least one change"),
        (["jpeg", "rotation:3", "jpeg:7"], "expected every change once, got jpeg twice"),
        ([3], r"expected a change such as Rotation\(30\) or 'rotation:30', got 3"),
        ("shift:40", r"fewer pixels than the picture has \(40\), got shift:40"),
        ("shift-y:99", r"fewer pixels than the picture has \(40\), got shift-y:99"),
    ],
)
def test_bad_lists(changes, message):
    with pytest.raises(ArgumentError, match=message):
        make_changes(changes, picture())
    with pytest.raises(ArgumentError, match="rotation needs a picture"):
        make_changes("rotation:3", torch.rand(30))


def test_a_change_from_outside(monkeypatch):
    class Fog(Continuous):
        name, unit, example, made = "fog", "parts", "fog:0.5", "mixed with white"
        mirrored = True
        low, high = 0.0, 0.5

        @classmethod
        def parse(cls, amount):
            return cls()

        def apply(self, x, t):
            share = t.to(x).clamp(0, 1).view(-1, *[1] * x.ndim)
            return (1 - share) * x + share

    monkeypatch.setattr(known.CHANGES, "_known", dict(known.CHANGES))
    register_change(Fog)
    assert register_change(Fog) is Fog
    assert parse_change("fog:0.5").high == 0.5
    assert "fog" in names()
    with pytest.raises(ArgumentError, match="did you mean 'fog'"):
        parse_change("fogg")
    for wrong, message in [
        (3, "class of changes"),
        (Continuous, "expected a name"),
        (Other, "called 'rotation' already"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            register_change(wrong)


class Other(Continuous):
    name = "rotation"
