"""The public edge: arguments, batches, targets, seeds, and what is done once for many inputs."""

import captum.attr
import numpy as np
import pytest
import torch
from torch import nn

from attribound import checks
from attribound.certificates.certificate import Certificate
from attribound.certificates.statements.registry import words
from attribound.certificates.subject import Subject
from attribound.certification.certifier import Certifier, certify, certify_again, certify_batch
from attribound.changes import HiddenWord
from attribound.errors import ArgumentError, FieldError
from attribound.fields import Centred, Clip, Grouped, IntegratedGradients, Pooled, Saliency, Tokens, Unit
from attribound.fields.base import Explanation, Field
from attribound.fields.captum import Captum
from attribound.hashes import input_hash, model_hash
from attribound.noise import Gaussian, UniformBall
from attribound.randomness import Purpose
from attribound.tolerances.ask import tolerance
from tests.problems import AbsFirst, Linear

UNIT = Unit(Saliency(Linear(torch.tensor([3.0, 4.0]))))
X = torch.zeros(2)
NOISE = Gaussian(0.5)


def captum_gradients(model):
    return Captum(captum.attr.InputXGradient(model))


def test_one_input_and_a_batch(noise_model, sample) -> None:
    field = Unit(Saliency(noise_model))
    batch = certify_batch(field, sample[0][:2], [7, 1], noise=NOISE, samples=64, seed=0)
    assert [one.target for one in batch] == [7, 1]
    single = certify(field, sample[0][1], 1, noise=NOISE, samples=64, item=1, seed=0)
    assert single.evidence == batch[1].evidence
    assert np.array_equal(single.attribution, batch[1].attribution)
    assert [one.item for one in batch] == [0, 1]
    assert len(certify_batch(field, sample[0][:1], noise=NOISE, samples=64)) == 1


def test_a_batch_given_as_one_input_is_named(noise_model, sample) -> None:
    with pytest.raises(ArgumentError, match=r"expected one input, got a batch of 2 .*: use certify_batch, or x\[0\]"):
        certify(Unit(Saliency(noise_model)), sample[0][:2], noise=NOISE, samples=64)
    with pytest.raises(ArgumentError, match=r"expected a batch \(inputs, ...\), got shape \(2,\): use certify for one"):
        certify_batch(UNIT, X, 0, noise=NOISE, samples=64)


def test_tabular_inputs_and_numpy() -> None:
    field = Unit(Saliency(nn.Sequential(nn.Linear(6, 3)).eval()))
    assert isinstance(certify(field, torch.zeros(6), noise=NOISE, samples=64), Certificate)
    assert len(certify_batch(field, torch.zeros(4, 6), noise=NOISE, samples=64)) == 4
    ours, theirs = (certify(field, x, noise=NOISE, samples=64) for x in (torch.ones(6), np.ones(6, np.float32)))
    assert ours.evidence == theirs.evidence


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"field": Saliency(AbsFirst())}, FieldError, r"expected a field with a limit, e.g. Unit\(Saliency"),
        ({"x": [1.0, 2.0]}, ArgumentError, "expected `x` to be a tensor, got list"),
        ({"x": torch.zeros(2, dtype=torch.int64)}, ArgumentError, "expected a floating-point `x`, got torch.int64"),
        ({"x": torch.tensor([1.0, float("nan")])}, ArgumentError, "expected a finite `x`"),
        (
            {"x": torch.zeros(3, 5, 7)},
            FieldError,
            r"does not accept one input of shape \(3, 5, 7\) \(as a batch of 1\)",
        ),
        ({"x": torch.zeros(3, 2)}, ArgumentError, r"expected one input, got a batch of 3 \(shape \(3, 2\)\)"),
        ({"noise": 0.5}, ArgumentError, "expected `noise` UniformBall or Gaussian, got float"),
        ({"samples": 0}, ArgumentError, "expected `samples` to be a whole number >= 1, got 0"),
        ({"alpha": 1.5}, ArgumentError, r"expected `alpha` in \(0, 1\), got 1.5"),
        ({"alpha": float("nan")}, ArgumentError, "expected `alpha` to be a number, got nan"),
        ({"seed": -1}, ArgumentError, "expected `seed` to be a whole number >= 0, got -1"),
        ({"seed": 1.5}, ArgumentError, "expected `seed` to be a whole number >= 0, got 1.5"),
        ({"item": -1}, ArgumentError, "expected `item` to be a whole number >= 0, got -1"),
        ({"batch": 0}, ArgumentError, "expected `batch` to be a whole number >= 1"),
        ({"until": 0.8}, ArgumentError, r"expected `until` to be \(cosine, epsilon\).*, got 0.8"),
        ({"until": (1.2, 0.1)}, ArgumentError, r"expected `until's cosine` in \[0, 1\], got 1.2"),
        ({"until": (0.8, 0.0)}, ArgumentError, "expected `until's epsilon` > 0, got 0"),
        ({"target": 5}, ArgumentError, "expected `target` in 0..1, got 5"),
        ({"target": [0, 1, 0]}, ArgumentError, r"expected `target` in 0..1, got \[0, 1, 0\]"),
        ({"noise": Gaussian(0.5, scale=[1.0, 2.0, 3.0])}, ArgumentError, r"expected one unit per feature \(2\), got 3"),
    ],
)
def test_bad_arguments(arguments, error, message) -> None:
    call = {"field": UNIT, "x": X, "target": 0, "noise": NOISE, "samples": 16} | arguments
    field, x, target = call.pop("field"), call.pop("x"), call.pop("target")
    with pytest.raises(error, match=message):
        certify(field, x, target, **call)


def test_one_target_per_input() -> None:
    with pytest.raises(ArgumentError, match=r"expected one `target` per input \(3\), got 2"):
        certify_batch(UNIT, torch.zeros(3, 2), [0, 1], noise=NOISE, samples=16)
    assert [one.target for one in certify_batch(UNIT, torch.zeros(3, 2), 1, noise=NOISE, samples=16)] == [1, 1, 1]


def test_one_feature_is_not_enough() -> None:
    with pytest.raises(ArgumentError, match="expected `x's size` to be a whole number >= 2, got 1"):
        certify(Unit(Saliency(Linear(torch.tensor([3.0])))), torch.zeros(1), 0, noise=NOISE, samples=16)
    with pytest.raises(ArgumentError, match="expected `the map's size` to be a whole number >= 2, got 1"):
        certify(Unit(Grouped(Saliency(Linear(torch.ones(2))), [0, 0])), X, 0, noise=NOISE, samples=16)


def test_training_mode_is_refused() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    with pytest.raises(FieldError, match=r"call model.eval\(\) \(module '1' is training\)"):
        certify(Unit(Saliency(model)), torch.zeros(4), noise=NOISE, samples=16)


# --- seeds


def test_calls_on_different_inputs_share_no_noise_by_default() -> None:
    """Version 0.1 used seed 0 for both: two certificates of one model were false together or not at all."""
    seen: list[torch.Tensor] = []

    class Watching(nn.Module):
        def forward(self, y):
            seen.append(y.detach().clone())
            return torch.stack([y.sum(dim=1), y[:, 0]], dim=1)

    inputs = [torch.zeros(4), torch.full((4,), 0.25)]
    noises = []
    for x in inputs:
        seen.clear()
        certify(Unit(Saliency(Watching())), x, 0, noise=Gaussian(1.0), samples=16)
        noises.append(torch.cat([batch - x for batch in seen if len(batch) > 1 or batch.ndim > 1]))
    first, second = ({tuple(row.tolist()) for row in (noise * 2**10).round()} for noise in noises)
    moved = {row for row in first & second if any(row)}
    assert len(first) > 16
    assert moved == set()
    assert (
        certify(UNIT, inputs[0][:2], 0, noise=NOISE, samples=16).seed
        != certify(UNIT, inputs[1][:2], 0, noise=NOISE, samples=16).seed
    )


def test_the_default_seed_can_be_replayed() -> None:
    field = Unit(Saliency(AbsFirst()))
    x = torch.tensor([0.3, 0.1])
    one = certify(field, x, 0, noise=NOISE, samples=64)
    two = certify(field, x, 0, noise=NOISE, samples=64, seed=one.seed)
    assert one.evidence == two.evidence
    assert one.seed == certify(field, x.clone(), 0, noise=NOISE, samples=16).seed
    again = certify_again(one, field, x, NOISE)
    assert np.array_equal(again.attribution, one.attribution)


def test_seeds_are_taken_whole() -> None:
    """2**64 was 0 in version 0.1."""
    field = Clip(Saliency(lambda y: torch.stack([y.square().sum(dim=1), y[:, 0]], dim=1)), 9.0)
    seeds = [0, 1, 2**31, 2**32, 2**63, 2**64, 2**64 + 1, 2**100]
    maps = {tuple(certify(field, X, 0, noise=NOISE, samples=16, seed=seed).attribution) for seed in seeds}
    assert len(maps) == len(seeds)
    assert certify(field, X, 0, noise=NOISE, samples=16, seed=2**100).seed == 2**100


def test_purposes_do_not_share_their_draws() -> None:
    """What was chosen with one purpose's draws is certified with fresh ones, also under the same seed."""
    field = Clip(Saliency(lambda y: torch.stack([y.square().sum(dim=1), y[:, 0]], dim=1)), 9.0)
    maps = {
        tuple(Certifier(field, noise=NOISE, samples=16, purpose=purpose)(X, 0, seed=3).attribution)
        for purpose in Purpose
    }
    assert len(maps) == len(Purpose)


# --- prepared once


class Counting(nn.Module):
    """Counts how often its weights are hashed."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.hashed = 0

    def state_dict(self, *arguments, **more):
        self.hashed += 1
        return super().state_dict(*arguments, **more)

    def forward(self, y):
        return self.layer(y)


def test_a_certifier_prepares_once() -> None:
    model = Counting().eval()
    certifier = Certifier(Unit(Saliency(model)), noise=NOISE, samples=16, intervals=True)
    certificates = [certifier(torch.full((4,), float(k)), item=k, seed=5) for k in range(4)]
    assert model.hashed == 1
    assert len({one.record.model_sha256 for one in certificates}) == 1
    alone = certify(Unit(Saliency(model)), torch.full((4,), 2.0), noise=NOISE, samples=16, item=2, seed=5)
    assert alone.evidence == certificates[2].evidence


@pytest.mark.parametrize("counted", [True, False])
def test_a_certifier_names_the_weights_that_it_certified(counted) -> None:
    """A model that was trained on between two inputs kept the hash of before; writing to `.data` is not counted."""
    model = nn.Linear(4, 3)
    certifier = Certifier(Unit(Saliency(model)), noise=NOISE, samples=16)
    first = certifier(torch.ones(4))
    with torch.no_grad():
        (model.weight if counted else model.weight.data).add_(1.0)
    second = certifier(torch.ones(4))
    assert first.record.model_sha256 != second.record.model_sha256 == model_hash(model)


class Writing(Field):
    """Sizes of the inputs, taken in place."""

    name = "writing"
    needs_gradients = False

    def __init__(self, model):
        self.model = model

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        return Explanation(inputs.abs_().flatten(1) + 1)


def test_a_field_that_writes_to_its_inputs_has_a_copy() -> None:
    """Classes were counted after it had: all of 938 were the first one, and half of them are."""
    x = torch.tensor([0.05, 0.3])
    certificate = certify(Unit(Writing(Sides())), x, 0, noise=Gaussian(0.5), samples=1000, seed=0)
    assert certificate.prediction_radius == 0
    assert x.tolist() == pytest.approx([0.05, 0.3])
    text = torch.tensor([[-0.05, 0.3], [0.2, 0.4]])
    hidden = tolerance(Unit(Writing(Sides())), text, [HiddenWord()], target=0)["hidden-word"]
    assert hidden.record.facts.kept.values().tolist() == [0, 1]
    assert text.tolist()[0][0] == pytest.approx(-0.05)


def test_cosines_are_said_to_the_last_digit() -> None:
    """0.79999996 was called 0.8, in the place of 0.8 itself."""
    cosines = (0.8, 0.79999996)
    certificate = certify(
        Unit(Saliency(Linear(torch.ones(4)))), torch.ones(4), noise=NOISE, samples=64, cosines=cosines
    )
    about = [line for line in words(certificate) if line.startswith("epsilon at cosine")]
    assert [line.split()[3] for line in about] == ["0.8", "0.79999996"]


class Sides(nn.Module):
    """The first class where the first number is above 0."""

    def forward(self, x):
        first = x.flatten(1)[:, 0]
        return torch.stack([first, -first], dim=1)


class Clamping(nn.Module):
    """Writes to its input, as the first layer of some programs does."""

    def forward(self, x):
        with torch.no_grad():
            x.clamp_(0, 1)
        return torch.stack([(x**2).sum(dim=1), x[:, 0]], dim=1)


@pytest.mark.parametrize("method", [Saliency, lambda model: IntegratedGradients(model, steps=2), captum_gradients])
def test_a_model_that_writes_to_its_input_has_a_copy(method) -> None:
    """The input itself was clamped at the first look: noise, map and hash were those of another."""
    x = torch.tensor([1.8, 0.2, -0.9, 0.5])
    certificate = certify(Unit(method(Clamping())), x, noise=NOISE, samples=64)
    assert x.tolist() == pytest.approx([1.8, 0.2, -0.9, 0.5])
    assert certificate.record.input_sha256 == input_hash(torch.tensor([1.8, 0.2, -0.9, 0.5]))


def test_records_know_their_subject() -> None:
    subject = Subject(model="mnist-cnn", data="mnist-sample")
    field = Clip(Centred(Grouped(Saliency(Linear(torch.ones(4))), [0, 1, 2, 2])), 2.0)
    certificate = Certifier(field, noise=UniformBall(2.0), samples=16, subject=subject)(
        torch.zeros(4), 1, item=9, seed=3, label=0
    )
    known = certificate.record.subject
    assert (known.model, known.data, known.item, known.seed) == ("mnist-cnn", "mnist-sample", 9, 3)
    assert (known.attribution, known.maps, known.bound) == ("saliency", certificate.record.maps, "clip:2.0")
    assert (known.maps[0].partition("@")[0], *known.maps[1:]) == ("grouped:3", "centred")
    assert (known.noise, known.output, known.units) == ("uniform:2.0", "logit", None)
    assert known.model_sha256 == certificate.record.model_sha256 != ""
    assert certificate.record.label == 0


@pytest.mark.parametrize(
    ("field", "shape"),
    [
        (Unit(Pooled(Saliency(nn.Sequential(nn.Flatten(), nn.Linear(64, 3))), size=2)), (2, 2)),
        (Unit(Centred(Pooled(Saliency(nn.Sequential(nn.Flatten(), nn.Linear(64, 3))), 4, of="signed"))), (4, 4)),
    ],
)
def test_maps_with_their_own_shape(field, shape) -> None:
    """The law lives on the 64 inputs, the map on its cells."""
    certificate = certify(field, torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(0)), noise=Gaussian(0.1))
    assert certificate.attribution.shape == shape
    assert certificate.dim == 64
    assert certificate.max_epsilon(0.8) > 0


def test_tokens() -> None:
    class Reader(nn.Module):
        def forward(self, y):
            score = (y * torch.tensor([1.0, 2.0, 3.0])[:, None]).sum(dim=(1, 2))
            return torch.stack([score, -score], dim=1)

    certificate = certify(Unit(Tokens(Saliency(Reader()))), torch.zeros(3, 5), 0, noise=Gaussian(1.0), samples=64)
    assert certificate.attribution.tolist() == pytest.approx((np.array([1, 2, 3]) / 14**0.5).tolist())


def test_a_question_is_stored_with_its_answer(noise_model, sample, tmp_path) -> None:
    field = Unit(Saliency(noise_model))
    asked = certify(field, sample[0][0], noise=NOISE, samples=4096, until=(0.8, 0.3))
    asked.save(tmp_path / "x.json")
    loaded = Certificate.load(tmp_path / "x.json")
    assert (loaded.record.until, loaded.record.budget, loaded.record.stopped) == ((0.8, 0.3), 4096, "proved")
    again = certify_again(loaded, field, sample[0][0], NOISE)
    assert again.evidence == loaded.evidence


def test_random_paths_take_whole_blocks() -> None:
    field = Unit(IntegratedGradients(Linear(torch.ones(4)), steps=5, path="random"))
    certificate = certify(field, torch.ones(4), 0, noise=NOISE, samples=103)
    assert (certificate.samples, certificate.draws) == (100, 20)


def test_arguments_are_checked_at_the_edge_and_seldom_inside(monkeypatch) -> None:
    """Counted: 2,380 checks of arrays in 0.2.0 for this certificate, most of them within the search for epsilons."""
    model = nn.Sequential(nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 3))
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) / 3
    checked, original = [], checks._array
    monkeypatch.setattr(checks, "_array", lambda name, value: checked.append(name) or original(name, value))
    field = Unit(Saliency(model.eval().requires_grad_(False)))
    certificate = certify(field, torch.rand(20, generator=torch.Generator()), 0, noise=Gaussian(0.5), samples=2048)
    assert certificate.max_epsilon(0.8) > 0
    assert len(checked) <= 500
