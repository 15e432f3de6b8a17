"""The denoising objective, and the wrappers for fine-tuning."""

import math
import re

import pytest
import torch
from torch import nn

from attribound.data import Arrays
from attribound.errors import ArgumentError
from attribound.models import Denoised, Denoiser, load_shipped
from attribound.noise import Gaussian
from attribound.training import (
    Behind,
    Bfloat16,
    Denoise,
    FrozenNorm,
    OneSided,
    Recognised,
    Schedule,
    Standard,
    WithClean,
    fresh,
    make_objective,
    psnr,
    summary,
    train,
)
from attribound.training.denoise import turned


def pictures(count: int = 8, side: int = 16) -> torch.Tensor:
    """Smooth colour ramps with their own slopes: easy to clean."""
    generator = torch.Generator().manual_seed(0)
    ramp = torch.linspace(-1, 1, side)
    slopes = 0.25 * torch.rand(2, count, 3, 1, 1, generator=generator)
    return 0.5 + slopes[0] * ramp[:, None] + slopes[1] * ramp


class Told(nn.Module):
    """Remembers what it was given, and gives it back."""

    def forward(self, noisy, sigma):
        self.noisy, self.sigma = noisy, sigma
        return noisy


def test_the_loss_of_doing_nothing_is_the_level() -> None:
    """Then the squared error is sigma^2 and the loss sigma: mean 0.3 of levels in [0.05, 0.55]."""
    model, generator = Told(), torch.Generator().manual_seed(0)
    value = Denoise().loss(model, pictures(2000), torch.zeros(2000), generator)
    assert float(value) == pytest.approx(float(model.sigma.mean()), rel=0.01)
    assert float(model.sigma.mean()) == pytest.approx(0.3, abs=0.015)
    assert float(model.sigma.min()) >= 0.05
    assert float(model.sigma.max()) <= 0.55


def test_turns_are_the_eight_of_a_square() -> None:
    generator, x = torch.Generator().manual_seed(0), pictures(1)
    seen = {tuple(turned(x, generator).flatten().tolist()) for _ in range(200)}
    assert len(seen) == 8


def test_psnr_of_doing_nothing() -> None:
    """20 log10(1 / sigma), within 0.1 dB for 100 pictures of 768 numbers."""
    assert psnr(Told(), Arrays(pictures(100), torch.zeros(100)), 0.1) == pytest.approx(20, abs=0.1)


def test_training_writes_a_card_with_psnr(tmp_path) -> None:
    data, out = Arrays(pictures(32), torch.zeros(32)), tmp_path / "mine.safetensors"
    denoiser = fresh(Denoiser, 0)
    before = psnr(denoiser, data, 0.25)
    card = train(denoiser, "denoiser", data, data, make_objective("denoise"), Schedule(epochs=20, batch=8), out)
    assert out.exists()
    assert card["psnr"]["0.25"] > before + 2
    assert set(card["psnr"]) == {"0.1", "0.25", "0.5"}
    assert "test_accuracy" not in card
    assert re.fullmatch(
        r"\S+ dB at sigma 0.1, \S+ dB at sigma 0.25, \S+ dB at sigma 0.5 \(32 inputs of .*, which it learnt from\)",
        summary(card),
    )
    other = Arrays(pictures(32), torch.zeros(32), data.name)
    again = train(denoiser, "denoiser", data, other, make_objective("denoise"), Schedule(epochs=1), out)
    assert "learnt" not in summary(again), "a test split goes by the name of its training split"


def test_what_cannot_be_denoised(tmp_path) -> None:
    colour, grey = Arrays(pictures(2), torch.zeros(2)), Arrays(pictures(2)[:, :1], torch.zeros(2))
    for model, data, objective, message in (
        (nn.Identity(), colour, Denoise(), "--objective denoise trains --arch denoiser, and nothing else"),
        (Denoiser(), colour, Standard(), "--objective denoise trains --arch denoiser, and nothing else"),
        (Denoiser(), grey, Denoise(), r"expected square colour pictures \(3, N, N\) to denoise, got \(1, 16, 16\)"),
    ):
        with pytest.raises(ArgumentError, match=message):
            train(model, "any", data, data, objective, Schedule(), tmp_path / "x.safetensors")


@pytest.mark.parametrize("options", [{"augment": True}, {"beta": 1.0}])
def test_denoise_takes_no_options(options) -> None:
    with pytest.raises(ArgumentError, match="'denoise' draws its own noise"):
        make_objective("denoise", **options)


def test_recognised_adds_what_the_classifier_thinks_of_the_denoised_picture() -> None:
    """Of a denoiser that does nothing: the squared error to one of the two mirrors, and the noisy picture's entropy."""
    x, labels = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(1)), torch.arange(4)
    model, classifier = Told(), load_shipped("cifar10-resnet20")
    objective = Recognised(Denoise(), "cifar10-resnet20", weight=0.5)
    value = objective.loss(model, x, labels, torch.Generator().manual_seed(0))
    entropy = nn.functional.cross_entropy(classifier(model.noisy), labels)
    clean = min((x, x.flip(3)), key=lambda pictures: float((pictures - model.noisy).square().mean()))
    error = ((model.noisy - clean).square() / model.sigma.view(-1, 1, 1, 1)).mean()
    assert float(value) == pytest.approx(float(error + 0.5 * entropy))


def test_recognised_reaches_the_denoiser() -> None:
    denoiser, x = fresh(Denoiser, 0), torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    objective = Recognised(Denoise(), "cifar10-resnet20")
    objective.loss(denoiser, x, torch.tensor([0, 1]), torch.Generator().manual_seed(0)).backward()
    assert float(denoiser.leave.bias.grad.abs().sum()) > 0


def test_behind_is_the_squared_error_and_the_task_of_both_together() -> None:
    x, labels = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(1)), torch.arange(4)
    denoiser, task = fresh(Denoiser, 0), OneSided(Gaussian(0.25), beta=3.0)
    nn.init.constant_(denoiser.linear.weight, 0.01)
    value = Behind(Denoise(), task, "cifar10-resnet20", sigma=0.25, weight=0.5).loss(
        denoiser, x, labels, torch.Generator().manual_seed(0)
    )
    generator, pair = torch.Generator().manual_seed(0), Denoised(load_shipped("cifar10-resnet20"), denoiser, 0.25)
    asked = task.loss(pair, x, labels, generator)
    error = Denoise().attempt(denoiser, x, generator)[1]
    assert float(value.detach()) == pytest.approx(float((0.5 * asked + error).detach()))
    value.backward()
    assert float(denoiser.linear.weight.grad.abs().sum()) > 0


def test_grey_test_pictures_are_refused_before_the_training(tmp_path) -> None:
    grey = Arrays(torch.rand(4, 1, 16, 16), torch.zeros(4, dtype=torch.long))
    with pytest.raises(ArgumentError, match=r"expected colour pictures \(3, H, W\) to denoise, got \(1, 16, 16\)"):
        train(
            fresh(Denoiser, 0),
            "denoiser",
            Arrays(pictures(), torch.zeros(8, dtype=torch.long)),
            grey,
            Denoise(),
            Schedule(epochs=10_000),
            tmp_path / "out.safetensors",
            command="",
        )


def test_grey_pictures_are_not_denoised() -> None:
    with pytest.raises(ArgumentError, match=r"expected colour pictures \(3, H, W\) to denoise, got \(1, 16, 16\)"):
        fresh(Denoiser, 0)(torch.rand(2, 1, 16, 16), torch.full((2,), 0.1))


def test_brief_rounds_and_nothing_else() -> None:
    """bfloat16 has 8 bits: the loss agrees to a percent, and its slope is there in single precision."""
    x = pictures(16)
    values = []
    for objective in (Denoise(), Bfloat16(Denoise())):
        denoiser = fresh(Denoiser, 0)
        nn.init.constant_(denoiser.linear.weight, 0.01)
        loss = objective.loss(denoiser, x, torch.zeros(16), torch.Generator().manual_seed(0))
        loss.backward()
        values.append((float(loss.detach()), denoiser.linear.weight.grad))
    assert values[1][0] == pytest.approx(values[0][0], rel=0.01)
    assert values[1][0] != values[0][0]
    assert values[1][1].dtype == torch.float32
    assert float((values[1][1] - values[0][1]).norm()) < 0.02 * float(values[0][1].norm())


def test_clean_cross_entropy_beside_the_base() -> None:
    """Zero logits over ten classes: ln 10 for the base and half of it again."""
    model, x = nn.Linear(4, 10), torch.zeros(3, 4)
    nn.init.zeros_(model.bias)
    value = WithClean(Standard(), weight=0.5).loss(model, x, torch.tensor([1, 2, 3]), torch.Generator())
    assert float(value.detach()) == pytest.approx(1.5 * math.log(10))


def test_settled_batch_norm_neither_uses_nor_learns_the_batch() -> None:
    norm = nn.BatchNorm1d(4)
    model = nn.Sequential(norm, nn.Dropout(0.5)).train()
    x = 5 + torch.rand(6, 4, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([0, 1, 2, 3, 0, 1])
    FrozenNorm(Standard()).loss(model, x, labels, torch.Generator())
    assert torch.equal(norm.running_mean, torch.zeros(4))
    assert norm.training
    Standard().loss(model, x, labels, torch.Generator())
    assert float(norm.running_mean.min()) > 0.4


def test_settled_leaves_layers_at_rest_alone() -> None:
    norm = nn.BatchNorm1d(4).eval()
    with pytest.raises(IndexError):
        FrozenNorm(Standard()).loss(norm, torch.zeros(2, 4), torch.tensor([0, 9]), torch.Generator())
    assert not norm.training
