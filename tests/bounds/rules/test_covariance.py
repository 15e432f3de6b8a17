import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from attribound.bounds import Ball, cosine_bound, moved_fraction
from attribound.bounds.evidence import Evidence
from attribound.bounds.laws import truncate_normal
from attribound.bounds.rules.covariance import Covariance
from tests.bounds.known import ANY, ball, normal, shift_of
from tests.reference import cells, exact

relaxed = settings(deadline=None, database=None, derandomize=True, max_examples=60)
RULE = Covariance()
norms, eigenvalues, shifts = st.floats(0.01, 1.0), st.floats(1e-6, 1.0), st.floats(0.01, 4.0)
pairs = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=2).map(sorted)


def known(norm, limit, eigenvalue, *, epsilon=None, sigma=1.0, moved_fraction=None):
    """Evidence and a shift: normal noise and epsilon, or the ball and what the shift moves."""
    if moved_fraction is None:
        return normal(norm, limit, eigenvalue, sigma), np.float64(epsilon)
    return ball(norm, limit, eigenvalue), np.float64(shift_of(moved_fraction))


def cosine_bound_covariance(*numbers, **how):
    return float(RULE.cosine(*known(*numbers, **how)))


def displacement_covariance(*numbers, **how):
    return float(RULE.displacement(*known(*numbers, **how)))


def within(norm, eigenvalue, limit=1.0):
    """A share of the largest eigenvalue that a field of this norm and limit can have."""
    return eigenvalue * (limit**2 - norm**2)


def gaussian_rule(norm, eigenvalue, shift, level):
    """The rule at one truncation level, limit 1, straight from the inequality, by scipy's quadrature."""
    cap = np.exp(shift * level - shift**2 / 2)

    def moment(power):
        def below(z):
            return math.exp(power * (shift * z - shift**2 / 2) - z**2 / 2) / math.sqrt(2 * math.pi)

        return integrate.quad(below, level - 20, level, epsabs=1e-14)[0] + cap**power * stats.norm.sf(level)

    kept = moment(1)
    sine = (1 - kept + np.sqrt(eigenvalue * (moment(2) - kept**2))) / (norm * kept)
    return np.sqrt(1 - sine**2) if sine < 1 else -1.0


@pytest.mark.parametrize("shift", [1e-3, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("above", [-3.0, 0.0, 1.0, 4.0])
def test_truncation_agrees_with_40_digit_quadrature(shift, above):
    cut = truncate_normal(np.float64(shift), np.float64(shift + above))
    missing, variance = exact.truncation(shift, shift + above)
    # Both carry an allowance for rounding (1e-15, and 1e-15 exp(shift^2)) and must not lie below the truth.
    assert missing <= cut.missing <= float(missing) + 2e-15
    assert variance <= float(cut.deviation) ** 2 <= float(variance) + 2e-15 * np.exp(shift**2)


def test_truncation_of_nothing_is_the_whole_likelihood_ratio():
    for shift in (0.1, 1.0, 2.0):
        cut = truncate_normal(np.float64(shift), np.float64(2 * shift + 8))
        assert cut.missing < 2e-15
        assert cut.deviation == pytest.approx(np.sqrt(np.expm1(shift**2)), rel=1e-12)


def test_truncation_by_a_sum_over_a_fine_grid():
    z = np.linspace(-12, 12, 400_001)
    mass = stats.norm.pdf(z) * (z[1] - z[0])
    weight = np.minimum(np.exp(0.8 * z - 0.32), np.exp(0.8 * 1.7 - 0.32))
    kept = weight @ mass
    cut = truncate_normal(np.float64(0.8), np.float64(1.7))
    assert cut.missing == pytest.approx(1 - kept, rel=1e-6)
    assert cut.deviation == pytest.approx(np.sqrt((weight - kept) ** 2 @ mass), rel=1e-6)


def test_overflow_is_an_empty_statement_and_not_an_error():
    assert cosine_bound_covariance(0.5, 1.0, 1e-300, epsilon=60.0, sigma=1.0) == -1.0
    assert displacement_covariance(0.5, 1.0, 0.1, epsilon=60.0, sigma=1.0) >= 1.4


def test_truncation_of_the_ball():
    law = Ball(ANY, 1.0)
    cut = law.truncate(law.epsilon_at([0.0, 0.2, 1.0]), np.zeros(1))
    np.testing.assert_allclose(cut.missing, [0.0, 0.2, 1.0], atol=1e-12)
    np.testing.assert_allclose(cut.deviation, [0.0, 0.4, 0.0], atol=1e-6)


@relaxed
@given(st.floats(0.01, 1), st.floats(0, 1), st.floats(0, 0.9), st.floats(0.1, 50))
def test_ball_rule_is_the_formula(kappa, eigenvalue, p, limit):
    norm = kappa * limit
    eigenvalue = float(ball(norm, limit, eigenvalue * limit**2).eigenvalue)  # never above the trace, never quite 0
    sine = (p * limit + np.sqrt(p * (1 - p) * eigenvalue)) / ((1 - p) * norm)
    bound = cosine_bound_covariance(norm, limit, eigenvalue, moved_fraction=p)
    if abs(sine - 1) > 1e-9:
        assert bound == pytest.approx(np.sqrt(1 - sine**2) if sine < 1 else -1.0, rel=1e-6)
    assert displacement_covariance(norm, limit, eigenvalue, moved_fraction=p) == pytest.approx(
        p * (limit + norm) + np.sqrt(p * (1 - p) * eigenvalue), rel=1e-10
    )


@relaxed
@given(norms, eigenvalues, shifts, st.floats(0.1, 50))
def test_never_worse_than_plain_cauchy_schwarz(kappa, eigenvalue, shift, limit):
    spread = eigenvalue * np.expm1(shift**2)
    plain = np.sqrt(1 - spread / kappa**2) if spread < kappa**2 else -1.0
    bound = cosine_bound_covariance(kappa * limit, limit, eigenvalue * limit**2, epsilon=shift * 0.3, sigma=0.3)
    assert bound >= plain - 1e-6
    moved = displacement_covariance(kappa * limit, limit, eigenvalue * limit**2, epsilon=shift * 0.3, sigma=0.3)
    assert moved <= limit * np.sqrt(spread) * (1 + 1e-6)


@pytest.mark.parametrize(
    ("norm", "eigenvalue", "shift"),
    [(0.9, 0.01, 1.5), (0.8, 0.02, 1.0), (0.5, 0.1, 0.3), (0.8, 0.3, 1.0), (0.9, 1e-4, 3.0)],
)
def test_the_search_finds_the_best_level(norm, eigenvalue, shift):
    bound = cosine_bound_covariance(norm, 1.0, eigenvalue, epsilon=shift, sigma=1.0)
    scan = max(gaussian_rule(norm, eigenvalue, shift, shift + above) for above in np.linspace(-5, 8, 53))
    assert bound > 0.3
    # At least the best of the coarse scan, and no further above it than the scan's step allows.
    assert scan - 1e-9 <= bound <= scan + 2e-3


def test_truncation_helps_much():
    # Plain Cauchy-Schwarz is empty here: 0.01 (exp(4.84) - 1) > 0.81.
    assert cosine_bound_covariance(0.9, 1.0, 0.01, epsilon=2.2, sigma=1.0) > 0.4


@relaxed
@given(norms, eigenvalues, pairs)
def test_falls_with_epsilon_and_moved_fraction(norm, eigenvalue, pair):
    near, far = (cosine_bound_covariance(norm, 1.0, eigenvalue, epsilon=3 * e, sigma=1.0) for e in pair)
    assert far <= near + 1e-6
    near, far = (cosine_bound_covariance(norm, 1.0, eigenvalue, moved_fraction=p) for p in pair)
    assert far <= near + 1e-12
    near, far = (displacement_covariance(norm, 1.0, eigenvalue, epsilon=3 * e, sigma=1.0) for e in pair)
    assert near <= far + 1e-6


@relaxed
@given(norms, pairs, shifts)
def test_falls_with_eigenvalue(norm, pair, shift):
    for how in ({"epsilon": shift, "sigma": 1.0}, {"moved_fraction": shift / 8}):
        small, large = (cosine_bound_covariance(norm, 1.0, eigenvalue, **how) for eigenvalue in pair)
        assert large <= small + 1e-6
        small, large = (displacement_covariance(norm, 1.0, eigenvalue, **how) for eigenvalue in pair)
        assert small <= large + 1e-6


@relaxed
@given(pairs, eigenvalues, shifts)
def test_rises_with_norm_and_falls_with_limit(pair, eigenvalue, shift):
    for how in ({"epsilon": shift, "sigma": 1.0}, {"moved_fraction": shift / 8}):
        small, large = (cosine_bound_covariance(norm, 1.0, eigenvalue, **how) for norm in pair)
        assert small <= large + 1e-6
        small, large = (cosine_bound_covariance(0.01, limit, eigenvalue, **how) for limit in pair)
        assert large <= small + 1e-6
        possible = within(pair[1], eigenvalue)  # for both norms
        small, large = (displacement_covariance(norm, 1.0, possible, **how) for norm in pair)
        assert small <= large + 1e-6


def test_only_the_ratios_matter():
    for how in ({"epsilon": 0.7, "sigma": 1.0}, {"moved_fraction": 0.1}):
        bound = cosine_bound_covariance(0.8, 1.0, 0.02, **how)
        assert cosine_bound_covariance(8.0, 10.0, 2.0, **how) == pytest.approx(bound, rel=1e-12)
        moved = displacement_covariance(0.8, 1.0, 0.02, **how)
        assert displacement_covariance(8.0, 10.0, 2.0, **how) == pytest.approx(10 * moved, rel=1e-6)
    assert cosine_bound_covariance(0.8, 1.0, 0.02, epsilon=0.35, sigma=0.5) == cosine_bound_covariance(
        0.8, 1.0, 0.02, epsilon=0.7, sigma=1.0
    )


def test_the_ends():
    assert cosine_bound_covariance(0.5, 1.0, 0.1, epsilon=0.0, sigma=1.0) == pytest.approx(1.0, abs=1e-12)
    assert cosine_bound_covariance(0.5, 1.0, 0.1, moved_fraction=0.0) == 1.0
    assert cosine_bound_covariance(0.5, 1.0, 0.1, moved_fraction=1.0) == -1.0
    assert cosine_bound_covariance(0.0, 1.0, 0.1, epsilon=0.1, sigma=1.0) == -1.0
    assert cosine_bound_covariance(0.0, 1.0, 0.0, moved_fraction=0.0) == -1.0
    assert cosine_bound_covariance(0.5, 1.0, 0.0, epsilon=1.0, sigma=1.0) == pytest.approx(1.0, abs=1e-11)
    assert displacement_covariance(0.5, 1.0, 0.1, moved_fraction=0.0) == 0.0
    assert displacement_covariance(0.5, 1.0, 0.1, epsilon=0.0, sigma=1.0) < 1e-7


@pytest.mark.parametrize("rows", [1, 500])
def test_a_zero_with_a_minus_is_no_length(rows):
    """A sine of minus infinity is below 1: a record that proves nothing stated cosine 0 at every epsilon."""
    zeros = np.full((rows, 1), -0.0)
    for evidence in (normal(zeros, 1.0, 0.1, 1.0), ball(zeros, 1.0, 0.1)):
        for rule in (RULE, RULE.quick):
            assert (rule.certified(evidence, np.array([1e-9, 0.1, 1.0, 100.0])) == -1).all()


def check_all(field, shift):
    """No rule may exceed the true cosine, nor fall short of the true displacement; the tightest ratio of the last."""
    known = (field.norm, field.limit, field.eigenvalue)
    moved = moved_fraction(shift, sigma=1.0)
    assert field.cosine(shift) >= cosine_bound_covariance(*known, epsilon=shift, sigma=1.0) - 1e-12
    assert field.cosine(shift) >= cosine_bound(field.norm, field.limit, moved) - 1e-12
    reach = displacement_covariance(*known, epsilon=shift, sigma=1.0)
    assert field.displacement(shift) <= reach * (1 + 1e-12)
    assert field.displacement(shift) <= 2 * moved * field.limit * (1 + 1e-12)
    return field.displacement(shift) / reach


@pytest.mark.parametrize("fields", [1000, pytest.param(3000, marks=pytest.mark.slow)])
def test_no_random_field_beats_a_rule(fields):
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(fields):
        field = cells.random_field(rng)
        ratios.append(check_all(field, rng.exponential(0.7)))
    assert max(ratios) > 0.8  # the cases come close: 0.90 to 0.95 with six other seeds


def test_no_two_valued_field_beats_a_rule():
    # Signs that flip where the densities cross: the fields that make the tight theorem tight.
    rng = np.random.default_rng(2)
    for _ in range(300):
        shift, turn = rng.uniform(0.01, 2), rng.uniform(0, np.pi)
        arrow = np.array([np.cos(turn), np.sin(turn)])
        middle = rng.uniform(0, 1) * np.array([1.0, 0.0])
        field = cells.StepField(
            np.array([shift / 2, shift / 2 + rng.exponential(2)]), np.array([-arrow, arrow, middle])
        )
        check_all(field, shift)


@pytest.mark.parametrize(
    ("norm", "shift", "above", "reached"),
    [
        (0.1, 0.5, 3.0, 0.9999),
        (0.2, 1.0, 3.0, 0.9995),
        (0.3, 1.0, 1.5, 0.999),
        (0.5, 1.0, 1.5, 0.99),
        (0.8, 2, 1.5, 0.9),
    ],
)
def test_the_extremal_field_nearly_reaches_the_rule(norm, shift, above, reached):
    # h + k (W - E W) u turns by almost the certified angle: no factor is hidden in the rule.
    field = cells.extremal_field(norm, shift, shift + above)
    check_all(field, shift)
    bound = cosine_bound_covariance(field.norm, field.limit, field.eigenvalue, epsilon=shift, sigma=1.0)
    assert bound > -1
    assert np.sqrt(1 - field.cosine(shift) ** 2) >= reached * np.sqrt(1 - bound**2)
    assert cosine_bound(field.norm, field.limit, moved_fraction(shift, sigma=1.0)) < bound


def test_extremal_fields_never_beat_a_rule():
    rng = np.random.default_rng(3)
    for _ in range(60):
        shift = rng.uniform(0.05, 2.5)
        field = cells.extremal_field(rng.uniform(0.05, 0.95), shift, shift + rng.uniform(-0.5, 4), cells=401)
        for factor in (0.5, 1.0, 1.3):  # also at shifts it was not made for
            check_all(field, factor * shift)


def test_three_regions_never_beat_the_ball_rule():
    # The ball's field is free on B, on the overlap and on B~; only what is drawn at x enters the covariance.
    rng = np.random.default_rng(4)
    for _ in range(3000):
        p = rng.uniform(0, 0.5)
        leaving, staying, arriving = cells.random_field(rng).values[rng.integers(0, 2, 3)]
        leaving, arriving = (v * rng.uniform(0.2, 1) / max(np.linalg.norm(v), 1e-9) for v in (leaving, arriving))
        h, after = p * leaving + (1 - p) * staying, p * arriving + (1 - p) * staying
        eigenvalue = p * (1 - p) * np.sum((leaving - staying) ** 2)
        norm = np.linalg.norm(h)
        if norm < 1e-6 or np.linalg.norm(after) < 1e-6:
            continue
        cosine = h @ after / (norm * np.linalg.norm(after))
        assert cosine >= cosine_bound_covariance(norm, 1.0, eigenvalue, moved_fraction=p) - 1e-12
        assert cosine >= cosine_bound(norm, 1.0, p) - 1e-12
        moved = displacement_covariance(norm, 1.0, eigenvalue, moved_fraction=p)
        assert np.linalg.norm(after - h) <= moved + 1e-12


def test_the_ball_rule_is_reached():
    # e = p G3 - (1-p)-part of the spread, both along u; u leans back by the angle turned. Staying parts vary too, so
    # that Cauchy-Schwarz is an equality: G1 - G2 along -u.
    p, norm, k = 0.1, 0.6, 0.3
    back = 0.0
    for _ in range(100):
        u = np.array([-back, np.sqrt(1 - back**2)])
        h = np.array([norm, 0.0])
        leaving, staying = h - k * (1 - p) * u, h + k * p * u
        after = (1 - p) * staying + p * u
        cosine = after[0] / np.linalg.norm(after)
        back = np.sqrt(1 - cosine**2)
    np.testing.assert_allclose(p * leaving + (1 - p) * staying, h, atol=1e-15)
    assert np.linalg.norm(leaving) <= 1
    eigenvalue = k**2 * p * (1 - p)
    assert cosine_bound_covariance(norm, 1.0, eigenvalue, moved_fraction=p) == pytest.approx(cosine, abs=1e-9)


@pytest.mark.parametrize("own", [False, True])
def test_many_questions_are_answered_as_each_alone(own):
    rng = np.random.default_rng(5)
    norm, share = rng.uniform(0.05, 1, (200, 1)), 10 ** rng.uniform(-6, 0, (200, 1))
    spread = within(norm, share)
    epsilon = 10 ** rng.uniform(-2, 0.6, (200, 1) if own else 1)
    alone = [normal(*row, sigma=1.0) for row in zip(norm[:, 0], np.ones(200), spread[:, 0], strict=True)]
    together, each = Evidence.stack(alone), np.broadcast_to(epsilon, (200, 1))
    cosines = [RULE.cosine(one, at) for one, at in zip(alone, each, strict=True)]
    np.testing.assert_allclose(RULE.cosine(together, epsilon), cosines, rtol=0, atol=1e-9)
    moved = [RULE.displacement(one, at) for one, at in zip(alone, each, strict=True)]
    np.testing.assert_allclose(RULE.displacement(together, epsilon), moved, rtol=1e-9)


def test_very_many_questions_take_the_best_level_of_one_grid():
    rng = np.random.default_rng(6)
    norm, share = rng.uniform(0.05, 1, (100, 1)), 10 ** rng.uniform(-6, 0, (100, 1))
    together = Evidence.stack(
        [normal(*row, sigma=1.0) for row in zip(norm[:, 0], np.ones(100), within(norm, share)[:, 0], strict=True)]
    )
    epsilon = 10 ** np.linspace(-2, 0.6, 50)
    law, spread = together.law, np.sqrt(together.eigenvalue)
    cosines, distances = RULE.cosine(together, epsilon), RULE.displacement(together, epsilon)
    for at, shift in enumerate(epsilon.tolist()):
        low, high = law.level_range(np.array(shift))
        cut = law.truncate(np.array(shift), np.linspace(float(low), float(high), law.levels))
        kept = 1 - cut.missing
        sine = ((cut.missing + spread * cut.deviation) / kept).min(axis=1) / np.asarray(together.norm_lower)[:, 0]
        wanted = np.where(sine < 1, np.sqrt(np.maximum(1 - sine**2, 0)), -1)
        np.testing.assert_allclose(cosines[:, at], wanted, atol=1e-9)
        moved = (1 + together.norm_upper) * cut.missing + spread * cut.deviation
        np.testing.assert_allclose(distances[:, at], moved.min(axis=1), rtol=1e-12)


@pytest.mark.parametrize("own", [False, True])
def test_the_quick_rule_says_almost_the_same_and_nothing_that_no_truncation_proves(own):
    rng = np.random.default_rng(7)
    norm, share = rng.uniform(0.6, 0.95, (200, 1)), 10 ** rng.uniform(-2, -0.3, (200, 1))
    known = zip(norm[:, 0], np.ones(200), within(norm, share)[:, 0], strict=True)
    together = Evidence.stack([normal(*row, sigma=1.0) for row in known])
    epsilon = rng.uniform(0.2, 0.6, (200, 1) if own else 1)
    for name, better in (("cosine", 1), ("displacement", -1)):
        quick, whole = (getattr(rule, name)(together, epsilon) for rule in (RULE.quick, RULE))
        np.testing.assert_allclose(quick, whole, rtol=1e-7)
        low, high = together.law.level_range(np.broadcast_to(epsilon, (200, 1))[:, 0])
        cut = together.law.truncate(epsilon, np.linspace(low, high, 20_001, axis=-1))
        spread = np.sqrt(together.eigenvalue) * cut.deviation
        sine = ((cut.missing + spread) / (1 - cut.missing)).min(axis=1) / norm[:, 0]
        best = {
            "cosine": np.sqrt(1 - sine**2),
            "displacement": ((1 + together.norm_upper) * cut.missing + spread).min(axis=1),
        }
        assert np.all(better * (quick[:, 0] - best[name]) <= 1e-6)


def test_the_quick_rule_is_sound_where_newton_goes_astray():
    rng = np.random.default_rng(8)
    norm, share = rng.uniform(0.05, 1, (300, 1)), 10 ** rng.uniform(-6, 0, (300, 1))
    known = zip(norm[:, 0], np.ones(300), within(norm, share)[:, 0], strict=True)
    together = Evidence.stack([normal(*row, sigma=1.0) for row in known])
    epsilon = 10 ** rng.uniform(-2, 0.6, (300, 1))
    assert np.all(RULE.quick.cosine(together, epsilon) <= RULE.cosine(together, epsilon) + 1e-7)
    assert np.all(RULE.quick.displacement(together, epsilon) >= RULE.displacement(together, epsilon) * (1 - 1e-7))
