"""Every change: what it makes of a picture, and that maps come back to the first frame."""

import io
import math

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import ndimage

from attribound.changes import (
    Blur,
    Brightness,
    Contrast,
    Flip,
    Gamma,
    HiddenWord,
    Jpeg,
    ResizeMethod,
    Rotation,
    Saturation,
    Shift,
    Warmth,
    Zoom,
    parse_change,
)
from attribound.changes.base import Continuous
from attribound.errors import ArgumentError, FieldError


def picture(channels=3, height=40, width=56, seed=0):
    """A smooth picture of 8 bits, bright in the middle and dark at the border."""
    rng = np.random.default_rng(seed)
    waves = ndimage.gaussian_filter(rng.random((channels, height, width)), (0, 3, 3))
    waves = (waves - waves.min()) / (waves.max() - waves.min())
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    levels = np.round(255 * waves * np.clip(1.3 - x**2 - y**2, 0, 1))
    return torch.from_numpy(levels.astype(np.float32)) / 255


CHANGES = [
    Rotation(40), Zoom(30), Contrast(2), Gamma(2), Saturation(2), Blur(3), Brightness(100), Warmth(50), Shift(5),
    Shift(4, axis="x"), Shift(4, axis="y"), Jpeg(), Flip(),
]  # fmt: skip
MOVING = [change for change in CHANGES if change.moves]


def some(change, x, count=5):
    if isinstance(change, Continuous):
        return torch.linspace(change.low, change.high, count, dtype=torch.float64)
    every = change.alternatives(x)
    return every[torch.linspace(0, len(every) - 1, count).long()]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.spec)
class TestEvery:
    def test_pictures_stay_pictures(self, change):
        x = picture()
        change.check(x)
        made = change.apply(x, some(change, x))
        assert made.shape == (5, *x.shape)
        assert made.dtype == x.dtype
        assert float(made.min()) >= 0
        assert float(made.max()) <= 1 + 1e-6

    def test_each_row_depends_on_its_own_parameter_only(self, change):
        x = picture()
        t = some(change, x)
        alone = torch.cat([change.apply(x, one[None]) for one in t])
        torch.testing.assert_close(change.apply(x, t), alone, rtol=0, atol=1e-6)

    def test_no_change_changes_nothing(self, change):
        if isinstance(change, Jpeg):
            return  # every quality loses something
        x = picture()
        none = torch.zeros_like(some(change, x)[:2])
        torch.testing.assert_close(change.apply(x, none), x.expand(2, *x.shape), rtol=0, atol=2e-6)
        maps = torch.rand(2, 7, 7, dtype=torch.float64)
        torch.testing.assert_close(change.back(maps, none, x.shape), maps, rtol=0, atol=1e-9)

    def test_its_spec_makes_it_again(self, change):
        again = parse_change(change.spec)
        assert type(again) is type(change)
        assert again.spec == change.spec
        assert again.dimensions == change.dimensions

    def test_it_says_what_it_does(self, change):
        assert change.made
        assert change.unit
        assert not isinstance(change, Continuous) or change.low <= 0 < change.high


@pytest.mark.parametrize("change", MOVING, ids=lambda change: change.spec)
@pytest.mark.parametrize("cells", [None, 8])
def test_maps_of_an_equivariant_field_come_back(change, cells):
    """The field's map is the picture's brightness: brought back, it is that of the unchanged picture."""

    def field(pictures):
        bright = pictures.mean(dim=1)
        return bright if cells is None else torch.nn.functional.adaptive_avg_pool2d(bright, (cells, cells))

    x = picture(height=64, width=96)
    plain = field(x[None])
    t = some(change, x) / (2 if isinstance(change, Continuous) else 1)
    there = field(change.apply(x, t))
    back = change.back(there, t, x.shape)

    def cosine(a, b):
        return torch.nn.functional.cosine_similarity(a.flatten(1).double(), b.flatten(1).double())

    assert float(cosine(back, plain).min()) > 0.97
    # Brought back the wrong way it would be worse, and so it would be if it were left alone.
    moved = (t != 0) if t.ndim == 1 else (t != 0).any(dim=1)
    twice = there if isinstance(change, Flip) else change.back(there, -t, x.shape)
    assert float((cosine(back, plain) - cosine(twice, plain))[moved].min()) > 0


def test_pixel_maps_come_back_exactly_after_whole_shifts():
    x = picture()
    change = Shift(5)
    t = torch.tensor([[3.0, -5.0], [-1.0, 2.0]], dtype=torch.float64)
    back = change.back(change.apply(x, t).double(), t, x.shape)
    torch.testing.assert_close(back[0, :, 5:, :-3], x.double()[:, 5:, :-3], rtol=0, atol=1e-12)
    torch.testing.assert_close(back[1, :, :-2, 1:], x.double()[:, :-2, 1:], rtol=0, atol=1e-12)


def test_rotation_is_the_usual_one():
    """Counter-clockwise, as Pillow turns pictures."""
    x = picture(1)
    levels = Image.fromarray((x[0] * 255).numpy().astype(np.float32))
    turned = np.asarray(levels.rotate(25, Image.Resampling.BILINEAR)) / 255
    ours = Rotation(30).apply(x, torch.tensor([25.0], dtype=torch.float64))[0, 0].numpy()
    assert np.abs(ours - turned)[10:-10, 14:-14].max() < 1e-5


def test_zoom_in_per_cent():
    change = Zoom(25)
    assert change.shown(change.high) == 25
    assert change.shown(change.low) == pytest.approx(-20)
    assert change.inner(25) == pytest.approx(change.high)
    x = torch.zeros(1, 41, 41)
    x[:, 16:25, 16:25] = 1
    sums = change.apply(x, torch.tensor([change.low, 0, change.high]))
    assert sums.sum(dim=(1, 2, 3)).tolist() == pytest.approx([81 / 1.25**2, 81, 81 * 1.25**2], rel=0.06)


def test_shift_moves_right_and_down():
    x = torch.zeros(1, 9, 9)
    x[0, 4, 4] = 1
    for axis, place in (("x", (4, 6)), ("y", (6, 4))):
        made = Shift(3, axis=axis).apply(x, torch.tensor([2.0]))
        assert made[0, 0].nonzero().tolist() == [list(place)]
    assert len(Shift(3).alternatives(x)) == 48
    assert Shift(3).places(torch.tensor([[1.0, -3.0], [0.0, 2.0]])).tolist() == [3, 2]
    assert Shift(3).label(torch.tensor([1.0, -3.0])) == "1 pixels right, -3 down"


def test_grey_levels_are_whole_and_cut_off():
    x = torch.tensor([[[0, 100, 250], [7, 8, 9]]], dtype=torch.float32) / 255
    made = Brightness(20).apply(x, torch.tensor([20.0, -10.0], dtype=torch.float64)) * 255
    assert made[0].round().tolist() == [[[20, 120, 255], [27, 28, 29]]]
    assert made[1].round().tolist() == [[[0, 90, 240], [0, 0, 0]]]
    assert len(Brightness(102).alternatives(x)) == 204
    warm = Warmth(20).apply(x.expand(3, 2, 3), torch.tensor([20.0], dtype=torch.float64))[0] * 255
    assert warm[:, 0, 1].round().tolist() == [120, 100, 80]
    assert torch.equal(Brightness(5).apply(x, torch.zeros(1, dtype=torch.float64))[0], x)


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_is_what_pillow_stores(channels):
    x = picture(channels)
    made = Jpeg().apply(x, torch.tensor([10.0, 100.0]))
    pixels = (x * 255).round().byte().permute(1, 2, 0).numpy()
    memory = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels).save(memory, "JPEG", quality=10)
    read = np.asarray(Image.open(memory)).reshape(*x.shape[1:], channels)
    assert np.array_equal((made[0] * 255).round().byte().permute(1, 2, 0).numpy(), read)
    assert float((made[1] - x).abs().mean()) < float((made[0] - x).abs().mean())
    change = Jpeg(lowest=90)
    assert change.alternatives(x).tolist() == list(range(90, 101))
    assert [change.shown(place) for place in (-11, -1, 0)] == [90, 100, 100]
    assert "Pillow" in change.made


def test_blur_is_gaussian():
    x = picture(1, 60, 60)
    made = Blur(3).apply(x, torch.tensor([2.0, 0.0, -2.0], dtype=torch.float64))
    expected = ndimage.gaussian_filter(x[0].double().numpy(), 2.0, truncate=8)
    assert np.abs(made[0, 0].numpy() - expected)[15:-15, 15:-15].max() < 1e-5
    torch.testing.assert_close(made[2], made[0])


@pytest.mark.parametrize("change", [Gamma(3), Contrast(1.2), Saturation(1.2)], ids=lambda change: change.name)
def test_factors_add_up_where_nothing_is_cut_off(change):
    x = 0.3 + 0.4 * picture()
    first, second = torch.tensor([0.1], dtype=torch.float64), torch.tensor([0.05], dtype=torch.float64)
    twice = change.apply(change.apply(x, first)[0], second)
    torch.testing.assert_close(twice, change.apply(x, first + second), rtol=1e-5, atol=1e-6)
    assert change.shown(change.low) == pytest.approx(1 / change.shown(change.high))
    assert change.inner(change.shown(0.07)) == pytest.approx(0.07)


def test_gamma_adds_up_and_says_so():
    assert Gamma(2).adds_up
    assert not any(change.adds_up for change in CHANGES if not isinstance(change, Gamma))
    assert Gamma(2).apply(torch.tensor([[[0.25, 1.0], [0.0, 0.5]]]), torch.tensor([math.log(2)])).tolist() == [
        [[[0.0625, 1.0], [0.0, 0.25]]]
    ]


def test_one_word_is_hidden():
    x = torch.arange(12.0).view(4, 3) + 1
    change = HiddenWord(["free", "money", "now", "!"])
    change.check(x)
    made = change.apply(x, change.alternatives(x))
    assert made.shape == (4, 4, 3)
    for number in range(4):
        assert made[number, number].tolist() == [0, 0, 0]
        assert torch.equal(made[number, [k for k in range(4) if k != number]], x[[k for k in range(4) if k != number]])
    assert change.label(torch.tensor(1.0)) == "'money'"
    vector = torch.ones(3)
    blank = HiddenWord(blank=vector)
    vector.zero_()
    assert blank.spec != HiddenWord(blank=vector).spec != HiddenWord().spec == "hidden-word"
    assert blank.spec.partition(":")[2] in blank.made
    with pytest.raises(ArgumentError, match="a vector of its own"):
        parse_change(blank.spec)
    assert blank.apply(x, torch.tensor([2.0]))[0, 2].tolist() == [1, 1, 1]
    for wrong, match in [
        (HiddenWord(["a"]), "one word per vector"),
        (HiddenWord(blank=torch.ones(2)), "`blank` of 3 features"),
    ]:
        with pytest.raises(ArgumentError, match=match):
            wrong.check(x)
    with pytest.raises(ArgumentError, match="needs a text"):
        change.check(picture())


def test_other_resize_methods():
    large = Image.fromarray((picture(3, 80, 112) * 255).byte().permute(1, 2, 0).numpy())
    x = torch.from_numpy(np.asarray(large.resize((56, 40), Image.Resampling.BICUBIC)).copy()).permute(2, 0, 1) / 255
    change = ResizeMethod(large)
    change.check(x)
    made = change.apply(x, change.alternatives(x))
    assert made.shape == (6, 3, 40, 56)
    assert torch.equal(made[4], x)
    assert change.label(torch.tensor(4.0)) == "bicubic"
    assert len({float(one.sum()) for one in made}) == 6
    with pytest.raises(ArgumentError, match="proportions"):
        change.check(picture(3, 40, 40))
    with pytest.raises(ArgumentError, match="Pillow picture, got str"):
        ResizeMethod("photo.jpg")


@pytest.mark.parametrize("change", MOVING, ids=lambda change: change.spec)
def test_maps_without_places_are_refused(change):
    x = picture()
    with pytest.raises(FieldError, match="needs maps with places"):
        change.back(torch.rand(5, 9), some(change, x), x.shape)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.spec)
def test_inputs_that_are_no_pictures_are_refused(change):
    with pytest.raises(ArgumentError, match=rf"{change.name} needs a picture \(1 or 3 channels"):
        change.check(torch.rand(20))
    with pytest.raises(ArgumentError, match="needs a picture with values in"):
        change.check(4 * torch.rand(3, 9, 9) + 1)


@pytest.mark.parametrize("change", [Brightness(10), Warmth(10), Jpeg()], ids=lambda change: change.name)
def test_grey_levels_need_pictures_of_8_bits(change):
    with pytest.raises(ArgumentError, match="needs a picture of 8 bits"):
        change.check(0.5 * picture() + 0.123)


@pytest.mark.parametrize("change", [Warmth(10), Saturation(2)], ids=lambda change: change.name)
def test_colours_are_needed(change):
    with pytest.raises(ArgumentError, match="three colour channels, got 1"):
        change.check(picture(1))
