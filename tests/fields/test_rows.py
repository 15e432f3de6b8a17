"""Rows that do not see each other: models are refused, methods that couple rows run row by row."""

import math

import captum.attr
import pytest
import torch
from torch import nn

from attribound.certification.certifier import Certifier, certify
from attribound.errors import FieldError
from attribound.fields import Centred, Clip, IntegratedGradients, Proved, Saliency, Unit
from attribound.fields.base import Explanation, Field
from attribound.fields.captum import Captum
from attribound.fields.families import Around
from attribound.fields.rows import RowByRow, independent, probe_rows
from attribound.noise import Gaussian
from tests.problems import AbsFirst, Linear

SELF = "expected a model whose answer for an input is always the same, whatever else is in the batch"


class BatchStatistics(nn.Module):
    """The sign of the gradient depends on the mean of the batch: with it, false certificates came out half the time."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4, affine=False, track_running_stats=False)

    def forward(self, y):
        mean = (y - self.norm(y)).mean(dim=1)
        return torch.stack([torch.tanh(1e4 * mean).detach() * y.sum(dim=1), y[:, 0]], dim=1)


class BatchCentred(nn.Module):
    def forward(self, y):
        y = y - y.mean(dim=0, keepdim=True)
        return torch.stack([y.sum(dim=1), y[:, 0]], dim=1)


class Coin(nn.Module):
    """One coin per call, shared by all rows."""

    def forward(self, y):
        sign = 1.0 if torch.rand(()) < 0.5 else -1.0
        return torch.stack([sign * y.sum(dim=1), y[:, 0]], dim=1)


class Offset(nn.Module):
    """Logits that all carry a large constant, and a sign that the mean of the batch decides."""

    def __init__(self, offset: float, strength: float = 1.0) -> None:
        super().__init__()
        self.offset, self.strength = offset, strength

    def forward(self, y):
        score = self.strength * torch.tanh(1e4 * y.mean()).detach() * y.sum(dim=1)
        return torch.stack([score, y[:, 0]], dim=1) + self.offset


class CommonCoupling(nn.Module):
    """All classes share a part that sees the whole batch: it cancels in every comparison of classes, not in a logit."""

    def __init__(self, offset: float = 0.0) -> None:
        super().__init__()
        self.offset = offset

    def forward(self, y):
        common = torch.tanh(1e4 * y.mean()).detach() * y.sum(dim=1) + self.offset
        return torch.stack([common, common + 0.01 * y[:, 0]], dim=1)


def run(model, wrap=Saliency, dtype=torch.float32, **options):
    x = torch.full((4,), 0.3, dtype=dtype)
    return certify(Unit(wrap(model)), x, 0, noise=Gaussian(1.0), samples=64, **options)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BatchStatistics().eval(), "module 'norm' normalises over the batch"),
        (lambda y: BatchCentred()(y), SELF),
        (BatchCentred(), SELF),
        (Coin(), SELF),
        (lambda y: nn.functional.dropout(Linear(torch.ones(4))(y), 0.5), SELF),
        (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), r"call model.eval\(\)"),
        (Offset(0.0), SELF),
        (Offset(1000.0), SELF),
        (Offset(-1e5), SELF),
    ],
    ids=["untracked batch norm", "wrapped", "centred", "coin", "functional dropout", "training", "0", "1000", "-1e5"],
)
def test_models_whose_rows_see_each_other_are_refused(model, message) -> None:
    torch.manual_seed(0)
    with pytest.raises(FieldError, match=message):
        run(model)


def test_a_common_offset_hides_nothing() -> None:
    """Version 0.1 compared logits relative to the largest: beside 1,000, a flipped sign is rounding."""
    for offset in (0.0, 1e3):
        with pytest.raises(FieldError, match=SELF):
            run(Offset(offset, strength=0.1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_hides_nothing(dtype) -> None:
    """Version 0.1 allowed bfloat16 a fifth of the largest logit."""
    with pytest.raises(FieldError, match=SELF):
        run(Offset(0.0), dtype=dtype)

    class Slightly(nn.Module):
        """A tenth of the map turns over with the batch."""

        def forward(self, y):
            score = y.sum(dim=1) * (1 + 0.1 * torch.sign(y.float().mean()).to(y.dtype).detach())
            return torch.stack([score, -score], dim=1)

    with pytest.raises(FieldError, match=SELF):
        run(Slightly(), dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_ordinary_models_pass_in_batches(dtype) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 2)).eval()
    certifier = Certifier(Unit(Saliency(model.to(dtype))), noise=Gaussian(1.0), samples=64)
    assert certifier(torch.full((4,), 0.3, dtype=dtype), 0).samples == 64
    assert isinstance(certifier.field.base, Saliency), "not row by row"


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_a_coupling_common_to_all_classes_is_taken_out_row_by_row(offset) -> None:
    """Each row alone is a well-defined field, so that is what is sampled."""
    certifier = Certifier(Unit(Saliency(CommonCoupling(offset))), noise=Gaussian(1.0), samples=64)
    certificate = certifier(torch.full((4,), 0.3), 0, seed=0)
    assert isinstance(certifier.field.base, RowByRow)
    # Alone, the map is the sign of the row's mean times ones: the exact smoothed map has norm erf(0.6 / sqrt 2) = 0.45.
    assert certificate.norm < 0.8


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_a_random_path_is_taken_out_point_by_point(offset) -> None:
    """A block of rows is one draw there; alone, a point's slopes are all the sign of its own mean."""
    slow = probed(Unit(IntegratedGradients(CommonCoupling(offset), steps=4, path="random")), 4)
    generator = torch.Generator().manual_seed(1)
    points = torch.randn(8, 4, generator=generator)
    alone = points * points.mean(dim=1, keepdim=True).sign()
    maps = slow.attribute(points, 0, generator=generator)
    assert torch.allclose(maps, (alone / alone.norm(dim=1, keepdim=True)).double(), atol=1e-5)


class Blocks(Field):
    """Saliency that calls the mean of four rows one draw, for no reason."""

    name, block = "blocks", 4

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        return Saliency(self.model).explain(inputs, target, create_graph=create_graph)


def test_other_blocks_cannot_be_taken_out_and_are_refused() -> None:
    match = "gradients of one input that do not change with the batch around it: blocks draws blocks of 4"
    with pytest.raises(FieldError, match=match):
        run(CommonCoupling(), wrap=Blocks)


WEIGHTS = torch.tensor([[9.45, -0.65], [7.83, -0.83], [3.84, -0.48]], dtype=torch.float64)
BIAS = torch.tensor([1.05, -0.67, -2.39], dtype=torch.float64)


def softmax_model() -> nn.Module:
    """Linear and softmax: in a batch, DeepLift's rule for the softmax subtracts a mean over all rows."""
    layer = nn.Linear(2, 3).double()
    with torch.no_grad():
        layer.weight.copy_(WEIGHTS)
        layer.bias.copy_(BIAS)
    twice = nn.Linear(3, 3, bias=False).double()
    with torch.no_grad():
        twice.weight.copy_(2 * torch.eye(3))  # so that the outputs are not taken for probabilities
    return nn.Sequential(layer, nn.Softmax(dim=1), twice).eval()


def deeplift_alone(points: torch.Tensor) -> torch.Tensor:
    """DeepLift of class 0 against the baseline 0, of every row by itself, scaled to length 1: in closed form."""
    moved = points @ WEIGHTS.T
    gained = (moved + BIAS).softmax(dim=1) - BIAS.softmax(dim=0)
    slopes = torch.zeros_like(moved)
    slopes[:, 0] = gained[:, 0] / moved[:, 0]
    maps = ((slopes - slopes.mean(dim=1, keepdim=True)) @ WEIGHTS) * points
    return maps / maps.norm(dim=1, keepdim=True)


def test_deeplift_beside_a_softmax_is_not_certified_beyond_the_truth() -> None:
    """Version 0.1 certified cosines of 0.66 to 0.78 at 0.8 here, where the truth is -0.9999."""
    x = torch.tensor([-0.26, -0.67], dtype=torch.float64)
    attacked = x + 0.8 * torch.tensor([math.cos(1.05), math.sin(1.05)], dtype=torch.float64)
    noise = torch.randn(40_000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    before, after = (deeplift_alone(place + noise).mean(dim=0) for place in (x, attacked))
    true = float(before @ after / (before.norm() * after.norm()))
    assert true < -0.99
    certifier = Certifier(Unit(Captum(captum.attr.DeepLift(softmax_model()))), noise=Gaussian(1.0), samples=512)
    certificate = certifier(x, 0, seed=0)
    assert isinstance(certifier.field.base, RowByRow)
    assert certificate.norm_lower <= float(before.norm())
    assert certificate.cosine(0.8) <= true


def probed(field, dim, dtype=torch.float32):
    """The field that would be sampled around zero."""
    generator = torch.Generator().manual_seed(0)
    family = Around(field, 0, torch.zeros(dim, dtype=dtype))
    shifts = torch.randn(probe_rows(field), dim, dtype=dtype, generator=generator)
    return independent(family, shifts, generator).field


def test_row_by_row_is_each_row_alone() -> None:
    model = softmax_model()
    field = Unit(Captum(captum.attr.DeepLift(model)))
    points = torch.randn(8, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    slow = probed(field, 2, torch.float64)
    alone = torch.cat([field.attribute(point[None], 0) for point in points])
    assert torch.allclose(slow.attribute(points, 0), alone, rtol=1e-12)
    assert torch.allclose(deeplift_alone(points), alone, rtol=1e-9)
    assert not torch.allclose(field.attribute(points, 0), alone, rtol=1e-3)
    assert slow.limit == 1.0


def test_only_the_method_itself_is_asked_row_by_row() -> None:
    """Wrappers stay around it: the limit outermost, shapes inside."""
    base = Saliency(CommonCoupling(), output="logit")
    for field in (Unit(Centred(base)), Clip(Centred(base), 2.0), Proved(Centred(base), 9.0, reason="so")):
        slow = probed(field, 4)
        assert type(slow) is type(field)
        assert isinstance(slow.base, Centred)
        assert isinstance(slow.base.base, RowByRow)
        assert (slow.limit, slow.source, slow.reshaped) == (field.limit, field.source, ("centred",))


def test_methods_without_coupling_run_in_batches() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).eval()
    for method in (captum.attr.DeepLift, captum.attr.InputXGradient, captum.attr.Saliency):
        field = Unit(Captum(method(model)))
        assert probed(field, 4) is field


class Forgetful(Field):
    """Maps that depend on how often it was asked."""

    name = "forgetful"

    def __init__(self) -> None:
        self.model, self.calls = Linear(torch.ones(4)), 0

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        self.calls += 1
        return Explanation(torch.full_like(inputs, float(self.calls)))


def test_a_field_that_is_not_alike_from_call_to_call_is_refused() -> None:
    with pytest.raises(FieldError, match="forgetful gave another map or output when the same call was made again"):
        probed(Clip(Forgetful(), 99.0), 4)


class Hundredths(nn.Module):
    """Cells get the slopes 300 + s and 300 - s in turn, and the mean of the batch decides the sign of s.

    Args:
        dim: number of cells.
        hidden: the outputs do not mix, only their slopes do.
    """

    def __init__(self, dim: int, *, hidden: bool = False) -> None:
        super().__init__()
        self.turns, self.hidden = torch.tensor([1.0, -1.0]).repeat(dim // 2), hidden

    def forward(self, y):
        mixed = torch.sign(y.mean()).detach() * (y @ self.turns)
        if self.hidden:
            mixed = mixed - mixed.detach()
        score = 1e5 + 300.0 * y.sum(dim=1) + mixed
        return torch.stack([score, torch.zeros_like(score)], dim=1)


def test_what_shapes_magnify_is_seen() -> None:
    """Rows mix by 0.7 % in the plain map and by 200 % in the centred one: version 0.2 let it pass."""
    field = Unit(Centred(Saliency(Hundredths(80))))
    with pytest.raises(FieldError, match=f"{SELF}: its output for the same input changes with the batch around it"):
        certify(field, torch.zeros(80), 0, noise=Gaussian(1.0), samples=512, cells=(0.5,), seed=0)


def test_slopes_that_mix_alone_are_taken_out_row_by_row() -> None:
    """Alone, the sign is a coin toss of each row: no cell is on one side."""
    certifier = Certifier(
        Unit(Centred(Saliency(Hundredths(80, hidden=True)))), noise=Gaussian(1.0), samples=512, cells=(0.5,)
    )
    certificate = certifier(torch.zeros(80), 0, seed=0)
    assert isinstance(certifier.field.base.base, RowByRow)
    assert not certificate.cells(0.5, 0.0).any()


class Chance(Field):
    """Random signs from the generator, from the global one, or one sign for all rows."""

    name, random = "chance", True

    def __init__(self, kind: str) -> None:
        self.model, self.kind = Linear(torch.ones(4)), kind

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        count = 1 if self.kind == "shared" else len(inputs)
        signs = torch.rand(count, 1, generator=None if self.kind == "global" else generator) - 0.5
        return Explanation(signs.sign().expand(len(inputs), 1) * torch.ones_like(inputs))


def test_random_fields_have_a_chance_of_their_own_in_every_row() -> None:
    assert probed(Unit(Chance("own")), 4)
    with pytest.raises(FieldError, match="chance shares its random numbers within a batch"):
        probed(Unit(Chance("shared")), 4)
    with pytest.raises(FieldError, match="draw all randomness from `generator`"):
        probed(Unit(Chance("global")), 4)


def test_gradients_are_switched_on_where_they_are_needed() -> None:
    with torch.no_grad():
        assert run(Linear(torch.ones(4))).norm == pytest.approx(1.0)


def test_rows_that_are_nan_alike_agree() -> None:
    """Far from the input a model may be undefined: the draws themselves decide whether that matters."""

    def model(y):
        return torch.stack([y[:, 0].log(), y[:, 1]], dim=1)

    x = torch.tensor([9.0, 1.0])
    assert certify(Unit(Saliency(model)), x, 0, noise=Gaussian(1.0), samples=64, seed=1).norm == pytest.approx(1.0)


def test_a_path_across_one_kink_has_a_chance_of_its_own() -> None:
    """Its blocks take few different values: two that agreed by chance were taken for shared random numbers."""
    path = IntegratedGradients(lambda y: AbsFirst()(y - 0.3), baseline=1.0, steps=4, path="random")
    family = Around(Unit(path), 0, torch.zeros(2))
    for seed in range(50):
        generator = torch.Generator().manual_seed(seed)
        independent(family, torch.randn(probe_rows(path), 2, generator=generator), generator)
