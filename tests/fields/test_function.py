"""Functions as fields: any callable certifies, and whatever is wrong with one is said in a line."""

import hashlib
import itertools

import numpy as np
import pytest
import torch
from torch import nn

import attribound as ab
from attribound.errors import ArgumentError, FieldError, UnfitError
from attribound.hashes import input_hash, model_hash
from attribound.models.functions import Scores
from tests.problems import AbsFirst

X = torch.tensor([0.6, 0.1], dtype=torch.float64)
NOISE = ab.Gaussian(0.5)
FEW = {"noise": NOISE, "samples": 64, "seed": 0}


def slopes(rows: np.ndarray) -> np.ndarray:
    """The gradient of |y_1|, by hand."""
    return np.stack([np.sign(rows[:, 0]), np.zeros(len(rows))], axis=1)


def bends(rows: np.ndarray) -> np.ndarray:
    """A map that turns with the input."""
    return rows.copy()


def scores(rows: np.ndarray) -> np.ndarray:
    return np.stack([np.abs(rows[:, 0]), rows[:, 1]], axis=1)


def function(explain=slopes, predict=scores, **options) -> ab.Unit:
    return ab.Unit(ab.Function(explain, predict, name="mine", **options))


def test_a_function_is_certified_like_the_gradient_that_it_computes() -> None:
    by_hand = ab.certify(function(), X, 0, noise=NOISE, samples=512, seed=0)
    by_autograd = ab.certify(ab.Unit(ab.Saliency(AbsFirst())), X, 0, noise=NOISE, samples=512, seed=0)
    assert by_hand.record.attribution == "mine"
    assert by_hand.norm_lower == by_autograd.norm_lower
    assert by_hand.max_epsilon(0.8) == by_autograd.max_epsilon(0.8) > 0
    np.testing.assert_array_equal(by_hand.attribution, by_autograd.attribution)


def test_torch_functions_get_tensors_and_may_be_told_the_target() -> None:
    seen = []

    def explain(rows: torch.Tensor, target: int) -> torch.Tensor:
        seen.append((type(rows), target))
        return torch.stack([rows[:, 0].sign(), torch.zeros(len(rows))], dim=1)

    field = function(explain, lambda rows: torch.stack([rows[:, 0].abs(), rows[:, 1]], dim=1), takes="torch")
    certificate = ab.certify(field, X, 0, noise=NOISE, samples=512, seed=0)
    assert certificate.norm_lower == ab.certify(function(), X, 0, noise=NOISE, samples=512, seed=0).norm_lower
    assert set(seen) == {(torch.Tensor, 0)}


def test_probabilities_name_the_class_and_are_not_explained() -> None:
    def shares(rows: np.ndarray) -> np.ndarray:
        logits = np.exp(scores(rows) - scores(rows).max(axis=1, keepdims=True))
        return logits / logits.sum(axis=1, keepdims=True)

    assert ab.certify(function(predict=shares), X, **FEW).prediction == 0
    with pytest.raises(FieldError, match="got rows of probabilities that sum to 1"):
        ab.certify(ab.Unit(ab.Captum(_ablation(Scores(shares)))), X, **FEW)
    with pytest.raises(FieldError, match=r"got one number in \[0, 1\] everywhere"):
        ab.certify(function(predict=lambda rows: shares(rows)[:, 0]), X, **FEW)


def _ablation(model: nn.Module):
    from captum.attr import FeatureAblation

    return FeatureAblation(model)


COUNTER = itertools.count()


@pytest.mark.parametrize(
    ("explain", "message"),
    [
        (lambda rows: slopes(rows)[:-1], r"expected mine to return one map per row \(\d+, ...\), got shape"),
        (lambda rows: rows[:, 0], r"expected mine to return one map per row"),
        (lambda rows: slopes(rows) * np.nan, "expected mine to return finite numbers, got NaN or infinity in row 0"),
        (lambda rows: slopes(rows) + next(COUNTER), "got another on the second call: if it is random"),
        (lambda rows: "maps", "expected mine to return an array of numbers, got str"),
        (lambda rows: rows["amount"], "mine failed: IndexError"),
    ],
)
def test_what_is_wrong_with_a_function_is_said_in_a_line(explain, message: str) -> None:
    with pytest.raises(FieldError, match=message) as caught:
        ab.certify(ab.Clip(function(explain).base, 10.0), X, **FEW)
    assert "\n" not in str(caught.value)


def test_rows_that_see_each_other_come_one_by_one() -> None:
    """Maps of rows that share a batch are seen; alone each row is a function of itself."""
    together = function(lambda rows: slopes(rows) * len(rows) + np.array([[0.0, 1.0]]))
    certificate = ab.certify(together, X, **FEW)
    alone = ab.certify(function(lambda rows: slopes(rows) + np.array([[0.0, 1.0]])), X, **FEW)
    np.testing.assert_allclose(certificate.attribution, alone.attribution)


@pytest.mark.parametrize(
    ("predict", "message"),
    [
        (lambda rows: scores(rows)[:-1], "expected the model to map 1 inputs to logits"),
        (lambda rows: scores(rows).argmax(axis=1), "return them before argmax"),
        (lambda rows: scores(rows) + next(COUNTER) * np.array([1, -1]), "or from call to call"),
    ],
)
def test_what_is_wrong_with_a_prediction_is_said_in_a_line(predict, message: str) -> None:
    with pytest.raises(FieldError, match=message):
        ab.certify(function(predict=predict), X, 0, **FEW)


def test_a_map_keeps_its_shape() -> None:
    field = ab.Function(lambda rows: np.ones((len(rows), len(rows))), scores)
    field.explain(X.expand(2, 2), 0)
    with pytest.raises(FieldError, match=r"maps of shape \(2,\) as before, got \(3,\)"):
        field.explain(X.expand(3, 2), 0)


def test_the_function_may_spoil_its_rows() -> None:
    def spoil(rows: np.ndarray) -> np.ndarray:
        maps = slopes(rows)
        rows[:] = np.nan
        return maps

    spoilt = ab.certify(function(spoil), X, **FEW)
    assert spoilt.norm_lower == ab.certify(function(), X, **FEW).norm_lower


# --- random functions


def shaken(rows: np.ndarray, seed: int) -> np.ndarray:
    return slopes(rows) + np.random.default_rng(seed).normal(size=rows.shape)


def test_a_random_function_is_certified_without_gradients() -> None:
    first, second = (ab.certify(function(shaken, random=True), X, **FEW) for _ in range(2))
    assert first.norm_lower == second.norm_lower, "its randomness follows from the seed"
    assert first.norm_lower <= ab.certify(function(), X, **FEW).norm_lower


def one_chance(rows: np.ndarray, seed: int) -> np.ndarray:
    return slopes(rows) + np.random.default_rng(seed).normal(size=(1, 2))


def of_the_batch(rows: np.ndarray, seed: int) -> np.ndarray:
    return shaken(rows, seed) + rows.mean(axis=0)


def unseeded(rows: np.ndarray, seed: int) -> np.ndarray:
    return shaken(rows, next(COUNTER))


@pytest.mark.parametrize(
    ("explain", "message"),
    [
        (one_chance, "shares its random numbers within a batch"),
        (of_the_batch, "changes with the batch around it"),
        (unseeded, "another on the second call: draw from `seed` alone"),
        (slopes, r"expected explain\(rows, seed\) of a random mine"),
    ],
)
def test_random_functions_are_probed_for_rows_without_autograd(explain, message: str) -> None:
    if explain is of_the_batch:  # row by row it is a function of one row
        assert ab.certify(function(explain, random=True), X, **FEW).samples == 64
        return
    with pytest.raises(FieldError, match=message):
        ab.certify(function(explain, random=True), X, **FEW)


# --- missing cells


def test_missing_cells_stay_missing_under_noise() -> None:
    seen = []

    def explain(rows: np.ndarray) -> np.ndarray:
        seen.append(rows)
        return np.nan_to_num(slopes(rows))

    field = function(explain, lambda rows: np.nan_to_num(scores(rows)), missing=True)
    missing = torch.tensor([0.6, torch.nan], dtype=torch.float64)
    certificate = ab.certify(field, missing, **FEW)
    assert all(np.isnan(rows[:, 1]).all() and np.isfinite(rows[:, 0]).all() for rows in seen)
    assert certificate.norm_lower == ab.certify(function(), X, 0, **FEW).norm_lower
    turning = function(lambda rows: np.nan_to_num(bends(rows)), lambda rows: np.nan_to_num(scores(rows)), missing=True)
    attacked = ab.attack(turning, torch.cat([X, missing[1:]]), 0, epsilon=0.1, method="random", steps=3, samples=16)
    assert 0 < attacked.length <= 0.1, "a missing cell does not count"
    with pytest.raises(ArgumentError, match="expected a finite `x`, got NaN"):
        ab.certify(function(), missing, **FEW)
    with pytest.raises(ArgumentError, match="expected a finite `x`, got NaN or infinity"):
        ab.certify(field, torch.tensor([0.6, torch.inf]), **FEW)


def test_all_missing_cells_have_the_same_hash() -> None:
    """A NaN has many bit patterns."""
    values = np.array([0x7FC00000, 0xFFC00000], np.uint32).view(np.float32)
    assert input_hash(torch.from_numpy(values[:1])) == input_hash(torch.from_numpy(values[1:]))


# --- what pins a function


def test_a_bare_function_has_no_hash_and_a_pinned_one_its_files() -> None:
    sha256 = hashlib.sha256(b"weights").hexdigest()
    assert ab.certify(function(), X, **FEW).record.model_sha256 == ""
    assert ab.certify(function(sha256=sha256), X, **FEW).record.model_sha256 == sha256
    with pytest.raises(ArgumentError, match="expected `sha256` of 64 hexadecimal digits, got 'abc'"):
        function(sha256="abc")


def test_a_function_inside_a_network_counts_in_its_hash() -> None:
    first, second = (nn.Sequential(Scores(scores, sha256=digit * 64), nn.ReLU()) for digit in "01")
    assert len({model_hash(first), model_hash(second), ""}) == 3
    assert model_hash(nn.Sequential(Scores(scores), nn.Linear(2, 2))) == "", "nothing pins one of its parts"


# --- what needs gradients


def test_gradients_are_refused_with_what_does_work() -> None:
    without = "without gradients there are Function, TreeShap, Shap, and Captum's FeatureAblation"
    for field in (ab.Saliency(Scores(scores)), ab.IntegratedGradients(Scores(scores), baseline=0.0)):
        with pytest.raises(FieldError, match=without):
            ab.certify(ab.Unit(field), X, **FEW)
    with pytest.raises(FieldError, match="mine cannot be differentiated"):
        function().explain(X[None], 0, create_graph=True)


@pytest.mark.parametrize("method", ["ifia", "direct"])
def test_attacks_with_gradients_name_those_without(method: str) -> None:
    with pytest.raises(UnfitError, match="mine has no gradients; without gradients there are likelihood and random"):
        ab.attack(function(), X, noise=NOISE, epsilon=0.1, method=method, steps=1, samples=8, rescore_samples=16)


@pytest.mark.parametrize("method", ["random", "likelihood"])
def test_attacks_without_gradients_attack_a_function(method: str) -> None:
    options = {"steps": 4, "samples": 64, "rescore_samples": 512, "keep_label": False}
    result = ab.attack(function(bends), X, noise=NOISE, epsilon=1.0, method=method, **options)
    assert 0 < result.length <= 1.0
    assert result.cosine < 0.95


def test_wrappers_hand_on_what_a_field_needs() -> None:
    field = ab.Unit(ab.Centred(ab.Function(slopes, scores, missing=True)))
    assert (field.needs_gradients, field.takes_missing, field.explains_scores) == (False, True, False)
    assert ab.Unit(ab.Saliency(AbsFirst())).needs_gradients
