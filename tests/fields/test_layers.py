"""Where a layer has its positions, which layer is the default, and what is said when there is none."""

from collections import namedtuple
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from attribound.errors import ArgumentError, FieldError
from attribound.fields import GradCAM, HiResCAM, Pooled, Saliency, Tokens, make_field
from attribound.fields.layers import candidates
from tests.fields.networks import Convolutions, TinyViT, images, seeded

Pair = namedtuple("Pair", "first second")


class Turned(nn.Module):
    """(B, C, H, W) to (B, H, W, C), as some transformers keep pictures; `block` hides what it is made of."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.block = nn.Sequential(nn.Linear(width, width), nn.GELU())
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 3)

    def forward(self, pictures: Tensor) -> Tensor:
        x = self.block(self.patches(pictures).permute(0, 2, 3, 1))
        return self.head(self.norm(x).square().mean(dim=(1, 2)))


class TurnedBack(Turned):
    """The same network, whose layers see (B, C, H, W)."""

    def forward(self, pictures: Tensor) -> Tensor:
        x = self.block(self.patches(pictures).permute(0, 2, 3, 1))
        seen = self.seen(self.norm(x).permute(0, 3, 1, 2))
        return self.head(seen.permute(0, 2, 3, 1).square().mean(dim=(1, 2)))

    def __init__(self) -> None:
        super().__init__()
        self.seen = nn.Identity()


@pytest.mark.parametrize("size", [(32, 32), (16, 48)])
@pytest.mark.parametrize("width", [24, 8])
def test_pictures_with_channels_last(size: tuple[int, int], width: int) -> None:
    """Also where the channels are as many as the rows (width 8 at 32 x 32)."""
    model, x = seeded(Turned, width), torch.rand(2, 3, *size, dtype=torch.float64)
    for layer in ("norm", "block", "block.1", None):
        maps = HiResCAM(model, layer, centred=False, relu=False).attribute(x, 1)
        assert maps.shape == (2, size[0] // 4, size[1] // 4), layer


def test_channels_last_is_channels_first_turned_around() -> None:
    model, x = seeded(TurnedBack), torch.rand(2, 3, 32, 32, dtype=torch.float64)
    plain = seeded(Turned)
    plain.load_state_dict(model.state_dict())
    first, last = GradCAM(model).attribute(x, 1), GradCAM(plain).attribute(x, 1)
    assert GradCAM(plain, "norm").attribute(x, 1).shape == (2, 8, 8)
    assert torch.allclose(first, last, atol=1e-14)
    assert float(last.abs().max()) > 0


def test_signals_have_a_position_per_sample() -> None:
    model = seeded(
        lambda: nn.Sequential(nn.Conv1d(1, 6, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(6, 2))
    )
    x = torch.rand(3, 1, 20, dtype=torch.float64)
    for layer in ("0", "1"):
        maps = GradCAM(model, layer, centred=False, relu=False).attribute(x, 0)
        kept = model[0](x) if layer == "0" else torch.relu(model[0](x))
        slopes = torch.autograd.grad(
            model[(int(layer) + 1) :](leaf := kept.detach().requires_grad_(True))[:, 0].sum(), leaf
        )[0]
        assert torch.allclose(maps, (slopes.mean(dim=2, keepdim=True) * kept).sum(dim=1).detach(), atol=1e-14)
    assert GradCAM(model).attribute(x, 0).shape == (3, 16)


def test_tokens_lie_as_the_picture_does() -> None:
    """6 x 4 tokens and a class token of a picture of 12 x 8: 25 tokens are a square, too, and none of it."""
    model, x = seeded(TinyViT, height=12), images(2, 1, 12)
    assert GradCAM(model, "blocks.0").attribute(x, 0).shape == (2, 6, 4)
    given = GradCAM(model, "blocks.0", grid=(6, 4)).attribute(x, 0)
    assert torch.equal(GradCAM(model, "blocks.0").attribute(x, 0), given)


def test_tokens_of_no_picture_stay_in_a_row() -> None:
    model = seeded(lambda: nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Flatten(), nn.Linear(72, 2)))
    assert GradCAM(model, "1").attribute(torch.rand(2, 9, 5, dtype=torch.float64), 0).shape == (2, 9)


def test_a_grid_of_a_picture_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"expected no `grid`: 'act' gives no tokens, but \(3, 5, 4, 4\)"):
        GradCAM(seeded(Convolutions), "act", grid=(2, 2)).attribute(images(), 0)
    with pytest.raises(ArgumentError, match="whole numbers >= 1, got 4"):
        GradCAM(seeded(Convolutions), "act", grid=4)


# --- the default, and layers that do not matter --------------------------------------------------------------


class Spare(Convolutions):
    """An auxiliary head after the main one, and an activation that is used on pictures and on rows."""

    def __init__(self) -> None:
        super().__init__()
        self.auxiliary, self.shared = nn.Conv2d(5, 2, 1), nn.ReLU()

    def forward(self, pictures: Tensor) -> Tensor:
        x = self.act(self.shared(self.second(torch.tanh(self.first(pictures)))))
        result = self.last(self.shared(self.pool(x + x.square()).flatten(1)))
        self.auxiliary(x)
        return result


def test_the_default_matters_to_the_output() -> None:
    model = seeded(Spare)
    field = GradCAM(model)
    field.attribute(images(), 0)
    assert field.name == "gradcam:act"


def test_a_layer_that_does_not_matter_is_named() -> None:
    with pytest.raises(FieldError, match="does not depend on the layer 'auxiliary'"):
        GradCAM(seeded(Spare), "auxiliary").attribute(images(), 0)


def test_candidates_count_a_modules_last_call() -> None:
    assert [layer.name for layer, _ in candidates(seeded(Spare), images())] == ["first", "second", "act", "auxiliary"]


class Wrapped(Convolutions):
    """A convolution whose output comes in some container."""

    def __init__(self, wrap: Callable[[Tensor], object], unwrap: Callable[[object], Tensor]) -> None:
        super().__init__()
        self.wrapped, self.unwrap = nn.Identity(), unwrap
        self.wrapped.forward = wrap

    def forward(self, pictures: Tensor) -> Tensor:
        x = self.unwrap(self.wrapped(self.second(torch.tanh(self.first(pictures)))))
        return self.last(self.pool(x + x.square()).flatten(1))


def test_named_tuples() -> None:
    model = seeded(Wrapped, lambda x: Pair(x, 1), lambda pair: pair.first * pair.second)
    assert torch.equal(
        GradCAM(model, "wrapped").attribute(images(), 0), GradCAM(model, "second").attribute(images(), 0)
    )


def test_a_layer_that_gives_no_tensor_says_what_it_gives() -> None:
    model = seeded(Wrapped, lambda x: {"x": x}, lambda found: found["x"])
    with pytest.raises(FieldError, match=r"got 'wrapped', which gives a dict, no tensor"):
        GradCAM(model, "wrapped").attribute(images(), 0)


# --- maps of maps ---------------------------------------------------------------------------------------------


def test_absolute_values_of_centred_maps_are_not_pooled() -> None:
    """A cell far below the mean would count as a hot one."""
    model = seeded(Convolutions)
    with pytest.raises(ArgumentError, match="not centred"):
        Pooled(GradCAM(model, "act"), 2)
    assert Pooled(GradCAM(model, "act", centred=False), 2).reshaped == ("pooled:2",)
    assert Pooled(GradCAM(model, "act"), 2, of="signed").reshaped == ("centred", "pooled-signed:2")


def test_a_layers_map_has_no_tokens() -> None:
    with pytest.raises(ArgumentError, match="whose maps are of a layer"):
        Tokens(GradCAM(seeded(Convolutions), "act"))


@pytest.mark.parametrize("spec", ["centred:5", "abs:1", "tokens:3", "raw:0", "scaled:2"])
def test_shapes_that_take_no_number(spec: str) -> None:
    with pytest.raises(ArgumentError, match=f"expected a map .*, got '{spec}'"):
        make_field(seeded(Convolutions), "saliency", maps=[spec], units=[1.0])


def test_sizes_that_are_no_numbers() -> None:
    with pytest.raises(ArgumentError, match=r"expected `size` to be a whole number >= 0, got \(2, 3\)"):
        Pooled(Saliency(seeded(Convolutions)), (2, 3))
