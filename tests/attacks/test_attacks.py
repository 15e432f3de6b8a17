"""Attacks: the contract of the base, each method's strength, errors."""

from dataclasses import dataclass, replace

import captum.attr
import numpy as np
import pytest
import torch

import attribound as ab
from attribound.attacks import METHODS, score
from attribound.attacks.base import Attack, make_problem
from attribound.attacks.score import rescore
from attribound.errors import ArgumentError, FieldError, UnfitError
from attribound.sampling import Around
from tests.problems import AbsFirst, Linear

QUICK = {"steps": 4, "samples": 8, "rescore_samples": 64}


@pytest.mark.parametrize("noise", [ab.Gaussian(0.5), ab.UniformBall(14.0)], ids=["gaussian", "uniform"])
@pytest.mark.parametrize("method", METHODS)
def test_every_attack_keeps_its_promises(method, noise, noise_model, sample) -> None:
    field, x = ab.Unit(ab.Saliency(noise_model)), sample[0][0]
    one, two = (
        ab.attack(field, x, noise=noise, epsilon=1.5, method=method, restarts=2, seed=5, **QUICK) for _ in range(2)
    )
    assert float(one.delta.double().norm()) <= 1.5
    assert one.label_kept
    assert one.steps == 8
    assert one.method == method
    assert -1 <= one.cosine <= 1
    assert one.cosine <= one.score.cosine_most
    assert torch.equal(one.delta, two.delta), "the same seed must find the same change"


def test_informed_attacks_beat_random_directions(noise_model, sample) -> None:
    field, x = ab.Unit(ab.Saliency(noise_model)), sample[0][2]
    found = {
        method: ab.attack(
            field, x, noise=ab.Gaussian(0.5), epsilon=2.0, method=method, steps=12, samples=64, rescore_samples=512
        ).cosine
        for method in METHODS
    }
    assert found["random"] > 0.98
    assert max(found["direct"], found["ifia"], found["likelihood"]) < 0.985


@pytest.mark.slow
def test_direct_attack_reaches_the_known_strength(noise_model, sample) -> None:
    """sigma 0.5, Unit saliency, epsilon 2.5: a median cosine of 0.80 or less; 0.85 with the fewer draws used here."""
    field = ab.Unit(ab.Saliency(noise_model))
    options = {"noise": ab.Gaussian(0.5), "epsilon": 2.5, "method": "direct", "rescore_samples": 1024}
    cosines = [ab.attack(field, sample[0][k], steps=40, samples=128, **options).cosine for k in range(5)]
    assert np.median(cosines) <= 0.85


def test_ifia_halves_top_k_and_kendall_of_the_standard_model(standard_model, sample) -> None:
    field, options = ab.Saliency(standard_model), {"epsilon": 1.0, "method": "ifia", "steps": 40}
    results = [ab.attack(field, sample[0][k], **options) for k in range(7)]
    assert all(result.label_kept for result in results)
    assert np.median([result.score.top_k(100) for result in results]) <= 0.5
    assert np.median([result.score.kendall for result in results]) <= 0.5


def test_ifia_losses_do_what_they_say(standard_model, sample) -> None:
    field, x = ab.Saliency(standard_model), sample[0][0]
    options = {"epsilon": 1.0, "method": "ifia", "steps": 60}
    wanted = torch.randn(1, 28, 28, generator=torch.Generator().manual_seed(0))
    turned = ab.attack(field, x, loss="targeted", towards=wanted, **options)
    moved = ab.attack(field, x, loss="centre", **options)
    drained = ab.attack(field, x, loss="topk", k=50, **options)

    def towards(result) -> float:
        return float(torch.nn.functional.cosine_similarity(result.score.after, wanted.flatten().double(), dim=0))

    assert towards(turned) > towards(moved) + 0.02
    assert drained.score.top_k(50) < 0.6
    assert moved.cosine < 0.95


def test_smoothed_captum_methods_can_be_attacked_without_gradients(noise_model, sample) -> None:
    field = ab.Unit(ab.Captum(captum.attr.InputXGradient(noise_model)))
    result = ab.attack(field, sample[0][0], noise=ab.Gaussian(0.5), epsilon=1.5, method="likelihood", **QUICK)
    assert result.cosine < 1.0


def test_random_path_fields_can_be_attacked(noise_model, sample) -> None:
    field = ab.Unit(ab.IntegratedGradients(noise_model, steps=4, path="random"))
    result = ab.attack(field, sample[0][0], noise=ab.Gaussian(0.5), epsilon=1.5, method="direct", **QUICK)
    assert result.cosine < 1.0


@dataclass(frozen=True)
class Lucky(Attack):
    """Its random start looks as bad as can be, by luck; then it goes one way at full length."""

    name = "lucky"

    def prepare(self, problem):
        return None

    def climb(self, problem, view, delta, generator):
        return -problem.reference, -problem.epsilon * torch.eye(len(delta))[0]


def test_a_lucky_start_is_no_attack() -> None:
    """It is half as long as allowed, in a random direction: through few draws it may look best, and it was kept."""
    family = Around(ab.Unit(ab.Saliency(AbsFirst())), 0, torch.full((4,), 0.05))
    problem = make_problem(family, ab.Gaussian(0.01), 0.1, samples=16)
    result = Lucky(steps=1, samples=16, rescore_samples=16, keep_label=False).run(problem)
    assert (result.cosine, result.length) == pytest.approx((-1.0, 0.1), rel=1e-4)


def test_labels_may_be_given_up(noise_model, sample) -> None:
    field, x = ab.Unit(ab.Saliency(noise_model)), sample[0][8]
    kept, free = (
        ab.attack(field, x, noise=ab.Gaussian(0.5), epsilon=4.0, method="direct", keep_label=keep, **QUICK)
        for keep in (True, False)
    )
    assert kept.label_kept
    assert float(free.delta.norm()) >= float(kept.delta.norm()) - 1e-3


def test_projection() -> None:
    family = Around(ab.Saliency(AbsFirst()), 0, torch.zeros(2))
    small, large = (make_problem(family, None, epsilon) for epsilon in (1.0, 100.0))
    long = torch.full((2,), 2.0)
    assert 0.99999 < float(small.project(long).norm()) <= 1.0
    assert torch.equal(large.project(long), long)


def test_scores_are_nearly_unbiased() -> None:
    """|y_1| at 0.2 and 0.4: exact maps are parallel, cosine 1; a plain cosine of noisy maps would be below it."""
    field, noise = ab.Unit(ab.Saliency(AbsFirst())), ab.Gaussian(0.5)
    x, delta = torch.tensor([0.2, 0.0], dtype=torch.float64), torch.tensor([0.2, 0.0], dtype=torch.float64)
    family = Around(field, 0, x)
    score = rescore(family, family.at(delta), noise, 2000, seed=1)
    assert score.cosine == pytest.approx(1.0, abs=0.1)
    across = rescore(family, family.at(-2 * delta), noise, 2000, seed=1)
    assert across.cosine == pytest.approx(-1.0, abs=0.1)
    assert across.cosine_most < 0.0, "2,000 draws settle that the map has turned"


def test_the_unchanged_input_is_scored_once_for_all_changes(monkeypatch) -> None:
    """An audit tries many changes of one input: the maps before them are the same."""
    halves, sides = score._halves, []
    monkeypatch.setattr(score, "_halves", lambda *given: sides.append(given[-1]) or halves(*given))
    x, noise = torch.tensor([0.2, 0.0], dtype=torch.float64), ab.Gaussian(0.5)
    problem = make_problem(Around(ab.Unit(ab.Saliency(AbsFirst())), 0, x), noise, 0.1, samples=16)
    attack = METHODS["random"](steps=1, samples=16, rescore_samples=64)
    first, second = attack.run(problem), attack.run(replace(problem, epsilon=0.3))
    assert sides == [0, 1, 1]
    alone = rescore(problem.family, problem.at(second.delta), noise, 64, 0)
    assert (alone.cosine, alone.cosine_most) == (second.cosine, second.score.cosine_most)
    assert not torch.equal(first.score.after, second.score.after)
    attack.run(problem, seed=1)
    assert sides[-2:] == [0, 1], "with other draws it is another map"


LINEAR = ab.Unit(ab.Saliency(Linear(torch.tensor([3.0, 4.0]))))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"epsilon": 0.0}, ArgumentError, "expected `epsilon` > 0, got 0"),
        ({"epsilon": -1.0}, ArgumentError, "expected `epsilon` > 0, got -1"),
        ({"method": "magic"}, ArgumentError, "expected `method` direct, ifia, likelihood, random, got 'magic'"),
        ({"method": "ifia", "k": 3}, ArgumentError, r"expected `k` in 1\.\.2, got 3"),
        ({"method": "ifia", "loss": "best"}, ArgumentError, "expected `loss` 'topk', 'centre' or 'targeted'"),
        ({"method": "ifia", "loss": "targeted"}, ArgumentError, "expected `towards`, the wanted map"),
        (
            {"method": "ifia", "loss": "targeted", "towards": torch.zeros(3)},
            ArgumentError,
            r"expected `towards` of the map's shape \(2,\), got \(3,\)",
        ),
        ({"method": "ifia", "loss": "centre"}, ArgumentError, "expected an image for the centre loss"),
        ({"method": "likelihood"}, ArgumentError, "expected `noise` for the likelihood attack"),
        ({"method": "direct", "speed": 3}, ArgumentError, r"expected options of direct \(steps.*got speed"),
        ({"steps": 0}, ArgumentError, "expected `steps` to be a whole number >= 1"),
        ({"x": torch.zeros(4, 2)}, ArgumentError, r"expected one input, got a batch of 4 \(shape \(4, 2\)\)"),
        (
            {"field": ab.Saliency(lambda y: torch.stack([y[:, 0].detach(), y[:, 1].detach()], 1)), "method": "direct"},
            FieldError,
            "does not depend on its input through differentiable operations",
        ),
        (
            {"field": ab.Captum(captum.attr.Saliency(Linear(torch.ones(2)))), "method": "direct"},
            UnfitError,
            "cannot be differentiated: use an attack that needs no gradient",
        ),
        (
            {"field": ab.Saliency(Linear(torch.ones(2))), "method": "direct"},
            UnfitError,
            "needs a twice differentiable model",
        ),
    ],
)
def test_bad_arguments(arguments, error, message) -> None:
    call = {"field": LINEAR, "x": torch.zeros(2), "epsilon": 0.5} | arguments
    field, x = call.pop("field"), call.pop("x")
    with pytest.raises(error, match=message):
        ab.attack(field, x, 0, **call)
