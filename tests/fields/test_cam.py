"""Class activation maps: against Captum, by hand, on tokens, twice differentiated, and without traces in the model."""

import threading

import captum.attr
import pytest
import torch
from torch import Tensor, nn

from attribound.certification.certifier import Certifier
from attribound.errors import ArgumentError, FieldError
from attribound.fields import CAM, Centred, GradCAM, GradCAMPlusPlus, HiResCAM, LayerCAM, Unit, make_field
from attribound.fields.layers import named_layer, watched
from attribound.noise import Gaussian
from tests.fields.networks import Convolutions, TinyViT, images, seeded

KINDS = [GradCAM, HiResCAM, LayerCAM, GradCAMPlusPlus]


def parts(model: Convolutions, x: Tensor, target: int) -> tuple[Tensor, Tensor]:
    """Activations of `act` and their gradient, by hand."""
    activations = torch.relu(model.second(torch.tanh(model.first(x)))).detach().requires_grad_(True)
    logits = model.last((activations + activations.square()).mean(dim=(2, 3)))
    return activations.detach(), torch.autograd.grad(logits[:, target].sum(), activations)[0]


def naive(kind: type[CAM], A: Tensor, g: Tensor) -> Tensor:
    """The formulas as the papers have them, cell by cell."""
    result = torch.zeros(len(A), *A.shape[2:], dtype=A.dtype)
    for row in range(len(A)):
        for k in range(A.shape[1]):
            if kind is GradCAM:
                result[row] += g[row, k].mean() * A[row, k]
            elif kind is HiResCAM:
                result[row] += g[row, k] * A[row, k]
            elif kind is LayerCAM:
                result[row] += torch.relu(g[row, k]) * A[row, k]
            else:
                alpha = g[row, k] ** 2 / (2 * g[row, k] ** 2 + A[row, k].sum() * g[row, k] ** 3)
                result[row] += (alpha * torch.relu(g[row, k])).sum() * A[row, k]
    return result


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relu", [True, False])
def test_formulas_by_hand(kind: type[CAM], relu: bool) -> None:
    model, x = seeded(Convolutions), images()
    expected = naive(kind, *parts(model, x, 1))
    expected = torch.relu(expected) if relu else expected
    maps = kind(model, "act", relu=relu, centred=False).attribute(x, 1)
    assert maps.shape == (3, 4, 4)
    assert torch.allclose(maps, expected, rtol=1e-12, atol=1e-14)
    assert not relu or bool((expected == 0).any() & (expected > 0).any()) or kind is not GradCAM


@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("layer", ["act", "second", "first"])
def test_grad_cam_is_captums(layer: str, relu: bool) -> None:
    model, x = seeded(Convolutions), images()
    theirs = captum.attr.LayerGradCam(model, model.get_submodule(layer)).attribute(x, 2, relu_attributions=relu)
    maps = GradCAM(model, layer, relu=relu, centred=False).attribute(x, 2)
    assert torch.allclose(maps, theirs[:, 0].detach(), rtol=1e-12, atol=1e-15)


def test_of_a_probability() -> None:
    model, x = seeded(Convolutions), images()
    wrapped = nn.Sequential(model, nn.Softmax(dim=1))
    ours = GradCAM(model, "act", "probability", centred=False).attribute(x, 0)
    assert torch.allclose(ours, GradCAM(wrapped, model.act, centred=False).attribute(x, 0), atol=1e-15)


def test_centred_unless_asked_otherwise() -> None:
    model, x = seeded(Convolutions), images()
    field, raw = GradCAM(model, "act"), GradCAM(model, "act", centred=False)
    assert field.reshaped == ("centred",)
    assert raw.reshaped == ()
    assert torch.equal(field.attribute(x, 0), Centred(raw).attribute(x, 0))
    assert torch.allclose(field.attribute(x, 0).sum(dim=(1, 2)), torch.zeros(3, dtype=torch.float64), atol=1e-14)


def test_logits_come_along() -> None:
    model, x = seeded(Convolutions), images()
    said = GradCAM(model).explain(x, 0)
    assert torch.allclose(said.logits, model(x))
    assert not said.maps.requires_grad
    assert not said.logits.requires_grad


def test_a_target_per_row() -> None:
    model, x = seeded(Convolutions), images()
    maps = GradCAM(model).attribute(x, torch.tensor([2, 0, 1]))
    for row, target in enumerate([2, 0, 1]):
        assert torch.allclose(maps[row], GradCAM(model).attribute(x[row : row + 1], target)[0], atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_do_not_see_each_other(kind: type[CAM]) -> None:
    model, x = seeded(Convolutions), images(5)
    alone = torch.cat([kind(model).attribute(row[None], 1) for row in x])
    assert torch.allclose(kind(model).attribute(x, 1), alone, atol=1e-14)


# --- the layer ---------------------------------------------------------------------------------------------


def test_the_default_is_the_last_picture() -> None:
    model = seeded(Convolutions)
    field = GradCAM(model)
    assert (field.name, field.layer) == ("gradcam", None)
    bounded = Unit(field)
    assert torch.equal(bounded.base.attribute(images(), 1), GradCAM(model, "act").attribute(images(), 1))
    assert bounded.name == "gradcam:act"


def test_a_layer_by_module_has_its_name() -> None:
    model = seeded(Convolutions)
    assert GradCAM(model, model.second).name == "gradcam:second"
    assert GradCAM(model, model.second, relu=False).name == "gradcam-signed:second"


def test_a_module_of_a_model_that_is_a_function() -> None:
    model = seeded(Convolutions)
    maps = GradCAM(lambda x: model(x), model.act).attribute(images(), 1)
    assert torch.equal(maps, GradCAM(model, "act").attribute(images(), 1))


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ("nothing", r"name a module of the model \(first, second, act, pool, last\), got 'nothing'"),
        ("", "name a module of the model"),
        (nn.ReLU(), "expected `layer` to be a module of the model, got another ReLU"),
    ],
)
def test_an_unknown_layer(layer: nn.Module | str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        GradCAM(seeded(Convolutions), layer)


@pytest.mark.parametrize(("layer", "got"), [("last", r"gives \(3, 3\)"), ("pool", r"gives \(3, 5, 1, 1\)")])
def test_a_layer_without_positions_names_candidates(layer: str, got: str) -> None:
    with pytest.raises(FieldError, match=rf"\(first, second, act\), got '{layer}', which {got}"):
        GradCAM(seeded(Convolutions), layer).attribute(images(), 0)


def test_a_layer_that_is_not_called() -> None:
    model = seeded(Convolutions)
    model.spare = nn.ReLU()
    with pytest.raises(FieldError, match="got 'spare', which was not called"):
        GradCAM(model, "spare").attribute(images(), 0)


def test_no_default_without_pictures() -> None:
    linear = nn.Sequential(nn.Flatten(), nn.Linear(128, 3)).double().eval()
    with pytest.raises(FieldError, match="no module of this model gives a picture or tokens"):
        GradCAM(linear).attribute(images(), 0)
    with pytest.raises(ArgumentError, match="expected `layer` to be a module, for a model that is a function"):
        GradCAM(lambda x: linear(x)).attribute(images(), 0)


# --- the model is left as it was ---------------------------------------------------------------------------


def hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) for module in model.modules())


def test_hooks_go_also_after_errors() -> None:
    model, x = seeded(Convolutions), images()
    GradCAM(model).attribute(x, 0)
    with pytest.raises(RuntimeError, match="channels"):
        GradCAM(model, "act").attribute(x[:, :1], 0)
    with pytest.raises(RuntimeError, match="channels"):
        GradCAM(model).attribute(x[:, :1], 0)
    with pytest.raises(ArgumentError, match="expected `target`"):
        GradCAM(model).attribute(x, 7)
    assert hooks(model) == 0


def test_weights_that_train_get_no_gradients() -> None:
    model, x = seeded(Convolutions).requires_grad_(True), images()
    frozen = GradCAM(seeded(Convolutions)).attribute(x, 0)
    assert torch.equal(GradCAM(model).attribute(x, 0), frozen)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_gradients_stop_at_the_layer() -> None:
    """Nothing before the layer is ever differentiated."""

    class Blind(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, values: Tensor) -> Tensor:
            return values.clone()

        @staticmethod
        def backward(ctx: object, slope: Tensor) -> Tensor:
            raise AssertionError("a full backward pass")

    class Guarded(Convolutions):
        def forward(self, pictures: Tensor) -> Tensor:
            return super().forward(Blind.apply(pictures))

    model = seeded(Guarded).requires_grad_(True)
    assert GradCAM(model).attribute(images(), 0).shape == (3, 4, 4)


def test_nothing_before_the_layer_is_kept_in_memory() -> None:
    """With trainable weights the output would hang on to everything that led to it."""
    model = seeded(Convolutions).requires_grad_(True)
    layer = named_layer(model, "act")
    for create_graph in (False, True):
        with watched(layer, create_graph=create_graph) as seen:
            model(images())
        assert seen.output is not None
        assert seen.output.is_leaf is not create_graph
        assert seen.output.requires_grad


def test_another_thread_does_not_disturb() -> None:
    """A thread that runs the same model while ours is watched: its output is not taken for ours."""
    model, x = seeded(Convolutions), images()
    expected = GradCAM(model, "first").attribute(x, 0)

    class Meanwhile(nn.Module):
        def forward(self, pictures: Tensor) -> Tensor:
            logits = model(pictures)
            other = threading.Thread(target=lambda: model(pictures[:1]))
            other.start()
            other.join()
            return logits

    assert torch.equal(GradCAM(lambda y: Meanwhile()(y), model.first).attribute(x, 0), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_half_precision(dtype: torch.dtype) -> None:
    model, x = seeded(Convolutions, dtype=dtype), images(dtype=dtype)
    maps = GradCAM(model).attribute(x, 0)
    exact = GradCAM(seeded(Convolutions)).attribute(x.double(), 0)
    assert torch.nn.functional.cosine_similarity(maps.flatten(1), exact.flatten(1)).min() > 0.98
    assert Unit(GradCAM(model)).attribute(x, 0).dtype == torch.float64


def test_half_precision_does_not_overflow_in_the_sum_over_channels() -> None:
    class Loud(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Identity()

        def forward(self, x: Tensor) -> Tensor:
            # The gradient is 1 everywhere, the logit itself 0.
            y = self.layer(x)
            return (y - y.detach()).flatten(1).sum(dim=1, keepdim=True).repeat(1, 2)

    loud = torch.full((1, 100, 2, 2), 1000.0, dtype=torch.float16)
    assert (HiResCAM(Loud(), "layer", centred=False).attribute(loud, 0) == 1e5).all()


# --- tokens ------------------------------------------------------------------------------------------------


def vit_images(count: int = 2, height: int = 8) -> Tensor:
    return images(count, 1, height)


def test_a_token_grid_without_its_class_token() -> None:
    model, x = seeded(TinyViT), vit_images()
    maps = HiResCAM(model, "blocks.1.norm1", centred=False, relu=False).attribute(x, 0)
    kept: list[Tensor] = []
    handle = model.blocks[1].norm1.register_forward_hook(lambda m, i, out: kept.append(out.requires_grad_(True)))
    (slopes,) = torch.autograd.grad(model(x)[:, 0].sum(), kept)
    handle.remove()
    expected = (kept[0] * slopes).sum(dim=2)[:, 1:].reshape(2, 4, 4)
    assert torch.allclose(maps, expected.detach(), atol=1e-15)
    assert float(maps.abs().max()) > 0


def test_patches_keep_their_places() -> None:
    """A network of tokens alone whose output is one patch: only that patch is hot."""

    class OnePatch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Conv2d(1, 4, 2, 2)
            self.mix = nn.Identity()

        def forward(self, pictures: Tensor) -> Tensor:
            tokens = self.mix(self.tokens(pictures).flatten(2).transpose(1, 2))
            return tokens.square()[:, 6].sum(dim=1, keepdim=True).repeat(1, 2)

    maps = HiResCAM(seeded(OnePatch), "mix", centred=False).attribute(vit_images(), 0)
    assert (maps[0].nonzero() == torch.tensor([[1, 2]])).all()


def test_blocks_that_return_tuples() -> None:
    plain, tuples = seeded(TinyViT), seeded(TinyViT, as_tuple=True)
    maps = GradCAM(tuples, "blocks.0").attribute(vit_images(), 0)
    assert torch.equal(maps, GradCAM(plain, "blocks.0").attribute(vit_images(), 0))


def test_a_given_grid_drops_what_is_in_front() -> None:
    model, x = seeded(TinyViT, height=12, extra=3), vit_images(height=12)
    field = GradCAM(model, "blocks.0", grid=(6, 4))
    assert field.attribute(x, 0).shape == (2, 6, 4)
    assert field.name == "gradcam:blocks.0@6x4"
    with pytest.raises(ArgumentError, match=r"expected a `grid` \(height, width\): the 27 tokens of 'blocks.0'"):
        GradCAM(model, "blocks.0").attribute(x, 0)
    with pytest.raises(ArgumentError, match="expected a `grid` of at most 27 tokens, got 7 x 4"):
        GradCAM(model, "blocks.0", grid=(7, 4)).attribute(x, 0)
    with pytest.raises(ArgumentError, match="whole numbers >= 1"):
        GradCAM(model, "blocks.0", grid=(0, 4))


def test_a_transformer_needs_a_layer() -> None:
    with pytest.raises(ArgumentError, match=r"works on tokens.*blocks.1.norm1.*blocks.1.*norm\)"):
        GradCAM(seeded(TinyViT)).attribute(vit_images(), 0)


# --- records, specs, certificates --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "kind", "relu"),
    [
        ("gradcam:act", GradCAM, True),
        ("hirescam:act", HiResCAM, True),
        ("layercam-signed:act", LayerCAM, False),
        ("gradcam++:act", GradCAMPlusPlus, True),
    ],
)
def test_specs(spec: str, kind: type[CAM], relu: bool) -> None:
    model, x = seeded(Convolutions), images()
    field = make_field(model, spec)
    assert (field.name, field.reshaped) == (spec, ("centred",))
    assert torch.equal(field.attribute(x, 0), Unit(kind(model, "act", relu=relu)).attribute(x, 0))
    again = make_field(model, field.name, maps=field.reshaped)
    assert torch.equal(again.attribute(x, 0), field.attribute(x, 0))


def test_maps_compose_in_the_order_given() -> None:
    model = seeded(Convolutions)
    assert make_field(model, "gradcam", maps=["raw"]).reshaped == ()
    assert make_field(model, "gradcam", maps=()).reshaped == ()
    assert make_field(model, "gradcam", maps=["pooled:2", "centred"]).reshaped == ("pooled:2", "centred")
    assert make_field(model, "saliency").reshaped == ()
    grid = make_field(seeded(TinyViT), "gradcam:blocks.0@2x8")
    assert grid.attribute(vit_images(), 0).shape == (2, 2, 8)


@pytest.mark.parametrize("spec", ["gradcam:act@7", "gradcam:act@axb"])
def test_a_bad_grid(spec: str) -> None:
    with pytest.raises(ArgumentError, match="expected @HxW with a whole number"):
        make_field(seeded(Convolutions), spec)


def test_records_say_layer_and_centring() -> None:
    model, x = seeded(Convolutions), images()[0]
    certificate = Certifier(make_field(model, "gradcam"), noise=Gaussian(0.1), samples=256)(x, 1, seed=3)
    record = certificate.record
    assert (record.attribution, record.maps) == ("gradcam:act", ("centred",))
    assert (record.subject.attribution, record.subject.maps) == ("gradcam:act", ("centred",))
    assert certificate.map.shape == (4, 4)
    assert record.dim == 128
    assert 0 < certificate.max_epsilon(0.8) < 1


def test_captums_layer_methods_give_the_same_certificate() -> None:
    from attribound.fields.captum import Captum

    model, x = seeded(Convolutions), images()[0]
    theirs = Centred(Captum(captum.attr.LayerGradCam(model, model.act), relu_attributions=True))
    fields = [Unit(GradCAM(model, "act")), Unit(theirs)]
    first, second = (Certifier(field, noise=Gaussian(0.1), samples=64)(x, 1, seed=3) for field in fields)
    assert first.record.norm_lower == pytest.approx(second.record.norm_lower, rel=1e-12)
    assert first.max_epsilon(0.8) == pytest.approx(second.max_epsilon(0.8), rel=1e-9)
