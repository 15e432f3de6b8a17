"""The peer's pixel votes: their test, their numbers, our draws."""

import numpy as np
import pytest
import torch
from scipy import stats

from attribound.baselines.pixel_votes import certify_pixels, pixel_votes
from attribound.certification.certifier import certify
from attribound.errors import ArgumentError
from attribound.fields import Centred, IntegratedGradients, Pooled, Saliency, Unit
from attribound.noise import Gaussian
from attribound.sampling.votes import mark_cells
from tests.problems import HalfSpaces
from tests.sampling.running import drawn


def test_marks_are_those_of_the_exact_binomial_test() -> None:
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(100, 40)) + np.linspace(-3, 3, 40)
    marks, hot = certify_pixels(maps, 0.5), mark_cells(maps, 0.5) > 0
    for cell in range(40):
        side = hot[:10, cell].sum() > 5
        agreed = int((hot[10:, cell] == side).sum())
        rejected = stats.binomtest(agreed, 90, 0.75, alternative="greater").pvalue <= 1e-3 / 40
        assert marks[cell] == (0 if not rejected else 1 if side else -1)
    assert 0 < np.count_nonzero(marks) < 40


def test_a_pixel_of_an_image_needs_98_percent_of_90_draws() -> None:
    """With 224 x 224 pixels their test asks for 88 of 90 draws (97.8 %)."""
    for agreed, marked in ((87, False), (88, True)):
        maps = np.zeros((100, 224 * 224))
        maps[:, 1:4] = [0.5, 0.4, 0.3]
        maps[: 10 + agreed, 0] = 1.0
        assert bool(certify_pixels(maps, 3 / 224**2)[0] == 1) is marked


def test_it_uses_the_draws_of_a_certificate(noise_model, sample) -> None:
    field, noise = Unit(Centred(Pooled(Saliency(noise_model), size=7))), Gaussian(0.5)
    certificate = certify(field, sample[0][0], noise=noise, samples=800, cells=(0.5,), seed=5)
    source = drawn(field, sample[0][0], certificate.target, noise, seed=5)
    maps = torch.cat([draws.maps for draws in source[1].rounds(source[0], 800)]).numpy()
    theirs = pixel_votes(*source, 0.5, planned=800)
    assert (theirs.marks == certify_pixels(maps[:100], 0.5)).all()
    assert theirs.radius == pytest.approx(0.5 * stats.norm.ppf(0.75), rel=1e-8)
    # At their radius ours, with all 800 draws, marks more cells, and none on the other side.
    ours = certificate.cells(0.5, theirs.radius).ravel()
    assert np.mean(ours != 0) > theirs.certified > 0.2
    assert not (ours * theirs.marks < 0).any()


def test_no_mark_of_theirs_is_false_either() -> None:
    """1,600 cells with a known flip; false alarm 4e-3 at most."""
    for seed in range(4):
        field = HalfSpaces.random(200, 8, 1.5, seed)
        source = drawn(Unit(field), torch.zeros(8, dtype=torch.float64), 0, Gaussian(0.5), seed=seed)
        marks = pixel_votes(*source, 0.5)
        flips = np.repeat(field.thresholds.numpy(), 2)
        assert (flips[marks.marks != 0] >= marks.radius).all()
        assert np.count_nonzero(marks.marks) > 100


@pytest.mark.parametrize(("arguments", "message"), [({"guess": 100}, "got 100, 100"), ({"planned": 50}, "100 and 50")])
def test_bad_numbers_of_draws(arguments, message) -> None:
    source = drawn(Unit(HalfSpaces.random(4, 3, 1.0, 0)), torch.zeros(3, dtype=torch.float64), 0, Gaussian(0.5))
    with pytest.raises(ArgumentError, match=message):
        pixel_votes(*source, 0.5, **arguments)


def test_random_paths_are_refused(noise_model, sample) -> None:
    field = Unit(IntegratedGradients(noise_model, steps=4, path="random"))
    with pytest.raises(ArgumentError, match="expected one noisy input per map, got 4"):
        pixel_votes(*drawn(field, sample[0][0], 7, Gaussian(0.5)), 0.5)
