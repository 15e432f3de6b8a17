"""Tolerance sheets: what they hold, what they say, what they refuse, and that dense search never beats them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import attribound as ab
from attribound.errors import ArgumentError, FieldError
from attribound.fields import Assumed
from attribound.hashes import model_hash
from attribound.sampling.along import Along
from attribound.tolerances.asker import Asker
from attribound.tolerances.evidence import reach_of_places
from attribound.tolerances.scanned import SHARES
from attribound.tolerances.verify import problems
from tests.tolerances.known import Add, Mirrored, Steps, Turning

X = torch.zeros(3, dtype=torch.float64)
TRUE = math.degrees(math.acos(0.8)) / 2


@pytest.fixture(scope="module")
def sheet():
    field = ab.Unit(Turning(edge=22.0))
    return ab.tolerance(field, X, [Add(30), Steps(30)], cosine=(0.8, 0.9), samples=3000, alpha=0.01, seed=3)


def test_a_sheet_has_what_the_contract_names(sheet):
    add, steps = sheet["add"], sheet["steps"]
    left, right = add.reach(0.8)
    assert -TRUE <= left <= -0.88 * TRUE
    assert 0.88 * TRUE <= right <= TRUE
    assert abs(add.reach(0.9)[1]) < right
    assert add.reach(0.85) == add.reach(0.9)
    assert (add.proof, steps.proof) == ("alpha", "exact")
    assert (add.alpha, steps.alpha, sheet.alpha) == (0.01, 0.0, 0.01)
    assert add.window == 30 / 8
    assert add.window_share == 1 / 8
    assert steps.window is None
    assert add.fidelity > 0.999
    assert steps.fidelity == 1
    assert add.draws <= 3000 + 16 * 64
    assert steps.draws == 60
    assert add.shown.shape == sheet.plain.shape == (6,)
    assert steps.reach(0.8) == (-18, 18)
    assert steps.reach(0.9) == (-12, 12)
    assert list(sheet) == ["add", "steps"]
    assert len(sheet) == 2
    assert sheet.cosines == (0.8, 0.9)


def test_the_class_is_the_windows_majority(sheet):
    left, right = sheet["add"].class_reach
    assert left == -30
    assert 20 <= right <= 22
    assert sheet["steps"].class_reach == (-30, 22)


def test_what_breaks_is_beyond_the_reach_and_near_the_truth(sheet):
    add, steps = sheet["add"].breaks, sheet["steps"].breaks
    assert TRUE * 0.99 <= abs(add.value) <= 1.25 * TRUE
    assert add.cosine < 0.8
    assert float(add.input[0]) == pytest.approx(add.value)
    assert add.map.shape == (6,)
    assert abs(steps.value) == 19
    assert steps.cosine == pytest.approx(math.cos(math.radians(38)))
    assert sheet["add"].broken[0.9].cosine < 0.9
    assert abs(sheet["add"].broken[0.9].value) < abs(add.value)


def test_the_curve(sheet):
    curve = sheet["add"].curve()
    assert curve.t.min() == -30
    assert curve.t.max() == 30
    assert (curve.proved >= curve.sampled).all()
    assert (curve.proved >= 2 * np.abs(curve.t) - 0.5).all()
    exact = sheet["steps"].curve()
    np.testing.assert_allclose(exact.proved, 2 * np.abs(exact.t), atol=1e-5)


def test_print_and_words(sheet):
    text = str(sheet)
    assert "turning, class 0" in text
    assert "exact" in text
    assert "alpha 0.01 for the whole sheet" in text
    assert "-18 to 18" in text
    words = sheet["add"].words()
    assert words.startswith("add: for every change from -")
    assert "the mean of the maps over a window of half-width 3.75 units" in words
    assert "99 %" in words
    assert "The class stays from -30 to 2" in words
    assert "by majority in the window" in words
    assert repr(sheet["add"]) == words
    assert repr(sheet) == text
    assert "do not exactly add up" in words
    assert "Exact: every alternative was tried" in sheet["steps"].words(0.9)
    assert len(sheet.words().splitlines()) == 4


def test_exact_changes_spend_no_alpha_and_scans_share_it():
    field = ab.Unit(Turning())
    both = ab.tolerance(field, X, [Add(30), Mirrored(20), Steps(3)], samples=800, alpha=0.02)
    assert {name: both[name].alpha for name in both} == {"add": 0.01, "mirrored": 0.01, "steps": 0.0}
    # The draws of a change are the same alone and in a sheet; with all of alpha it reaches further.
    alone = ab.tolerance(field, X, Add(30), samples=800, alpha=0.02, seed=both.seed)
    assert np.array_equal(alone["add"].shown, both["add"].shown)
    assert alone["add"].reach(0.8)[1] >= both["add"].reach(0.8)[1]
    assert both["mirrored"].reach(0.8)[0] == 0


class InCompany(Turning):
    """As a kernel that adds in another order for another number of rows: 0.2 degrees less in a batch."""

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        fewer = 0.0 if len(inputs) == 1 else 0.2 / self.speed
        return super().explain(inputs - fewer * inputs.sign(), target, generator=generator, create_graph=create_graph)


def test_every_alternative_is_tried_by_itself():
    """Nobody computes 60 changed inputs at once: the claim is about the map of each, as the plain one was made."""
    exact = ab.tolerance(ab.Unit(InCompany()), X.float(), Steps(30), cosine=math.cos(math.radians(37.9)))["steps"]
    places = np.array([k for k in range(-30, 31) if k])
    np.testing.assert_allclose(exact.record.evidence().cosines, np.cos(np.radians(2.0 * places)), atol=1e-12)
    assert list(exact.reaches.values()) == [(-18, 18)]
    assert exact.breaks.cosine == pytest.approx(math.cos(math.radians(38)))


@pytest.mark.parametrize("change", [ab.Brightness(3), ab.Rotation(5)])
def test_fidelity_is_to_the_map_of_the_model_in_float32(change, tmp_path):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(192, 64), *[torch.nn.ReLU(), torch.nn.Linear(64, 64)] * 3, torch.nn.ReLU()]
    model = torch.nn.Sequential(torch.nn.Flatten(), *layers, torch.nn.Linear(64, 3)).eval()
    field, x = ab.Unit(ab.Saliency(model)), (255 * torch.rand(3, 8, 8)).round() / 255
    sheet = ab.tolerance(field, x, change, precision="bfloat16", samples=256, cosine=0.1)
    (known,), plain = sheet.tolerances.values(), field.attribute(x[None], sheet.target)[0]
    likeness = float((plain * known.shown).sum() / known.shown.norm())
    assert known.fidelity == pytest.approx(likeness, abs=1e-6)
    assert known.fidelity < 1
    assert problems(known.record) == []
    sheet.save(tmp_path / "sheet.json")
    assert torch.equal(ab.Sheet.load(tmp_path / "sheet.json").plain, plain.float())
    if known.proof == "exact":  # that of the model as it is cannot differ from itself
        alone = replace(known.record, subject=replace(known.record.subject, precision="float32"), seal="")
        assert problems(alone) == [f"has fidelity {known.fidelity:g}"]


def test_cosines_share_alpha():
    field = ab.Unit(Turning(noise=0.05))
    both = ab.tolerance(field, X, Add(30), cosine=(0.8, 0.9), samples=800, alpha=0.02, seed=1)["add"]
    alone = ab.tolerance(field, X, Add(30), cosine=0.8, samples=800, alpha=0.01, seed=1)["add"]
    assert both.reach(0.8) == alone.reach(0.8)
    assert ab.tolerance(field, X, Add(30), cosine=0.8, samples=800, alpha=0.02, seed=1)["add"].reach(0.8) != (
        both.reach(0.8)
    )
    assert math.fsum(SHARES.values()) <= 1


def test_the_reference_is_the_map_shown_or_the_plain_one():
    field = ab.Unit(Turning(noise=0.05))
    shown, plain = (
        ab.tolerance(field, X, Add(30), samples=800, reference=reference, seed=1)["add"]
        for reference in ("shown", "plain")
    )
    assert not torch.equal(shown.shown, plain.shown)
    assert plain.fidelity == pytest.approx(1)
    assert "the plain map of the unchanged input" in plain.words()
    assert "the map shown for the unchanged input" in shown.words()


def test_a_window_in_the_changes_unit():
    one = ab.tolerance(ab.Unit(Turning()), X, Add(30), samples=500, window=10)["add"]
    assert one.window == 10
    named = ab.tolerance(ab.Unit(Turning()), X, [Add(30), Mirrored(20)], samples=500, window={"add": 10})
    assert (named["add"].window, named["mirrored"].window) == (10, 2.5)


def test_an_assumed_limit_is_no_certificate():
    one = ab.tolerance(Assumed(Turning(), 1.0), X, Add(30), samples=500)["add"]
    assert one.proof == "assumed"
    assert "NOT a certificate" in one.words()


def test_nothing_is_proved_about_empty_maps():
    class Empty(Turning):
        def explain(self, inputs, target, **_):
            return ab.Explanation(torch.zeros(len(inputs), 4, dtype=torch.float64))

    one = ab.tolerance(ab.Unit(Empty()), X, [Add(30), Steps(3)], samples=500)
    assert one["add"].reach(0.8) is None
    assert one["steps"].reach(0.8) is None
    assert "nothing is proved" in one["add"].words()
    assert "none" in str(one)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cosine": 1.0}, r"expected `cosine` in \[0, 1\), got 1.0"),
        ({"cosine": ()}, r"expected `cosine` in \[0, 1\)"),
        ({"cosine": -0.1}, "expected `cosine` in"),
        ({"alpha": 0}, "expected `alpha` in"),
        ({"samples": 0}, "expected `samples`"),
        ({"samples": 20}, "expected more `samples`: the range needs at least"),
        ({"window": 31.0}, "no wider than the range of add:30, got 31 units"),
        ({"window": -1.0}, "expected `window` > 0"),
        ({"window": {"zoom": 1.0}}, r"windows of scanned changes \(add\), got 'zoom'"),
        ({"reference": "mean"}, "expected `reference` 'shown' or 'plain', got 'mean'"),
        ({"changes": "rotation:30"}, "rotation needs a picture"),
        ({"changes": "everyday"}, "rotation needs a picture"),
        ({"changes": "rotatoin:30"}, "did you mean 'rotation'"),
        ({"changes": [Add(30), Mirrored()], "window": 3.0}, "expected `window` by name for 2 scanned changes"),
        ({"target": 9}, r"expected `target` in 0\.\.1"),
        ({"seed": -1}, "expected `seed`"),
    ],
)
def test_bad_input_gets_one_clear_line(options, message):
    options = {"changes": Add(30), **options}
    with pytest.raises(ArgumentError, match=message) as caught:
        ab.tolerance(ab.Unit(Turning()), X, options.pop("changes"), **options)
    assert "\n" not in str(caught.value)


def test_other_bad_input():
    with pytest.raises(FieldError, match="expected a field with a limit"):
        ab.tolerance(Turning(), X, Add(30))
    good = ab.tolerance(ab.Unit(Turning()), X, Steps(2))
    with pytest.raises(ArgumentError, match=r"expected a change of this sheet \(steps\), got 'zoom'"):
        good["zoom"]
    with pytest.raises(ArgumentError, match=r"no larger than one that was asked \(0.8\), got 0.95"):
        good["steps"].reach(0.95)
    picture = torch.zeros(1, 8, 8)
    picture[0, 0, 0] = 1
    with pytest.raises(FieldError, match="rotation moves things, so it needs maps with places"):
        ab.tolerance(ab.Unit(Turning()), picture, "rotation:30", samples=500)


@given(st.dictionaries(st.integers(-8, 8).filter(bool), st.booleans(), max_size=16))
def test_the_reach_stops_before_the_first_failure(marks):
    places, holds = np.array(list(marks), np.float64), np.array(list(marks.values()), bool)
    left, right = reach_of_places(places, holds)
    for sign, end in ((-1, -left), (1, right)):
        mine = {abs(place): held for place, held in marks.items() if place * sign > 0}
        assert all(held for place, held in mine.items() if place <= end)
        further = sorted(place for place in mine if place > end)
        assert not further or not mine[further[0]]
        assert end == 0 or end in mine


def pooled(model):
    return ab.Unit(ab.Pooled(ab.Saliency(model), size=7))


def test_dense_search_never_beats_a_proof(noise_model, sample):
    """Window means on 400 fresh points at 41 places inside the reach: none has turned further, alpha 0.001 a sheet."""
    changes = [ab.Rotation(60), ab.Gamma(3)]
    for number in (0, 3):
        x = sample[0][number]
        sheet = ab.tolerance(pooled(noise_model), x, changes, cosine=0.9, samples=1500, seed=0)
        for change in changes:
            one = sheet[change.name]
            reach = one.reach(0.9)
            assert reach is not None
            along = Along(pooled(noise_model), change, x, sheet.target)
            ends = [change.inner(end) for end in reach]
            window = change.inner(one.window)
            grid = torch.linspace(ends[0] - window, ends[1] + window, 1200, dtype=torch.float64)
            seen = along.look(grid, torch.Generator().manual_seed(0)).maps
            for t in np.linspace(*ends, 41):
                mean = seen[(grid - t).abs() <= window].mean(dim=0)
                cosine = float(mean @ one.shown.flatten() / mean.norm())
                assert cosine >= 0.9 - 2e-3
    exact = ab.tolerance(pooled(noise_model), x, "brightness:40", cosine=0.9)["brightness"]
    along = Along(pooled(noise_model), ab.Brightness(255), x, sheet.target)
    left, right = exact.reach(0.9)
    inside = torch.arange(left, right + 1).double()
    maps = along.look(inside, torch.Generator()).maps
    plain = exact.shown.flatten()
    assert float((maps @ plain / maps.norm(dim=1) / plain.norm()).min()) >= 0.9


def test_a_sheet_names_the_weights_that_were_tried():
    """Those as they are at the input, not as they were when the asker was made."""
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(8, 3)).eval()
    asker = Asker(ab.Unit(ab.Saliency(model)), [ab.HiddenWord()])
    before = asker.look(torch.ones(2, 4)).weights
    with torch.no_grad():
        model[1].weight.mul_(2.0)
    assert before != asker.look(torch.ones(2, 4)).weights == model_hash(model)


def test_cosines_are_said_to_the_last_digit():
    sheet = ab.tolerance(ab.Unit(Turning()), X, [Add(30)], cosine=0.79999996, samples=400, seed=0)
    assert "at least cosine 0.79999996 with" in sheet.words()
