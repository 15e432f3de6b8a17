"""Statistics alone, on draws made here: the pilot is never tested on itself, and each fact is what the theory says."""

import numpy as np
import pytest
import torch

from attribound.bounds import Closeness, Length, Normal, Spread, confidence
from attribound.sampling import Draws, Setting
from attribound.sampling.norm import Norm
from attribound.sampling.radius import MapRadius
from attribound.sampling.spread import SecondMoments
from tests.sampling.running import default_statistics


def rows(count: int, dim: int = 6, seed: int = 0) -> torch.Tensor:
    """Draws of length 1 around 0.6 e_1."""
    noise = torch.randn(count, dim - 1, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    noise = 0.8 * noise / noise.norm(dim=1, keepdim=True)
    return torch.cat([torch.full((count, 1), 0.6, dtype=torch.float64), noise], dim=1)


def fed(statistic, chunks, planned=400):
    statistic.start(Draws(chunks[0]), Setting(6, 1.0, planned, Normal(6, 0.5)))
    for chunk in chunks[1:]:
        statistic.add(Draws(chunk))
    return statistic


def test_the_norm_bets_on_directions_known_before() -> None:
    chunks = list(rows(400).split(50))
    statistic = fed(Norm(share=0.5), chunks)
    projections = []
    for index, chunk in enumerate(chunks[1:], 1):
        known = torch.cat(chunks[:index]).sum(dim=0)
        projections += (chunk @ (known / known.norm())).tolist()
    fact = statistic.prove(0.01, {})
    assert isinstance(fact, Length)
    # Directions differ in the last bit (sums in another order), the bound by as little.
    assert fact.lower == pytest.approx(
        confidence.norm_lower_bound(projections, limit=1.0, alpha=0.01, horizon=400), abs=1e-11
    )
    assert fact.sampled == pytest.approx(float(rows(400).mean(dim=0).norm()))
    assert statistic.count == 400


def test_directions_of_tiny_draws_have_length_1() -> None:
    """Squares of 1e-162 vanish: of such a pilot's mean the direction had length 3, and so had what was projected."""
    pilot = torch.full((1, 6), 1.5e-162, dtype=torch.float64)
    pilot[0, 0] = 2.3e-162
    fact = fed(Norm(share=0.5), [pilot, pilot.new_full((399, 6), 0.1)]).prove(0.01, {})
    assert fact.lower <= 0.1 * 6**0.5


def test_a_pilot_alone_proves_nothing() -> None:
    """The first draws fix the direction; tested on themselves they would always point along it."""
    assert fed(Norm(share=0.5), [rows(50)]).prove(0.01, {}).lower == 0.0
    assert fed(SecondMoments(share=0.25), [rows(50)]).prove(0.01, {}).eigenvalue >= 1.0


def test_changing_the_pilot_changes_no_test() -> None:
    """Second moments are those of the later draws about the pilot's centre."""
    first, later = rows(50), rows(350, seed=1)
    statistic = fed(SecondMoments(share=0.25), [first, later])
    centred = later - first.mean(dim=0)
    sampled = float(torch.linalg.eigvalsh(centred.T @ centred / 350)[-1])
    reach = 1.0 + float(first.mean(dim=0).norm())
    near = 1.25 * float((first - first.mean(dim=0)).norm(dim=1).max())
    far = int((centred.norm(dim=1) > near).sum())
    exact = confidence.eigenvalue_upper_bound(sampled, reach=reach, samples=350, alpha=0.01, near=near, far=far)
    assert far == 0
    assert exact <= statistic.prove(0.01, {}).eigenvalue <= 1.02 * exact


def test_far_draws_are_counted_not_averaged() -> None:
    later = rows(350, seed=1)
    later[:3] = -later[:3]  # far from the centre
    statistic = fed(SecondMoments(share=0.25), [0.6 * rows(1).expand(50, 6) + 0.01 * rows(50), later])
    assert statistic._far == int(((later - statistic._centre).norm(dim=1) > statistic._near).sum()) > 0
    assert statistic._scatter.count == 350


def test_the_map_radius_is_the_inequality_with_half_of_its_alpha() -> None:
    statistic = MapRadius(share=0.25)
    statistic.start(Draws(rows(100)), Setting(6, 1.0, 400, Normal(6, 0.5), block=2))
    statistic.add(Draws(rows(300)))
    fact = statistic.prove(0.01, {Length: Length(0.5, 0.6), Spread: Spread(0.3)})
    radius = confidence.mean_radius(limit=1.0, norm_lower=0.5, samples=400, alpha=0.005, eigenvalue_upper=0.15)
    assert fact == Closeness(radius=radius, attacked_alpha=0.005)


@pytest.mark.parametrize("statistic", default_statistics(), ids=lambda one: type(one).__name__)
def test_hopes_are_not_below_what_is_proved(statistic) -> None:
    """A hope that is too low would give up on what could be proved; it is never used to certify."""
    chunks = list(rows(400).split(50))
    known: dict = {}
    for one in default_statistics():
        fed(one, chunks)
        proved = one.prove(0.01, known)
        known[type(proved)] = proved
        if type(one) is type(statistic):
            hoped = one.hope(0.01, known)
            break
    better = {Length: ("lower", 1), Spread: ("eigenvalue", -1), Closeness: ("radius", -1)}
    if type(proved) in better:
        name, sign = better[type(proved)]
        assert sign * getattr(hoped, name) >= sign * getattr(proved, name) - 1e-12
    else:
        assert hoped is None or type(hoped) is statistic.fact


@pytest.mark.parametrize("statistic", default_statistics(), ids=lambda one: type(one).__name__)
def test_a_statistic_says_which_fact_it_proves(statistic) -> None:
    known: dict = {}
    for one in default_statistics():
        fed(one, list(rows(400).split(50)))
        fact = one.prove(0.01, known)
        if fact is not None:
            known[type(fact)] = fact
        if type(one) is type(statistic):
            assert fact is None or type(fact) is statistic.fact
            assert fact is None or all(np.all(np.isfinite(value)) for value in fact.to_json().values())
            break
