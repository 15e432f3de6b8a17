"""The vision transformer: shapes, rows on their own, and a second derivative for attacks."""

import pytest
import torch

from attribound.errors import ArgumentError
from attribound.models import ViT, make_model
from attribound.training import fresh


@pytest.mark.parametrize(
    ("name", "shape", "tokens"), [("vit-tiny", (3, 32, 32), 64), ("vit-tiny-grey", (1, 28, 28), 49)]
)
def test_shapes(name, shape, tokens) -> None:
    model = fresh(lambda: make_model(name), 0).eval()
    seen = []
    model.get_submodule("blocks.3").register_forward_hook(lambda module, inputs, output: seen.append(output))
    images = torch.rand(3, *shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        together = model(images)
        alone = torch.cat([model(image[None]) for image in images])
    assert together.shape == (3, 10)
    assert seen[0].shape == (3, tokens, 64)
    assert torch.allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("class_token", [False, True])
def test_it_can_be_differentiated_twice(class_token) -> None:
    model = fresh(lambda: ViT(size=8, width=8, depth=2, heads=2, class_token=class_token), 1).double().eval()
    x = torch.rand(1, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_(True)
    assert torch.autograd.gradgradcheck(lambda points: model(points)[:, 0], (x,), fast_mode=True)


def test_attention_is_torchs() -> None:
    model = fresh(lambda: ViT(size=8, width=8, depth=1, heads=2), 2)
    attention = model.blocks[0].attn
    tokens = torch.rand(2, 4, 8, generator=torch.Generator().manual_seed(2))
    split = attention.qkv(tokens).view(2, 4, 3, 2, 4).permute(2, 0, 3, 1, 4)
    mixed = torch.nn.functional.scaled_dot_product_attention(*split).transpose(1, 2).reshape(2, 4, 8)
    assert torch.allclose(attention(tokens), attention.proj(mixed), atol=1e-6)


def test_sizes_that_do_not_fit() -> None:
    with pytest.raises(
        ArgumentError, match="expected patches that tile the picture and heads that divide the width, got 30/4, 64/4"
    ):
        ViT(size=30)
