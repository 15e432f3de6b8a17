"""Captum's and shap's methods that need no gradients, on a function that has none."""

import numpy as np
import pytest
import torch

import attribound as ab
from attribound.errors import FieldError
from attribound.models import Scores

WEIGHTS = np.array([[1.0, -1.0], [0.5, 2.0], [-1.0, 0.3]])
X = torch.tensor([1.0, -0.5, 0.25], dtype=torch.float64)
FEW = {"noise": ab.Gaussian(0.1), "samples": 32, "seed": 0}


def predict(rows: np.ndarray) -> np.ndarray:
    return rows @ WEIGHTS


@pytest.mark.parametrize("name", ["FeatureAblation", "Occlusion", "ShapleyValueSampling", "KernelShap", "Lime"])
@pytest.mark.filterwarnings("ignore")
def test_captum_on_a_function(name: str) -> None:
    import captum.attr

    arguments = {
        "Occlusion": {"sliding_window_shapes": (1,)},
        "KernelShap": {"n_samples": 12},
        "Lime": {"n_samples": 9},
    }
    field = ab.Captum(getattr(captum.attr, name)(Scores(predict)), **arguments.get(name, {}))
    assert not field.needs_gradients
    assert field.random == (name in ("ShapleyValueSampling", "KernelShap", "Lime"))
    certificate = ab.certify(ab.Unit(field), X, 0, **FEW)
    assert certificate.samples == 32
    if name in ("FeatureAblation", "Occlusion", "ShapleyValueSampling"):  # of a linear function: weight times value
        expected = WEIGHTS[:, 0] * X.numpy()
        np.testing.assert_allclose(field.explain(X[None], 0).maps[0], expected, rtol=1e-6, atol=1e-7)


def test_gradient_methods_of_captum_say_that_they_need_them() -> None:
    from captum.attr import NoiseTunnel, Occlusion, Saliency

    network = torch.nn.Linear(3, 2)
    assert ab.Captum(Saliency(network)).needs_gradients
    assert ab.Captum(NoiseTunnel(Saliency(network))).needs_gradients
    assert not ab.Captum(NoiseTunnel(Occlusion(network))).needs_gradients


@pytest.mark.filterwarnings("ignore")
def test_explainers_of_shap() -> None:
    shap = pytest.importorskip("shap")
    background = np.zeros((1, 3))
    exact = ab.Shap(shap.explainers.Exact(predict, background))
    drawn = ab.Shap(shap.explainers.Permutation(predict, background))
    assert (exact.name, exact.random, drawn.random) == ("shap-Exact", False, True)
    expected = WEIGHTS[:, 0] * X.numpy()
    for field in (exact, drawn):
        np.testing.assert_allclose(field.explain(X[None], 0).maps[0], expected, atol=1e-6)
    certificate = ab.certify(ab.Unit(exact), X, **(FEW | {"samples": 256}))
    assert certificate.max_epsilon(0.5) > 0
    assert certificate.prediction == int(predict(X[None].numpy()).argmax())
    assert certificate.record.model_sha256 == ""
    with pytest.raises(FieldError, match="shap-Exact explains 2 classes, not class 2"):
        exact.explain(X[None], 2)


def test_what_is_no_explainer_is_refused() -> None:
    with pytest.raises(FieldError, match="expected one of shap's explainers, got function"):
        ab.Shap(predict)
