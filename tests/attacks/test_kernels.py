"""Transformers can be attacked: their maps are differentiated twice."""

import pytest
import torch
from torch import Tensor

from attribound.attacks.kernels import twice_differentiable
from attribound.fields import Centred, Field, GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, Pooled, Saliency, Unit
from tests.fields.networks import Convolutions, TinyViT, images, seeded

VIT = {
    "saliency": lambda model: Saliency(model),
    "pooled": lambda model: Centred(Pooled(Saliency(model), size=4, of="signed")),
    "gradcam": lambda model: GradCAM(model, "blocks.0", relu=False),
    "hirescam": lambda model: HiResCAM(model, "blocks.1.norm1", relu=False),
}
CNN = {
    "gradcam": lambda model: GradCAM(model, "act", relu=False),
    "hirescam": lambda model: HiResCAM(model, "second", relu=False),
    "layercam": lambda model: LayerCAM(model, "second", relu=False),
    "gradcam++": lambda model: GradCAMPlusPlus(model, "act", relu=False),
}


def slope_and_difference(field: Field, x: Tensor) -> tuple[float, float]:
    """Derivative of a fixed functional of the unit map along a fixed direction: exact, and by central differences."""
    generator = torch.Generator().manual_seed(2)
    direction = torch.randn(x.shape, generator=generator, dtype=x.dtype)
    bounded = Unit(field)
    shape = bounded.attribute(x, 0).shape
    weights = torch.randn(shape, generator=generator, dtype=torch.float64)
    point = x.clone().requires_grad_(True)
    with twice_differentiable():
        value = (bounded.attribute(point, 0, create_graph=True) * weights).sum()
        (slope,) = torch.autograd.grad(value, point)
    step = 1e-5
    ends = [(bounded.attribute(x + s * direction, 0) * weights).sum() for s in (step, -step)]
    return float((slope * direction).sum()), float((ends[0] - ends[1]) / (2 * step))


@pytest.mark.parametrize("name", VIT)
def test_slopes_of_a_transformers_maps(name: str) -> None:
    slope, difference = slope_and_difference(VIT[name](seeded(TinyViT)), images(2, 1))
    assert slope == pytest.approx(difference, rel=1e-5)
    assert abs(slope) > 1e-3


@pytest.mark.parametrize("name", CNN)
def test_slopes_of_a_convolutional_networks_maps(name: str) -> None:
    slope, difference = slope_and_difference(CNN[name](seeded(Convolutions)), images(2))
    assert slope == pytest.approx(difference, rel=1e-5)
    assert abs(slope) > 1e-3


def test_the_fused_kernel_has_no_second_derivative() -> None:
    """Why the context is needed; if this fails, torch has learnt it and the context can go."""
    point = images(2, 1).requires_grad_(True)
    maps = Saliency(seeded(TinyViT)).attribute(point, 0, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative"):
        torch.autograd.grad(maps.square().sum(), point)
