"""Several changes at once: noise on their amounts, an ellipsoid of combinations proved."""

import json
import math

import msgspec
import numpy as np
import pytest
import torch
from scipy.stats import norm

import attribound as ab
from attribound.bounds.facts import ProbabilityGradient
from attribound.certificates.verify import verify_record
from attribound.changes import Blur, Continuous, Rotation, Together, Zoom, parse_change
from attribound.cli import run
from attribound.errors import ArgumentError, FieldError
from attribound.fields import Explanation, Field
from attribound.runs import Store
from tests.changes.test_changes import picture
from tests.problems import Linear

KINDS = ["rotation:5", "zoom:8%", "contrast:1.2", "brightness:20"]


class Dial(Continuous):
    """Adds t to one number of a row."""

    unit, made, example = "steps", "t is added", "dial"

    def __init__(self, number, high=1.0):
        self.name, self.number, self.low, self.high = f"dial-{number}", number, -high, high

    def apply(self, x, t):
        made = x.repeat(len(t), 1)
        made[:, self.number] += t.to(x)
        return made


class Split(Field):
    """One map on one side of a plane, another one beyond: the worst case of the theory, whose means are known."""

    name = "split"

    def __init__(self, normal, edge, turn):
        self.normal = torch.nn.functional.normalize(torch.as_tensor(normal, dtype=torch.float64), dim=0)
        self.model, self.edge = Linear(torch.zeros(len(normal), dtype=torch.float64)), edge
        self.sides = torch.tensor([[1.0, 0.0], [math.cos(turn), math.sin(turn)]], dtype=torch.float64)

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        return Explanation(self.sides[(inputs.double() @ self.normal > self.edge).long()])

    def smoothed(self, points, sigma):
        """(n, 2) exact means at points (n, k)."""
        beyond = norm.cdf((points @ self.normal.numpy() - self.edge) / sigma)
        return (1 - beyond)[:, None] * self.sides[0].numpy() + beyond[:, None] * self.sides[1].numpy()


def dialled(field, units=(1.0, 1.0, 1.0), **settings):
    x = torch.zeros(len(units), dtype=torch.float64)
    changes = [Dial(number, unit) for number, unit in enumerate(units)]
    return ab.certify(ab.Unit(field), x, changes=changes, noise=ab.Gaussian(1.0), **settings)


def test_amounts_are_a_space_like_any_other():
    """The slow reference: the same function, certified as a field on three numbers, from the very same draws."""
    field = Split([1.0, 2.0, -1.0], 1.0, 2.0)
    direct = ab.certify(
        ab.Unit(field), torch.zeros(3, dtype=torch.float64), noise=ab.Gaussian(1.0), samples=200, seed=3
    )
    assert dialled(field, samples=200, seed=3).record.facts == direct.record.facts


def test_the_amount_named_is_the_unit():
    field, units = Split([1.0, 0.0, 1.0], 1.5, 2.0), (2.0, 0.5, 1.0)
    noise = ab.Gaussian(1.0, scale=units)
    direct = ab.certify(ab.Unit(field), torch.zeros(3, dtype=torch.float64), noise=noise, samples=200, seed=3)
    known = dialled(field, units, samples=200, seed=3)
    assert known.max_epsilon(0.8) == pytest.approx(direct.max_epsilon(0.8), rel=1e-9)
    assert known.dim == 3
    assert known.record.noise.units is None


def test_no_combination_beats_a_certificate():
    """30 fields at alpha 0.2, dense search: 14 false or more would come up once in 1,000 times for a sound rule."""
    rng, false, proved = np.random.default_rng(0), 0, 0
    for seed in range(30):
        field = Split(rng.normal(size=3), rng.uniform(0.5, 2.5), rng.uniform(1.5, math.pi))
        known = dialled(field, samples=64, seed=seed, alpha=0.2, cosines=(0.8,))
        epsilon = known.max_epsilon(0.8)
        proved += epsilon > 0
        directions = np.concatenate([rng.normal(size=(500, 3)), field.normal.numpy()[None]])
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        maps, plain = field.smoothed(epsilon * directions, 1.0), field.smoothed(np.zeros((1, 3)), 1.0)[0]
        cosines = maps @ plain / np.linalg.norm(maps, axis=1) / np.linalg.norm(plain)
        false += bool((cosines < 0.8 - 1e-12).any())
    assert false < 14
    assert proved > 15


def test_changes_are_made_in_the_order_given_and_undone_backwards():
    x, both = picture(), Together(["rotation:10", "zoom:20%"])
    turned = Rotation(10).apply(x, torch.tensor([10.0]))
    torch.testing.assert_close(both.apply(x, torch.tensor([[1.0, 0.0]])), turned, rtol=0, atol=1e-6)
    larger = Zoom(20).apply(turned[0], torch.tensor([math.log(1.2)]).double())
    made = both.apply(x, torch.tensor([[1.0, 1.0], [0.0, 0.0]]))
    torch.testing.assert_close(made[:1], larger, rtol=0, atol=1e-6)
    back = both.back(made.double(), torch.tensor([[1.0, 1.0], [0.0, 0.0]]), x.shape)[:, :, 12:28, 16:40]
    assert float((back - x[:, 12:28, 16:40]).abs().max()) < 0.1
    assert float((made[0] - x).abs().max()) > 0.3


def test_parts_of_levels_and_pixels():
    x = picture()
    made = Together(["brightness:10", "shift-x:2"]).apply(x, torch.tensor([[0.05, 0.0], [0.0, 1.0]]))
    torch.testing.assert_close(made[0], (x + 0.5 / 255).clamp(0, 1), rtol=0, atol=1e-6)
    torch.testing.assert_close(made[1, :, :, 2:], x[:, :, :-2], rtol=0, atol=1e-5)


def test_where_only_one_side_has_a_meaning_both_amounts_are_one():
    both, x = Together([Blur(2), "gamma:2"]), picture()
    made = both.apply(x, torch.tensor([[1.0, 0.5], [-1.0, 0.5]]))
    assert torch.equal(made[0], made[1])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["rotation:5"], "at least two"),
        (["rotation:5", "rotation:6"], "rotation twice"),
        (["rotation:5", "jpeg"], "no amounts between"),
        (["rotation:5", "shift:3"], "shift-x:10"),
        (["rotation:5", "zom:3%"], "did you mean 'zoom'"),
        (["rotation:5", 7], "got 7"),
    ],
)
def test_what_cannot_be_combined_is_said(changes, said):
    with pytest.raises(ArgumentError, match=said):
        Together(changes)


def test_noise_has_no_other_units():
    with pytest.raises(ArgumentError, match="without `scale`"):
        ab.certify(
            ab.Unit(Split([1.0, 1.0], 1.0, 2.0)),
            torch.zeros(2, dtype=torch.float64),
            changes=[Dial(0), Dial(1)],
            noise=ab.Gaussian(1.0, scale=(1.0, 2.0)),
        )


class Mean(torch.nn.Module):
    """Logits (mean, 0)."""

    def forward(self, x):
        first = x.flatten(1).mean(dim=1)
        return torch.stack([first, torch.zeros_like(first)], dim=1)


def test_a_limit_of_the_map_is_none_of_the_map_brought_back():
    field = ab.Proved(ab.Saliency(Mean()), 1.0, reason="the mean's gradient is short")
    for ask in (
        lambda: ab.certify(field, picture(), changes=["rotation:5", "gamma:2"], noise=ab.Gaussian(1.0), samples=16),
        lambda: ab.tolerance(field, picture(), "rotation:5", samples=64),
    ):
        with pytest.raises(FieldError, match="brought back"):
            ask()


def test_slopes_in_the_input_say_nothing_about_amounts():
    """The curvature rule is about gradients with respect to the numbers that move."""
    field = ab.Proved(ab.Saliency(Mean(), "probability", continuous=True), 1.0, reason="short")
    known = ab.certify(field, picture(), changes=["contrast:1.2", "gamma:1.2"], noise=ab.Gaussian(1.0), samples=16)
    assert ProbabilityGradient not in known.evidence.facts


@pytest.mark.parametrize("change", [Rotation(10.123456789), Zoom(8.123456789), Blur(1 / 3)])
def test_a_spec_names_the_very_amount(change):
    assert parse_change(change.spec).high == change.high


def test_words_and_forgeries():
    known = dialled(Split([1.0, 0.0], 1.5, 2.0), (1.0, 1.0), samples=64)
    assert "in units of dial-0:1 and dial-1:1" in repr(known)
    assert "combination of dial-0 and dial-1 whose sizes" in known.evidence.budget.words("1.5")
    assert verify_record(known).passed
    subject = msgspec.structs.replace(known.record.subject, changes=("dial-0:1", "dial-1:1", "dial-2:1"))
    forged = ab.Certificate(msgspec.structs.replace(known.record, subject=subject), known.map)
    assert any("as many amounts" in line for line in verify_record(forged).problems)


@pytest.mark.usefixtures("quick_audits")
def test_at_the_command_line(tmp_path, capsys):
    out = str(tmp_path / "run")
    changes = [word for kind in KINDS for word in ("--change", kind)]
    base = ["certify", "--model", "mnist-cnn-noise", "--data", "mnist-sample", "--items", "1", "--workers", "1"]
    asked = [*base, "--noise", "gaussian:1", "--samples", "64", *changes, "--out", out]
    assert run(asked) == 0
    assert "in units of rotation:5, zoom:8%, contrast:1.2 and brightness:20" in " ".join(
        capsys.readouterr().out.split()
    )
    assert run(["verify", out, "--resample", "1"]) == 0
    attack = ["attack", out, "--budget", "quick", "--method", "random", "--steps", "3", "--samples", "16", "--json"]
    capsys.readouterr()
    assert run(attack) == 0
    assert not json.loads(capsys.readouterr().out)["findings"][0]["violated"]
    with Store.read(tmp_path / "run") as store:
        assert store.pictures(0)["change"].shape == (len(KINDS),), "amounts were attacked, not pixels"
    assert run(["report", out, "--out", str(tmp_path / "page.html")]) == 0
    assert "one after the other in the order stated" in (tmp_path / "page.html").read_text()
    capsys.readouterr()
    assert run([*asked[:-1], str(tmp_path / "other"), "--denoiser", "median"]) == 2
    assert "noise on the inputs themselves" in capsys.readouterr().err
