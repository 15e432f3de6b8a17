import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm as normal

from attribound.bounds import Ball, Normal, cosine_bound_curvature, cosine_from_displacement, displacement_curvature
from attribound.bounds.rules.curvature import CURVATURE, Curvature
from tests.bounds.known import ANY, knowing


def test_the_constant():
    assert pytest.approx(2 * normal.pdf(1), rel=1e-15) == CURVATURE
    assert pytest.approx(0.48394145, abs=5e-9) == CURVATURE
    # E (z^2 - 1)_+, the largest E[f (z^2 - 1)] over outputs f in [0, 1].
    z = np.linspace(-12, 12, 200_001)
    assert pytest.approx(np.sum(np.maximum(z**2 - 1, 0) * normal.pdf(z)) * (z[1] - z[0]), rel=1e-6) == CURVATURE


@pytest.mark.parametrize("sigma", [0.25, 1.0, 3.0])
def test_half_space(sigma):
    # f = 1{y_1 > 0} smoothed is Phi(x / sigma); its gradient phi(x / sigma) / sigma.
    start = np.linspace(-4, 4, 161)[:, None] * sigma
    epsilon = np.geomspace(1e-3, 5, 40) * sigma
    moved = np.abs(normal.pdf((start + epsilon) / sigma) - normal.pdf(start / sigma)) / sigma
    bound = displacement_curvature(epsilon, sigma)
    assert np.all(moved <= bound)
    assert (moved / bound).max() == pytest.approx(0.5, abs=1e-3)  # phi(1) is half the constant


def test_an_epsilon_beyond_all_numbers_proves_nothing():
    evidence = knowing(Normal(2, 0.1), 1.0, 1.0, 1.0, gradient=True)
    with np.errstate(over="raise"):
        known = Curvature().certified(evidence, np.array([0.001, 1e308, np.finfo(np.float64).max]))
    assert known[0] > 0.9
    assert known[1:].tolist() == [-1, -1]


@pytest.mark.parametrize("sigma", [0.25, 1.0, 3.0])
def test_outside_of_a_slab_reaches_the_bound(sigma):
    # f = 1{|y_1| > sigma} has second derivative exactly 2 phi(1) / sigma^2 at 0.
    epsilon = np.geomspace(1e-4, 5, 40) * sigma
    u = epsilon / sigma
    moved = np.abs(normal.pdf(1 - u) - normal.pdf(1 + u)) / sigma
    bound = displacement_curvature(epsilon, sigma)
    assert np.all(moved <= bound)
    assert moved[0] == pytest.approx(bound[0], rel=1e-6)


class Steps:
    """A step function of one coordinate with values in [0, 1], smoothed with sigma: value and slope are exact."""

    def __init__(self, rng, sigma):
        self.edges = np.sort(rng.normal(0, 2 * sigma, rng.integers(1, 5)))
        self.values = rng.integers(0, 2, self.edges.size + 1).astype(float)
        self.values[0] = 1 - self.values[-1]
        self.sigma = sigma

    def value(self, x):
        return self.values[0] + np.diff(self.values) @ ndtr((x - self.edges) / self.sigma)

    def slope(self, x):
        return np.diff(self.values) @ normal.pdf((x - self.edges) / self.sigma) / self.sigma


def test_no_product_of_steps_beats_the_rule():
    rng = np.random.default_rng(0)
    informative = 0
    for _ in range(1000):
        sigma = rng.uniform(0.2, 2)
        f1, f2 = Steps(rng, sigma), Steps(rng, sigma)

        def gradient(x, f1=f1, f2=f2):
            return np.array([f1.slope(x[0]) * f2.value(x[1]), f1.value(x[0]) * f2.slope(x[1])])

        x, delta = rng.normal(0, sigma, 2), rng.normal(size=2)
        epsilon = sigma * rng.exponential(0.3)
        before, after = gradient(x), gradient(x + delta * epsilon / np.linalg.norm(delta))
        assert np.linalg.norm(after - before) <= displacement_curvature(epsilon, sigma) * (1 + 1e-12)
        length = np.linalg.norm(before)
        bound = cosine_bound_curvature(length, epsilon=epsilon, sigma=sigma)
        assert before @ after / (length * np.linalg.norm(after)) >= bound - 1e-12
        informative += bound > 0
    assert informative > 100


def test_cosine_of_a_ball():
    # The tangent from the origin to a circle of radius 3 around (5, 0): cosine 4/5.
    assert cosine_from_displacement(5.0, 3.0) == pytest.approx(0.8, rel=1e-15)
    assert cosine_from_displacement(5.0, 0.0) == 1.0
    assert cosine_from_displacement(5.0, 5.0) == -1.0
    assert cosine_from_displacement(5.0, 6.0) == -1.0
    assert cosine_from_displacement(0.0, 0.0) == -1.0
    angle = np.linspace(0, 2 * np.pi, 100_001)
    circle = 2.0 + 0.7 * np.exp(1j * angle)
    assert cosine_from_displacement(2.0, 0.7) == pytest.approx((circle.real / np.abs(circle)).min(), rel=1e-8)


def test_the_rule_is_its_displacement():
    assert displacement_curvature(0.3, 0.5) == pytest.approx(0.48394145 * 0.3 / 0.25, rel=1e-8)
    expected = np.sqrt(1 - (0.48394145 * 0.3 / (0.25 * 0.9)) ** 2)
    assert cosine_bound_curvature(0.9, epsilon=0.3, sigma=0.5) == pytest.approx(expected, rel=1e-7)
    assert cosine_bound_curvature(0.5, epsilon=0.3, sigma=0.5) == -1.0


def test_shapes():
    assert type(displacement_curvature(1, 2)) is float
    assert type(cosine_bound_curvature(1.0, epsilon=0.1, sigma=1.0)) is float
    assert type(cosine_from_displacement(1, 0.5)) is float
    table = cosine_bound_curvature(np.array([[0.1], [1.0]]), epsilon=np.array([0.1, 0.2, 9.0]), sigma=1.0)
    assert table.shape == (2, 3)
    assert table[1, 2] == -1.0
    assert table[1, 0] == cosine_bound_curvature(1.0, epsilon=0.1, sigma=1.0)


def test_the_rule_asks_the_law():
    """Gaussian gradients of probabilities only; numbers as the closed forms give them, rounded outwards."""
    rule, epsilon = Curvature(), np.array([0.05, 0.2, 5.0])
    evidence = knowing(Normal(ANY, 0.7), 2.0, 0.9, 1.0, gradient=True)
    assert rule.applies(evidence)
    assert not rule.applies(knowing(Normal(ANY, 0.7), 2.0, 0.9, 1.0))
    assert not rule.applies(knowing(Ball(ANY, 0.7), 2.0, 0.9, 1.0, gradient=True))
    exact = displacement_curvature(epsilon, 0.7)
    assert np.all(rule.displacement(evidence, epsilon) >= exact)
    np.testing.assert_allclose(rule.displacement(evidence, epsilon), exact, rtol=1e-11)
    np.testing.assert_allclose(
        rule.cosine(evidence, epsilon), cosine_bound_curvature(0.9, epsilon=epsilon, sigma=0.7), rtol=1e-10
    )


@pytest.mark.parametrize("unit", [1e-3, 0.5, 1.0, 40.0])
def test_equal_units_are_a_plain_law_of_that_scale(unit):
    """Noise of sigma in units of u is noise of sigma u, and epsilon units are a change of epsilon u."""
    rule, epsilon = Curvature(), np.array([0.05, 0.2, 5.0])
    counted = knowing(Normal(2, 0.7), 1.0, 0.9, 0.3, gradient=True, units=(unit, unit))
    plain = knowing(Normal(2, 0.7 * unit), 1.0, 0.9, 0.3, gradient=True)
    np.testing.assert_allclose(rule.displacement(counted, epsilon), rule.displacement(plain, epsilon * unit))


def test_the_smallest_unit_counts():
    """The outside of a slab in the feature with the smallest unit attains the bound, whatever the other's unit is."""
    rule, unit, sigma, epsilon = Curvature(), 0.01, 0.5, 1e-3
    evidence = knowing(Normal(2, sigma), 1.0, 0.9, 0.3, gradient=True, units=(3.0, unit))
    raw, shift = sigma * unit, epsilon / sigma  # deviation in the input's own values, shift in deviations
    moved = abs(normal.pdf(1 - shift) - normal.pdf(1 + shift)) / raw
    assert moved <= rule.displacement(evidence, np.array(epsilon)) == pytest.approx(moved, rel=1e-4)


@pytest.mark.parametrize(("sigma", "units"), [(1e-200, None), (1e170, None), (1.0, (1e-320, 1.0))])
def test_a_rate_beyond_floating_point_says_nothing(sigma, units):
    assert not Curvature().applies(knowing(Normal(2, sigma), 1.0, 0.9, 0.3, gradient=True, units=units))
