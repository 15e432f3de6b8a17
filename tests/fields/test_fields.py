"""Saliency, integrated gradients, the Captum adapter and the wrappers, on problems with known answers."""

import captum.attr
import numpy as np
import pytest
import torch
from torch import nn

from attribound.certificates.verify import verify_record
from attribound.certification.certifier import certify
from attribound.errors import ArgumentError, FieldError
from attribound.fields import Absolute, Grouped, IntegratedGradients, Saliency, Scaled, Unit
from attribound.fields.captum import Captum
from attribound.models import Logits
from attribound.noise import Gaussian
from tests.problems import AbsFirst, Linear, Quadratic

WEIGHTS = torch.tensor([3.0, -4.0, 0.0, 1.0], dtype=torch.float64)


def quadratic() -> Quadratic:
    half = torch.arange(16.0, dtype=torch.float64).view(4, 4) / 10
    return Quadratic(half + half.T)


def inputs(count: int = 5) -> torch.Tensor:
    return torch.randn(count, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def small_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 3)).eval()


def test_saliency_of_logits() -> None:
    model = quadratic()
    y = inputs()
    assert torch.allclose(Saliency(model).attribute(y, 0), y @ model.matrix)


def test_saliency_of_probabilities() -> None:
    y = inputs()
    p = torch.sigmoid(y @ WEIGHTS)
    expected = (p * (1 - p))[:, None] * WEIGHTS
    assert torch.allclose(Saliency(Linear(WEIGHTS), output="probability").attribute(y, 0), expected)


@pytest.mark.parametrize("steps", [1, 4, 16])
def test_integrated_gradients_of_a_quadratic(steps: int) -> None:
    """The midpoint rule is exact for linear integrands: IG = (y - b) * A (y + b) / 2."""
    model, y, base = quadratic(), inputs(), torch.tensor([0.1, 0.2, -0.3, 0.5], dtype=torch.float64)
    field = IntegratedGradients(model, baseline=base, steps=steps)
    assert torch.allclose(field.attribute(y, 0), (y - base) * ((y + base) / 2 @ model.matrix))


def test_integrated_gradients_are_complete() -> None:
    model, y = small_net(), torch.rand(3, 1, 4, 4)
    values = IntegratedGradients(model, baseline=0.25, steps=256).attribute(y, 1)
    gain = model(y)[:, 1] - model(torch.full_like(y, 0.25))[:, 1]
    assert torch.allclose(values.flatten(1).sum(1), gain, atol=1e-2)


def test_random_path_has_the_same_mean() -> None:
    """Under the same inputs, the mean over many random positions is the integral."""
    model, y = small_net(), torch.rand(1, 1, 4, 4)
    generator = torch.Generator().manual_seed(2)
    random = IntegratedGradients(model, steps=8, path="random")
    many = random.attribute(y.expand(8 * 2000, -1, -1, -1), 2, generator=generator).view(2000, 8, -1).mean(1)
    exact = IntegratedGradients(model, steps=512).attribute(y, 2).flatten()
    error = many.std(0) / 2000**0.5
    # 16 coordinates, each within five standard errors (plus the quadrature's own error).
    assert ((many.mean(0) - exact).abs() <= 5 * error + 1e-3).all()


def test_random_path_is_stratified() -> None:
    """With f = y_1^2 / 2 the integrand at t is t y_1^2: rows show their positions, one in each stratum."""
    matrix = torch.zeros(4, 4, dtype=torch.float64)
    matrix[0, 0] = 1.0
    field = IntegratedGradients(Quadratic(matrix), steps=5, path="random")
    y = torch.ones(20, 4, dtype=torch.float64)
    positions = field.attribute(y, 0, generator=torch.Generator().manual_seed(0))[:, 0]
    assert ((positions * 5).floor() == torch.arange(20) % 5).all()


METHODS = {
    "Saliency": (captum.attr.Saliency, {"abs": False}),
    "IntegratedGradients": (captum.attr.IntegratedGradients, {"n_steps": 8}),
    "InputXGradient": (captum.attr.InputXGradient, {}),
    "DeepLift": (captum.attr.DeepLift, {}),
    "Occlusion": (captum.attr.Occlusion, {"sliding_window_shapes": (1, 2, 2), "strides": (1, 2, 2)}),
    "GradientShap": (captum.attr.GradientShap, {"baselines": torch.zeros(4, 1, 4, 4), "n_samples": 2}),
}


@pytest.mark.parametrize("name", METHODS)
def test_any_captum_method_certifies(name: str) -> None:
    method, arguments = METHODS[name]
    field = Unit(Captum(method(small_net()), **arguments))
    x = torch.rand(1, 4, 4, generator=torch.Generator().manual_seed(3))
    numpy_before, torch_before = np.random.get_state()[1].copy(), torch.random.get_rng_state()
    one, two = (certify(field, x, 1, noise=Gaussian(0.1), samples=256, seed=4) for _ in range(2))
    assert one.record.attribution == f"captum-{name}"
    assert one.norm_lower == two.norm_lower, "the same seed must give the same draws, also for random methods"
    assert 0 < one.max_epsilon(0.8) < 0.5
    assert np.array_equal(numpy_before, np.random.get_state()[1])
    assert torch.equal(torch_before, torch.random.get_rng_state())


def test_methods_that_share_randomness_run_row_by_row() -> None:
    """ShapleyValueSampling draws one permutation per call; the rows of one call would not be independent draws."""

    class Product(nn.Module):
        def forward(self, y):
            return torch.stack([y[:, 0] * y[:, 1], y[:, 0] * 0], dim=1)

    field = Captum(captum.attr.ShapleyValueSampling(Product()), n_samples=1)
    maps = field.attribute(torch.ones(64, 2), 0, generator=torch.Generator().manual_seed(0))
    first = int((maps[:, 0] > 0.5).sum())
    assert 12 <= first <= 52  # each row gives all credit to one of the two features; 64 fair coins, 1e-7 false alarms
    # The exact smoothed map of the unit field is about (1/2, 1/2).
    bounds = [
        certify(Unit(field), torch.ones(2), 0, noise=Gaussian(0.01), samples=256, seed=k).norm_lower for k in range(3)
    ]
    assert max(bounds) <= 0.5**0.5 + 1e-3


def test_captum_failures_are_one_line() -> None:
    with pytest.raises(FieldError, match="FeaturePermutation mixes the rows of a batch"):
        Captum(captum.attr.FeaturePermutation(small_net()))
    field = Captum(captum.attr.Occlusion(small_net()), sliding_window_shapes=(1, 9, 9))
    with pytest.raises(FieldError, match="captum-Occlusion failed: "):
        field.attribute(torch.rand(3, 1, 4, 4), 0)


def test_a_layer_method_is_called_by_its_layer() -> None:
    model, x = small_net(), torch.rand(1, 4, 4)
    names = [Captum(captum.attr.LayerGradientXActivation(model, layer)).name for layer in (model[1], model[2])]
    assert names == ["captum-LayerGradientXActivation:1", "captum-LayerGradientXActivation:2"]
    field = Captum(captum.attr.LayerGradientXActivation(lambda y: model(y), model[1]))
    assert field.name == "captum-LayerGradientXActivation:Linear"
    found = certify(
        Unit(Captum(captum.attr.LayerGradientXActivation(model, model[1]))), x, 1, noise=Gaussian(0.1), samples=64
    )
    assert found.record.attribution == found.record.subject.attribution == "captum-LayerGradientXActivation:1"
    assert verify_record(found).passed


def test_a_method_that_explains_no_class() -> None:
    model, y = small_net(), torch.rand(3, 1, 4, 4)
    field = Captum(captum.attr.LayerActivation(model, model[2]))
    assert field.name == "captum-LayerActivation:2"
    assert torch.equal(field.attribute(y, 0), model[:3](y))
    assert torch.equal(field.attribute(y, 1), model[:3](y))
    tunnel = Captum(captum.attr.NoiseTunnel(captum.attr.Saliency(model)), nt_samples=2, stdevs=1e-9)
    assert torch.allclose(tunnel.attribute(y, 1), Saliency(model).attribute(y, 1).abs(), atol=1e-6)


class Dictionary(nn.Module):
    """A model that returns its logits in a mapping, as transformers' models do."""

    def __init__(self) -> None:
        super().__init__()
        self.net = small_net()

    def forward(self, y):
        return {"logits": self.net(y)}


@pytest.mark.parametrize("method", [captum.attr.Saliency, captum.attr.DeepLift, captum.attr.FeatureAblation])
def test_captum_is_told_how_to_read_a_mapping(method) -> None:
    model, y = Dictionary().eval(), torch.rand(3, 1, 4, 4)
    with pytest.raises(FieldError, match=r"got dict: give the method attribound\.models\.Logits\(model\) in place of"):
        Captum(method(model)).attribute(y, 1)
    assert torch.equal(Captum(method(Logits(model))).attribute(y, 1), Captum(method(model.net)).attribute(y, 1))


def test_relevance_of_a_layer_without_a_rule() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(16, 8), nn.ReLU()), nn.Linear(8, 3)).eval()
    for layer in (model[0], model[0][1]):
        with pytest.raises(FieldError, match=r"captum-LayerLRP:0.* failed: Captum's LRP has no rule for this layer"):
            Captum(captum.attr.LayerLRP(model, layer)).attribute(torch.rand(2, 16), 1)


def test_captum_agrees_with_ours() -> None:
    model, y = small_net(), torch.rand(4, 1, 4, 4)
    theirs = Captum(captum.attr.Saliency(model), abs=False).attribute(y, 1)
    assert torch.allclose(theirs, Saliency(model).attribute(y, 1))
    theirs = Captum(captum.attr.IntegratedGradients(model), n_steps=16, method="riemann_middle").attribute(y, 1)
    assert torch.allclose(theirs, IntegratedGradients(model, steps=16).attribute(y, 1), atol=1e-6)


SALIENCY = Saliency(AbsFirst())


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Saliency(AbsFirst(), output="loss"), ArgumentError, "expected `output` 'logit' or 'probability'"),
        (
            lambda: IntegratedGradients(AbsFirst(), steps=0),
            ArgumentError,
            "expected `steps` to be a whole number >= 1",
        ),
        (lambda: IntegratedGradients(AbsFirst(), path="curved"), ArgumentError, "expected `path` 'quadrature' or"),
        (lambda: Captum(AbsFirst()), FieldError, "expected a captum.attr method, got AbsFirst"),
        (lambda: SALIENCY.attribute(inputs(), 7), ArgumentError, "expected `target` in 0..1, got 7"),
        (
            lambda: IntegratedGradients(AbsFirst(), baseline=torch.zeros(3)).attribute(inputs(), 0),
            ArgumentError,
            r"expected a `baseline` of shape \(4,\), got \(3,\)",
        ),
        (
            lambda: IntegratedGradients(AbsFirst(), path="random").attribute(inputs(16), 0),
            ArgumentError,
            "expected a `generator` for path='random'",
        ),
        (
            lambda: IntegratedGradients(AbsFirst(), path="random").attribute(inputs(5), 0, generator=torch.Generator()),
            ArgumentError,
            "expected rows in blocks of 16 for path='random', got 5",
        ),
        (
            lambda: Saliency(lambda y: AbsFirst()(y.detach())).attribute(inputs(), 0),
            FieldError,
            "does not depend on its input through differentiable operations",
        ),
        (
            lambda: Saliency(lambda y: y.sum(0)).attribute(inputs(), 0),
            FieldError,
            r"expected the model to map 5 inputs to logits \(5, classes\), got a tensor of shape \(4,\)",
        ),
        (
            lambda: Captum(captum.attr.Saliency(small_net())).attribute(torch.rand(1, 16), 0, create_graph=True),
            FieldError,
            "captum-Saliency cannot be differentiated",
        ),
    ],
)
def test_bad_arguments(make, error, message) -> None:
    with pytest.raises(error, match=message):
        make()


def test_records_tell_integrated_gradients_apart() -> None:
    """Another baseline or other steps are another explanation; the name alone is that of the command line."""
    model = small_net()
    names = [
        IntegratedGradients(model, **settings).name
        for settings in (
            {},
            {"baseline": torch.tensor(0.0)},
            {"baseline": 0.5},
            {"baseline": torch.zeros(1, 8, 8)},
            {"steps": 8},
            {"steps": 8, "path": "random"},
        )
    ]
    assert names[:2] == ["ig", "ig"]
    assert len(set(names[1:])) == 5
    assert all(name.startswith(("ig@", "ig-random@")) for name in names[2:])


def test_records_tell_units_of_the_map_from_those_of_the_noise() -> None:
    x, model = torch.rand(4), torch.nn.Linear(4, 3).eval()
    units, own = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0]
    found = {
        (noise.scale is None, scale[-1]): certify(
            Unit(Absolute(Scaled(Saliency(model), scale))), x, noise=noise, samples=16
        ).record
        for noise in (Gaussian(0.5), Gaussian(0.5, scale=units))
        for scale in (units, own)
    }
    assert found[False, 4.0].maps == found[False, 4.0].subject.maps == ("scaled", "abs")
    assert found[False, 5.0].maps == found[True, 5.0].maps != found[True, 4.0].maps
    assert all(one.maps[0].startswith("scaled@") for key, one in found.items() if key != (False, 4.0))


def test_what_a_name_holds_a_fingerprint_of_cannot_be_written_to() -> None:
    """It would be another explanation under the same name."""
    model, points = small_net()[1], torch.rand(3, 16)
    baseline, groups = torch.zeros(16), torch.arange(16) % 4
    for given, field in (
        (baseline, IntegratedGradients(model, baseline=baseline, steps=2)),
        (groups, Grouped(Saliency(model), groups)),
    ):
        before = field.attribute(points, 0)
        given[:2] += 1
        assert torch.equal(field.attribute(points, 0), before)
