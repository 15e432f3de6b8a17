"""Votes: counted as by comparing, covered as promised, and no marked cell ever flips."""

import numpy as np
import pytest
import torch
from scipy import stats

from attribound.baselines import certify_pixels
from attribound.bounds import Normal, Votes
from attribound.certificates.verify import verify
from attribound.certification.certifier import certify
from attribound.errors import ArgumentError, StoredDataError
from attribound.fields import Centred, Pooled, Saliency, Unit
from attribound.fields.base import Explanation, Field
from attribound.noise import Gaussian, UniformBall
from attribound.randomness import Purpose
from attribound.sampling import Draws, Setting
from attribound.sampling.votes import VoteCount, count_votes, mark_cells
from tests.certificates.forging import problems
from tests.problems import HalfSpaces, Linear
from tests.reference.counts import marks_by_comparing
from tests.sampling.running import drawn


def test_votes_are_counted_as_by_comparing_also_among_equals() -> None:
    rng = np.random.default_rng(0)
    for decimals in (0, 1, 8):
        maps = np.round(rng.normal(size=(40, 30)), decimals)
        numbers = [15, 9, 3, 1, 29]
        wanted = np.array([[marks_by_comparing(row, number) for row in maps] for number in numbers])
        hot, tied = count_votes(maps, numbers)
        assert (hot == (wanted == 1).sum(axis=1)).all()
        assert (tied == (wanted == 0).sum(axis=1)).all()
        assert (mark_cells(maps, 0.3) == [marks_by_comparing(row, 9) for row in maps]).all()
        assert tied.any() == (decimals < 8)


def test_an_empty_map_votes_for_nothing() -> None:
    hot, tied = count_votes(np.zeros((5, 4)), [2])
    assert (hot.tolist(), tied.tolist()) == ([[0] * 4], [[5] * 4])
    assert (certify_pixels(np.zeros((100, 4)), 0.5) == 0).all()


class Zeros(Field):
    """A map that is zero in all cells but perhaps the first."""

    name, output = "zeros", "logit"

    def __init__(self, first: float) -> None:
        self.first, self.model = first, Linear(torch.zeros(4, dtype=torch.float64))

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        maps = torch.zeros(len(inputs), 6, dtype=torch.float64)
        maps[:, 0] = self.first
        return Explanation(maps)


def test_no_cell_of_an_empty_map_is_proved_and_records_keep_ties(tmp_path) -> None:
    """By position, half of the cells would be proved hot and the others cold."""
    x = torch.zeros(4, dtype=torch.float64)
    for first, marks in ((0.0, [0] * 6), (1.0, [1, 0, 0, 0, 0, 0]), (-1.0, [-1, 0, 0, 0, 0, 0])):
        certificate = certify(Unit(Zeros(first)), x, 0, noise=Gaussian(0.5), samples=512, cells=(0.5,))
        assert certificate.cells(0.5, 0.1).tolist() == marks
        certificate.save(tmp_path / "c.json")
        outcome = verify(tmp_path / "c.json")
        assert outcome.passed
        assert outcome.certificate.evidence == certificate.evidence


TIES = {
    "more hot cells than there can be": lambda votes: votes.update(hot=[[512] * 4 + [0, 0]], tied=[[0] * 4 + [9, 9]]),
    "no ties": lambda votes: votes.pop("tied"),
    "ties of another shape": lambda votes: votes["tied"][0].pop(),
    "more ties than draws": lambda votes: votes["tied"][0].__setitem__(1, 513),
    "hot and tied in the same draws": lambda votes: votes["tied"][0].__setitem__(0, 1),
    "all hot": lambda votes: votes.update(hot=[[512] * 6], tied=[[0] * 6]),
}


def complaint(certificate, path, change) -> str:
    """What is said about a changed record, by reading or by verifying it; empty if nothing is."""
    try:
        return "; ".join(problems(certificate, path, change))
    except StoredDataError as error:
        return str(error)


@pytest.mark.parametrize("name", TIES)
def test_forged_ties_are_found(name, tmp_path) -> None:
    field = Unit(Zeros(1.0))
    certificate = certify(field, torch.zeros(4).double(), 0, noise=Gaussian(0.5), samples=512, cells=(0.5,))
    assert "votes" in complaint(certificate, tmp_path / "c.json", lambda r: TIES[name](r["facts"]["votes"]))


def test_all_draws_vote_also_the_pilot() -> None:
    generator = torch.Generator().manual_seed(1)
    chunks = [torch.randn(rows, 10, dtype=torch.float64, generator=generator) for rows in (7, 5, 3)]
    statistic = VoteCount((0.3, 0.5))
    statistic.start(Draws(chunks[0]), Setting(10, 1.0, 15, Normal(10, 0.5)))
    for chunk in chunks[1:]:
        statistic.add(Draws(chunk))
    fact = statistic.prove(1e-4, {})
    assert fact.fractions.tolist() == [0.5, 0.3]
    assert (fact.hot == count_votes(torch.cat(chunks).numpy(), [5, 3])[0]).all()
    assert (fact.draws, fact.spent) == (15, 1e-4)


# --- coverage with known votes -------------------------------------------------------------------------------

RUNS, CELLS, ALPHA = 400, 20, 0.1


def failures(optimism: float) -> int:
    """Runs in which any of all cells' bounds exceeds its known probability, half of alpha being spent on them."""
    rng = np.random.default_rng(2)
    truth, failed = np.linspace(0.5, 0.9, CELLS), 0
    for _ in range(RUNS):
        hot = rng.binomial(200, truth)
        fact = Votes(np.array([0.5]), hot[None].astype(float), np.zeros((1, CELLS)), 200.0, ALPHA, ALPHA)
        sides, lower = fact.winners(0.5)
        held = np.where(sides > 0, truth, 1 - truth)
        failed += bool((lower * optimism > held).any())
    return failed


def test_all_cells_are_covered_together() -> None:
    """P(Bin(400, 0.1) > 70) < 2e-6: the false alarm of a bound that is right."""
    assert failures(1.0) <= 70


def test_a_bound_ten_percent_too_optimistic_would_be_noticed() -> None:
    assert failures(1.1) > 70


def test_sampled_vote_maps_show_the_marks() -> None:
    """At an attacked input where each marked cell has just what its radius promises; false alarm below 2e-6."""
    law, rng = Normal(2, 1.0), np.random.default_rng(3)
    hot = np.linspace(300, 500, CELLS)[None].round()
    fact = Votes(np.array([0.5]), hot, np.zeros((1, CELLS)), 500.0, 1e-3, ALPHA)
    _, lower = fact.winners(0.5)
    _, radii = fact.radii(0.5, law, samples=100)
    marked = radii > 0
    assert 5 < marked.sum() < CELLS
    left = stats.norm.cdf(stats.norm.ppf(lower[marked]) - radii[marked])
    shown = rng.binomial(100, left, (RUNS, marked.sum())) > 50
    assert (~shown.all(axis=1)).sum() <= 70
    # Ten percent further, some mark is lost in more runs than alpha allows for one cell.
    further = stats.norm.cdf(stats.norm.ppf(lower[marked]) - 1.1 * radii[marked] - 0.05)
    assert (rng.binomial(100, further, (RUNS, marked.sum())) <= 50).any(axis=1).sum() > 70


# --- no marked cell flips ------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [Gaussian(0.5), UniformBall(2.0)], ids=["gaussian", "uniform"])
@pytest.mark.parametrize("fields", [3, pytest.param(7, marks=pytest.mark.slow)])
def test_no_radius_reaches_a_known_flip(noise, fields) -> None:
    """Up to 7 fields of 784 cells for each noise, 10,976 cells in all, each attacked in its own worst direction.

    Each certificate may be false with probability 1e-4 / 16: a false alarm below 1e-4 for all.
    """
    marked = reached = 0
    for seed in range(fields):
        field = HalfSpaces.random(392, 16, 1.5 * noise.law(16).sigma, seed)
        x = torch.zeros(16, dtype=torch.float64)
        certificate = certify(Unit(field), x, 0, noise=noise, samples=2000, alpha=1e-4, cells=(0.5,), seed=seed)
        flips = np.repeat(field.thresholds.numpy(), 2)
        radii, marks = certificate.cell_radius(0.5), certificate.cells(0.5, 0.0)
        assert (radii <= flips).all()
        assert set(marks[0::2]) <= {0, 1}
        assert set(marks[1::2]) <= {0, -1}
        marked += np.count_nonzero(marks)
        reached += np.count_nonzero(radii > 0.5 * flips)
    assert marked > 0.8 * fields * 784
    # Gaussian half-spaces are the worst case, so radii come near the flips; for the ball they are not.
    assert reached > (0.6 if isinstance(noise, Gaussian) else 0.3) * marked


def test_half_spaces_flip_just_beyond_their_threshold() -> None:
    """The problem's own answer: at 0.9 of its threshold a pair keeps its side, at 1.1 it has lost it."""
    field = HalfSpaces.random(20, 16, 0.5, 1)
    for pair in range(20):
        for part, keeps in ((0.9, True), (1.1, False)):
            x = part * field.thresholds[pair] * field.directions[pair] if field.thresholds[pair] > 0.1 else None
            if x is None:
                continue
            source = drawn(Unit(field), x, 0, Gaussian(0.05), seed=pair)
            maps = next(source[1].rounds(source[0], 2000)).maps
            assert (float((maps[:, 2 * pair] > 0).double().mean()) > 0.5) is keeps


FRACTIONS = (0.5, 0.3, 0.1)


def attacks_on_weakest(source, radii, marks, epsilon, count):
    """Changes of length epsilon against the marked cells with the smallest radii.

    The gradient of a vote's probability is E[vote * noise] / sigma^2, whatever the network: no derivative is needed.
    """
    family, design = source
    noise = design.noise.draw(1500, family.origin, torch.Generator().manual_seed(design.item))
    maps = family.explain(noise).maps.flatten(1).numpy()
    votes = torch.from_numpy((mark_cells(maps, 0.5) > 0).astype(np.float32))
    weakest = np.argsort(np.where(marks.ravel() != 0, radii.ravel(), np.inf))[:count]
    for cell in weakest:
        change = -int(marks.ravel()[cell]) * torch.einsum("n,n...->...", votes[:, cell], noise)
        yield family.x + epsilon * change / change.norm()


def count_attacked_cells(model, sample, item, attacks) -> int:
    base, noise = Unit(Centred(Pooled(Saliency(model), size=7))), Gaussian(0.5)
    x, target = sample[0][item], int(sample[1][item])
    certificate = certify(base, x, target, noise=noise, samples=1500, cells=FRACTIONS)
    marks = {fraction: certificate.cells(fraction, 0.3, samples=600) for fraction in FRACTIONS}
    source = drawn(base, x, target, noise, 7, item, Purpose.ATTACK)
    checked = 0
    for attacked in attacks_on_weakest(source, certificate.cell_radius(0.5), marks[0.5], 0.3, attacks):
        fresh = drawn(base, attacked, target, noise, 8, item, Purpose.REFERENCE)
        maps = torch.cat([draws.maps for draws in fresh[1].rounds(fresh[0], 600)]).numpy()
        for fraction, wanted in marks.items():
            shown = np.sign(mark_cells(maps, fraction).sum(axis=0, dtype=int)).reshape(wanted.shape)
            assert (shown == wanted)[wanted != 0].all()
            checked += np.count_nonzero(wanted)
    return checked


def test_attacked_vote_maps_of_a_network_keep_every_mark(noise_model, sample) -> None:
    """Each attacked map shows all marks except with probability 1e-3 / 16: false alarm 1.3e-4."""
    assert count_attacked_cells(noise_model, sample, 0, attacks=2) > 200


@pytest.mark.slow
def test_no_marked_cell_flips_in_ten_thousand_attacked_cases(noise_model, sample) -> None:
    """96 attacked maps, each of which shows all marks except with probability 1e-3 / 16: false alarm 0.006."""
    assert sum(count_attacked_cells(noise_model, sample, item, attacks=6) for item in range(16)) >= 10_000


def test_the_attack_finds_flips_beyond_what_is_certified(noise_model, sample) -> None:
    """At 2.5 instead of 0.3 it does move cells that are marked at 0.3: the tests above attack something."""
    base, noise = Unit(Centred(Pooled(Saliency(noise_model), size=7))), Gaussian(0.5)
    certificate = certify(base, sample[0][0], 7, noise=noise, samples=1500, cells=(0.5,))
    marks = certificate.cells(0.5, 0.3)
    source = drawn(base, sample[0][0], 7, noise, 7, 0, Purpose.ATTACK)
    attacked = next(attacks_on_weakest(source, certificate.cell_radius(0.5), marks, 2.5, 1))
    fresh = drawn(base, attacked, 7, noise, 8, 0, Purpose.REFERENCE)
    maps = torch.cat([draws.maps for draws in fresh[1].rounds(fresh[0], 600)]).numpy()
    shown = np.sign(mark_cells(maps, 0.5).sum(axis=0, dtype=int)).reshape(marks.shape)
    assert (shown != marks)[marks != 0].any()


def test_votes_need_one_noisy_input_per_map(noise_model, sample) -> None:
    from attribound.fields import IntegratedGradients

    field = Unit(IntegratedGradients(noise_model, steps=4, path="random"))
    with pytest.raises(ArgumentError, match=r"expected no `cells` for .* on a random path: 4 noisy inputs share a map"):
        certify(field, sample[0][0], noise=Gaussian(0.5), samples=64, cells=(0.5,))
