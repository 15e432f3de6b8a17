"""A model behind a denoiser: shapes, levels, gradients, and that both are what is certified."""

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import attribound as ab
from attribound.data import open_data
from attribound.errors import ArgumentError, StoredDataError
from attribound.hashes import model_hash
from attribound.models import DENOISERS, Denoised, Denoiser, denoiser_card, load_denoiser, load_shipped
from attribound.training import fresh, psnr


def lively(seed: int = 0) -> Denoiser:
    """A denoiser whose last layers are not zero, as they are before training."""
    denoiser = fresh(Denoiser, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for layer in (denoiser.leave, denoiser.linear):
            layer.weight.copy_(0.1 * torch.randn(layer.weight.shape, generator=generator))
    return denoiser.eval().requires_grad_(False)


def pictures(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1))


def test_before_training_it_is_the_best_guess_pixel_by_pixel() -> None:
    """Noise of the pixels' own deviation 0.25: half way to grey; a small level leaves pixels almost alone."""
    x = pictures(2, 3, 8, 8)
    denoiser = fresh(Denoiser, 0)
    with torch.no_grad():
        for layer in (denoiser.leave, denoiser.linear):
            layer.bias.zero_()
        guess = denoiser(x, torch.tensor([0.25, 1e-4]))
    torch.testing.assert_close(guess[0], (x[0] + 0.5) / 2)
    torch.testing.assert_close(guess[1], x[1], atol=1e-6, rtol=0)


@pytest.mark.parametrize("size", [(8, 8), (32, 32), (30, 45), (1, 1)])
def test_any_size(size) -> None:
    x = pictures(2, 3, *size)
    assert lively()(x, torch.full((2,), 0.25)).shape == x.shape


def test_padding_only_touches_the_border() -> None:
    """The first rows of a picture cut to 100 rows do not know that the last ones are missing."""
    x, sigma = pictures(1, 3, 128, 16), torch.tensor([0.25])
    whole, part = lively()(x, sigma), lively()(x[:, :, :100], sigma)
    torch.testing.assert_close(part[:, :, :32], whole[:, :, :32])


def test_rows_do_not_see_each_other_and_have_their_own_levels() -> None:
    x, sigma = pictures(3, 3, 16, 16), torch.tensor([0.1, 0.25, 0.5])
    together = lively()(x, sigma)
    for row in range(3):
        torch.testing.assert_close(lively()(x[row : row + 1], sigma[row : row + 1])[0], together[row])


def test_the_level_is_part_of_the_model() -> None:
    model = load_shipped("cifar10-resnet20")
    denoiser = lively()
    denoised = Denoised(model, denoiser, sigma=0.25)
    x = pictures(2, 3, 32, 32)
    torch.testing.assert_close(denoised(x), model(denoiser(x, torch.full((2,), 0.25))))
    hashes = {model_hash(each) for each in (denoised, Denoised(model, denoiser, sigma=0.5), model)}
    assert len(hashes) == 3
    assert model_hash(Denoised(model, lively(1), sigma=0.25)) not in hashes
    assert model_hash(Denoised(model, denoiser, sigma=0.25)) == model_hash(denoised)


def test_gradients_go_through_both() -> None:
    """The slope along a random direction against a central difference, in float64."""
    denoised = Denoised(load_shipped("cifar10-resnet20"), lively(), sigma=0.25).double()
    generator = torch.Generator().manual_seed(2)
    x = torch.rand(1, 3, 32, 32, generator=generator, dtype=torch.float64).requires_grad_(True)
    way = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(denoised(x)[0, 3], x)
    step = 1e-8
    with torch.no_grad():
        slope = (denoised(x + step * way)[0, 3] - denoised(x - step * way)[0, 3]) / (2 * step)
    assert float((gradient * way).sum()) == pytest.approx(float(slope), rel=1e-4)


def test_it_can_be_certified() -> None:
    denoised = Denoised(load_shipped("cifar10-resnet20"), lively(), sigma=0.25)
    x = pictures(3, 32, 32)
    certificate = ab.certify(ab.Unit(ab.Saliency(denoised)), x, noise=ab.Gaussian(0.25), samples=64)
    assert certificate.record.model_sha256 == model_hash(denoised)


def test_any_other_denoiser() -> None:
    blur = nn.AvgPool2d(3, stride=1, padding=1)
    model = load_shipped("cifar10-resnet20")
    x = pictures(2, 3, 32, 32)
    torch.testing.assert_close(Denoised(model, blur)(x), model(blur(x)))


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_level(sigma) -> None:
    with pytest.raises(ArgumentError, match="expected `sigma` > 0, got"):
        Denoised(nn.Identity(), lively(), sigma=sigma)


def test_ours_needs_a_level() -> None:
    with pytest.raises(ArgumentError, match="takes the noise level as an input: give `sigma`"):
        Denoised(nn.Identity(), lively())


def test_files(tmp_path) -> None:
    denoiser = lively()
    weights = {name: value.contiguous() for name, value in denoiser.state_dict().items()}
    save_file(weights, tmp_path / "mine.safetensors")
    x, sigma = pictures(1, 3, 16, 16), torch.tensor([0.25])
    torch.testing.assert_close(load_denoiser(str(tmp_path / "mine.safetensors"))(x, sigma), denoiser(x, sigma))
    with pytest.raises(StoredDataError, match="no such file"):
        load_denoiser(str(tmp_path / "other.safetensors"))
    with pytest.raises(ArgumentError, match=r"expected a denoiser \(denoiser-photos, denoiser-cifar10, .*got 'magic'"):
        load_denoiser("magic")
    with pytest.raises(ArgumentError, match=r"expected a shipped denoiser .*got 'magic'"):
        denoiser_card("magic")


@pytest.mark.parametrize("name", DENOISERS)
def test_shipped_denoisers(name) -> None:
    """Far cleaner than the noise (20, 12, 6 dB) at every level of the card; half precision is all there is.

    One is made for 0.25 and the classifier behind it: 3 dB at 0.1.
    """
    stated = denoiser_card(name)
    assert {"data", "objective", "schedule", "command", "date", "test_data", "test_inputs"} <= set(stated)
    assert name in stated["command"]
    for level, noisy in (("0.1", 20.0), ("0.25", 12.0), ("0.5", 6.0)):
        assert stated["psnr"][level] > noisy + (3 if name == "denoiser-cifar10-resnet20" and level == "0.1" else 5)
    for weights in load_denoiser(name).state_dict().values():
        assert torch.equal(weights, weights.half().float())


def test_photos_are_as_clean_as_the_card_says() -> None:
    """The four shipped photos belong to the card's 24: their mean differs from that of all by less than 4 dB."""
    denoiser, stated = load_denoiser("denoiser-photos"), denoiser_card("denoiser-photos")["psnr"]
    assert psnr(denoiser, open_data("photos"), 0.25) == pytest.approx(stated["0.25"], abs=4)
