"""Error bars: the inequality itself, a naive copy, coverage at every look, and stopping when the top is settled."""

import math

import numpy as np
import pytest
import torch

from attribound.bounds import Closeness, ErrorBars
from attribound.bounds.cells import BOLDEST
from attribound.certification.certifier import Certifier, certify
from attribound.errors import ArgumentError
from attribound.fields import Centred, Pooled, Saliency, Unit
from attribound.noise import Gaussian
from attribound.sampling import CosineAt, Draws, Setting, TopK
from attribound.sampling.error_bars import CellErrors
from tests.problems import Linear
from tests.reference.counts import error_bars


def bars_of(chunks, *, limit=1.0, alpha=0.1, planned=None) -> list[ErrorBars]:
    """What is proved after each chunk but the first, the pilot."""
    statistic = CellErrors(1.0)
    size, total = chunks[0].shape[1], sum(len(chunk) for chunk in chunks)
    statistic.start(Draws(chunks[0]), Setting(size, limit, planned or total, Gaussian(0.5).law(2), 1, alpha))
    proved = []
    for chunk in chunks[1:]:
        statistic.add(Draws(chunk))
        proved.append(statistic.prove(alpha, {}))
    return proved


def growth(reach_factor: float) -> float:
    """The largest mean of the process that must be a supermartingale, over two-point draws, centres and weights."""
    most = 0.0
    for centre in np.linspace(-0.9, 0.9, 7):
        for low, high in [(-1.0, 1.0), (-1.0, 0.2), (-0.3, 1.0), (-1.0, centre)]:
            for chance in (0.001, 0.05, 0.5, 0.95):
                mean = chance * low + (1 - chance) * high
                reach = reach_factor * (1 + abs(centre))
                for weight in (0.01, 0.3, BOLDEST):
                    cost = -math.log1p(-weight) - weight
                    for sign in (1, -1):
                        gains = [
                            math.exp(sign * weight * (x - mean) / reach - cost * ((x - centre) / reach) ** 2)
                            for x in (low, high)
                        ]
                        most = max(most, chance * gains[0] + (1 - chance) * gains[1])
    return most


def test_the_process_is_a_supermartingale_and_would_not_be_with_a_smaller_reach() -> None:
    assert growth(1.0) <= 1 + 1e-12
    assert growth(0.7) > 1 + 1e-6


def test_error_bars_are_those_of_a_naive_copy() -> None:
    generator = torch.Generator().manual_seed(0)
    chunks = [torch.rand(rows, 4, dtype=torch.float64, generator=generator) - 0.3 for rows in (9, 7, 5)]
    level = math.log(2 * 4 / 0.1)
    wanted = error_bars([chunk.tolist() for chunk in chunks], 1.0, level, level, 21)
    assert bars_of(chunks)[-1].half == pytest.approx(np.minimum(wanted, 2.0), rel=1e-6)


RUNS = 300


def failures(*scales: float) -> list[int]:
    """Runs in which at *any* look any of 12 cells of known mean is outside its bars, at alpha 0.1, for scaled bars."""
    generator = torch.Generator().manual_seed(1)
    chances = torch.tensor([0.5, 0.1, 0.02, 0.9] * 3, dtype=torch.float64)
    failed = [0] * len(scales)
    for _ in range(RUNS):
        draws = (torch.rand(320, 12, generator=generator, dtype=torch.float64) < chances).double()
        sums = torch.cumsum(draws, dim=0)
        proved = bars_of(list(draws.split(32)))
        means = [sums[32 * (look + 2) - 1] / (32 * (look + 2)) for look in range(9)]
        looks = [((mean - chances).abs().numpy(), bars.half) for mean, bars in zip(means, proved, strict=True)]
        for number, scale in enumerate(scales):
            failed[number] += any((off > scale * half).any() for off, half in looks)
    return failed


def test_all_cells_at_all_looks_are_covered_together() -> None:
    """P(Bin(300, 0.1) > 57) < 1e-6. Bars of half the size would be noticed."""
    whole, halved = failures(1.0, 0.5)
    assert whole <= 57
    assert halved > 57


def test_bars_shrink_and_are_near_those_of_bernstein() -> None:
    generator = torch.Generator().manual_seed(2)
    draws = 0.2 * torch.rand(8192, 3, dtype=torch.float64, generator=generator)
    few, many = (bars_of(list(draws[:count].split(256)))[-1].half for count in (1024, 8192))
    assert (many < few / 2.5).all()
    level, variance = math.log(6 / 0.1), 0.04 / 12
    bernstein = math.sqrt(2 * level * variance / 8192) + level / 8192
    assert (many < 1.5 * bernstein).all()


def test_a_pilot_alone_proves_nothing() -> None:
    statistic = CellErrors(1.0)
    statistic.start(Draws(torch.zeros(4, 3, dtype=torch.float64)), Setting(3, 1.0, 4, Gaussian(0.5).law(2)))
    assert (statistic.prove(0.1, {}).half >= 2.0).all()


# --- certificates --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pooled(noise_model) -> Unit:
    return Unit(Centred(Pooled(Saliency(noise_model), size=7)))


def test_intervals_hold_the_exact_map_and_are_narrower_than_its_ball(pooled, sample) -> None:
    certificate = certify(pooled, sample[0][0], noise=Gaussian(0.5), samples=2048, seed=1)
    low, high = certificate.interval()
    assert low.shape == high.shape == certificate.attribution.shape == (7, 7)
    assert np.median(high - low) < certificate.map_radius
    other = certify(pooled, sample[0][0], noise=Gaussian(0.5), samples=2048, seed=2)
    # Two intervals that both hold the truth meet; each may be false with probability 1e-3 / 16.
    assert (np.maximum(low, other.interval()[0]) <= np.minimum(high, other.interval()[1])).all()


def test_a_constant_field_is_inside_its_bars_and_its_limit() -> None:
    weights = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    certificate = certify(
        Unit(Saliency(Linear(weights))), torch.zeros(3, dtype=torch.float64), 0, noise=Gaussian(1.0), samples=1000
    )
    low, high = certificate.interval()
    assert (low <= weights.numpy()).all()
    assert (weights.numpy() <= high).all()
    assert high.max() == 1.0
    assert (high - low)[1] < 0.05


def test_without_error_bars_of_their_own_cells_have_the_radius_of_the_map(pooled, sample) -> None:
    certificate = Certifier(pooled, noise=Gaussian(0.5), samples=512)(sample[0][0])
    low, high = certificate.interval()
    assert ErrorBars not in certificate.evidence.facts
    assert high - low == pytest.approx(np.full((7, 7), 2 * certificate.map_radius))
    assert certificate.top_k(5, 0.1) <= certify(pooled, sample[0][0], noise=Gaussian(0.5), samples=512).top_k(5, 0.1)


def test_error_bars_settle_more_of_the_top_and_more_signs(pooled, sample) -> None:
    from attribound.bounds import sign_kept, top_k_overlap

    certificate = certify(pooled, sample[0][0], noise=Gaussian(0.5), samples=2048)
    ball = float(certificate.evidence.fact(Closeness).radius)
    tops = [(certificate.top_k(k, 0.0), top_k_overlap(certificate.attribution, k, ball)) for k in range(1, 25)]
    assert all(box >= plain for box, plain in tops)
    assert any(box > plain for box, plain in tops)
    assert certificate.signs(0.0).sum() > sign_kept(certificate.attribution, ball).sum()


def test_sampling_stops_once_the_top_is_settled(pooled, sample) -> None:
    certificate = certify(pooled, sample[0][0], noise=Gaussian(0.5), samples=20_000, until=TopK(5))
    assert certificate.record.stopped == "proved"
    assert certificate.samples < 10_000
    assert certificate.top_k(5, 0.0) == 5
    assert (certificate.record.until.top_k, certificate.record.until.epsilon) == (5, 0.0)
    # What was settled is true: another estimate has the same five.
    again = certify(pooled, sample[0][0], noise=Gaussian(0.5), samples=6000, seed=99)
    top = [set(np.argsort(-one.attribution.ravel())[:5]) for one in (certificate, again)]
    assert top[0] == top[1]


def test_equal_cells_are_never_settled() -> None:
    weights = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
    field, x = Unit(Saliency(Linear(weights))), torch.zeros(3, dtype=torch.float64)
    even = certify(field, x, 0, noise=Gaussian(1.0), samples=2000, until=TopK(1))
    assert even.record.stopped in ("futile", "budget")
    assert even.top_k(1, 0.0) == 0
    assert certify(field, x, 0, noise=Gaussian(1.0), samples=2000, until=TopK(2)).record.stopped == "proved"


def test_a_top_that_moves_too_far_is_futile(pooled, sample) -> None:
    certificate = certify(pooled, sample[0][0], noise=Gaussian(0.5), samples=20_000, until=TopK(5, epsilon=2.0))
    assert (certificate.record.stopped, certificate.samples < 20_000) == ("futile", True)


def test_cosine_questions_still_work(pooled, sample) -> None:
    by_tuple = certify(pooled, sample[0][0], noise=Gaussian(0.5), samples=8192, until=(0.8, 0.3))
    by_name = certify(pooled, sample[0][0], noise=Gaussian(0.5), samples=8192, until=CosineAt(0.8, 0.3))
    assert by_tuple.record.stopped == "proved"
    assert by_tuple.samples == by_name.samples < 8192
    assert by_tuple.record.until == by_name.record.until == (0.8, 0.3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TopK(0), "expected `until's k` to be a whole number >= 1"),
        (lambda: TopK(3, -1.0), "expected `until's epsilon` >= 0"),
        (lambda: CosineAt(1.5, 0.1), "expected `until's cosine` in"),
    ],
)
def test_bad_questions(make, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_until_must_be_a_question(pooled, sample) -> None:
    with pytest.raises(ArgumentError, match=r"expected `until` to be \(cosine, epsilon\) or TopK\(k\), got 'soon'"):
        certify(pooled, sample[0][0], noise=Gaussian(0.5), until="soon")
