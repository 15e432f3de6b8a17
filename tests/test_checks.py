"""Every refusal names the argument, what was expected and what came; and the room stays free of torch."""

import re
import subprocess
import sys

import numpy as np
import pytest

from attribound import bounds, checks
from attribound.bounds import features
from attribound.errors import ArgumentError, AttriboundError

NAN, INF = float("nan"), float("inf")
KNOWN = {"norm": 0.5, "limit": 1.0}
BALL = {"dim": 10, "radius": 1.0}
EVIDENCE = bounds.Evidence.of(bounds.Ball(10, 1.0), 1.0, bounds.Length(0.5, 0.5), bounds.Spread(0.1))
SPECS = "expected a noise, uniform:RADIUS or gaussian:SIGMA with a positive number"
ONE_LAW = "expected exactly one of `radius` (uniform) and `sigma` (gaussian)"
PROJECTIONS = "expected `projections` in [-limit, limit] with limit 1"


def moved(epsilon=0.1, **more):
    return lambda: bounds.moved_fraction(epsilon, **more)


def cosine(norm=0.5, limit=1.0, p=0.1):
    return lambda: bounds.cosine_bound(norm, limit, p)


def betting(projections=(0.1, 0.2), limit=1.0, alpha=0.1):
    return lambda: bounds.norm_lower_bound(projections, limit=limit, alpha=alpha)


def eigen(eigenvalue=0.1, reach=1.0, samples=10, alpha=0.1, **more):
    return lambda: bounds.eigenvalue_upper_bound(eigenvalue, reach=reach, samples=samples, alpha=alpha, **more)


def radius(limit=1.0, norm_lower=0.5, samples=10, alpha=0.1, **more):
    return lambda: bounds.mean_radius(limit=limit, norm_lower=norm_lower, samples=samples, alpha=alpha, **more)


REFUSED = [
    # the moved fraction
    (moved(-0.1, **BALL), "expected `epsilon` >= 0, got -0.1"),
    (moved(NAN, **BALL), "expected `epsilon` to be a number, got nan"),
    (moved(INF, **BALL), "expected `epsilon` >= 0, got inf"),
    (moved("far", **BALL), "expected `epsilon` to be a number, got 'far'"),
    (moved(np.array([0.1, -2.0, -3.0]), sigma=1.0), "expected `epsilon` >= 0, got -2"),
    (moved(), ONE_LAW),
    (moved(dim=10, radius=1.0, sigma=1.0), ONE_LAW),
    (moved(radius=1.0), "expected `dim` for this noise, got nothing"),
    (moved(dim=1, radius=1.0), "expected `dim` to be a whole number >= 2, got 1"),
    (moved(dim=-3, radius=1.0), "expected `dim` to be a whole number >= 2, got -3"),
    (moved(dim=2.5, radius=1.0), "expected `dim` to be a whole number >= 2, got 2.5"),
    (moved(dim=NAN, radius=1.0), "expected `dim` to be a number, got nan"),
    (moved(dim=[3, 1], radius=1.0), "expected `dim` to be a whole number >= 2, got 1"),
    (moved(dim=10, radius=0.0), "expected `radius` > 0, got 0"),
    (moved(dim=10, radius=-1.0), "expected `radius` > 0, got -1"),
    (moved(dim=10, radius=INF), "expected `radius` > 0, got inf"),
    (moved(sigma=0.0), "expected `sigma` > 0, got 0"),
    (moved(sigma=NAN), "expected `sigma` to be a number, got nan"),
    (lambda: bounds.shift_size(1.1, sigma=1.0), "expected `moved` in [0, 1], got 1.1"),
    (lambda: bounds.shift_size(0.1), ONE_LAW),
    (lambda: bounds.shift_size(0.1, dim=1, radius=1.0), "expected `dim` to be a whole number >= 2, got 1"),
    # the tight theorem and its inverses
    (cosine(norm=-0.1), "expected `norm` >= 0, got -0.1"),
    (cosine(norm=NAN), "expected `norm` to be a number, got nan"),
    (cosine(limit=0.0), "expected `limit` > 0, got 0"),
    (cosine(limit=INF), "expected `limit` > 0, got inf"),
    (cosine(norm=3.0, limit=2.0), "expected `norm` <= `limit`, got norm 3 and limit 2"),
    (cosine(norm=[0.5, 3.0], limit=2.0), "expected `norm` <= `limit`, got norm 3 and limit 2"),
    (cosine(norm=1 + 1e-8), "expected `norm` <= `limit`, got norm 1 and limit 1"),
    (cosine(p=1.1), "expected `moved_fraction` in [0, 1], got 1.1"),
    (cosine(p=-0.1), "expected `moved_fraction` in [0, 1], got -0.1"),
    (lambda: bounds.largest_moved_fraction(0.5, 1.0, 1.5), "expected `cosine` in [0, 1], got 1.5"),
    (lambda: bounds.largest_moved_fraction(2.0, 1.0, 0.5), "expected `norm` <= `limit`, got norm 2 and limit 1"),
    (lambda: bounds.max_epsilon(-0.5, **KNOWN, **BALL), "expected `cosine` in [0, 1], got -0.5"),
    (lambda: bounds.max_epsilon(NAN, **KNOWN, **BALL), "expected `cosine` to be a number, got nan"),
    (lambda: bounds.max_epsilon(0.5, **KNOWN), ONE_LAW),
    (lambda: bounds.max_epsilon(0.5, **KNOWN, radius=1.0), "expected `dim` for this noise, got nothing"),
    (lambda: bounds.min_radius(0.5, -1.0, **KNOWN, dim=10), "expected `epsilon` >= 0, got -1"),
    (lambda: bounds.min_radius(0.5, 1.0, **KNOWN, dim=1), "expected `dim` to be a whole number >= 2, got 1"),
    (lambda: bounds.min_radius(2.0, 1.0, **KNOWN, dim=10), "expected `cosine` in [0, 1], got 2"),
    (lambda: bounds.min_sigma(0.5, -1.0, **KNOWN), "expected `epsilon` >= 0, got -1"),
    # laws and evidence
    (lambda: bounds.Normal(10, 0.0), "expected `sigma` > 0, got 0"),
    (lambda: bounds.Normal(10, NAN), "expected `sigma` to be a number, got nan"),
    (lambda: bounds.Normal(0, 1.0), "expected `dim` to be a whole number >= 1, got 0"),
    (lambda: bounds.Ball(10, -1.0), "expected `radius` > 0, got -1"),
    (lambda: bounds.Ball(2.5, 1.0), "expected `dim` to be a whole number >= 1, got 2.5"),
    (lambda: bounds.Budget((1.0, 2.0)).dim(3), "expected one unit per feature (3), got 2"),
    (lambda: bounds.Budget((1.0, -1.0)), "expected `scale` >= 0, got -1"),
    (lambda: bounds.Budget((1.0, NAN)), "expected `scale` to be a number, got nan"),
    (lambda: bounds.Ball.value_of(0.0, 10), "expected `sigma` > 0, got 0"),
    (lambda: bounds.Ball(10, 1.0).moved_fraction(-1.0), "expected `epsilon` >= 0, got -1"),
    (lambda: bounds.Ball(10, 1.0).epsilon_at(1.5), "expected `moved` in [0, 1], got 1.5"),
    (lambda: bounds.Normal(10, 1.0).normal_shift(-1.0), "expected `epsilon` >= 0, got -1"),
    (lambda: bounds.parse_law("laplace:1", 9), f"{SPECS}, got 'laplace:1'"),
    (lambda: bounds.parse_law("uniform", 9), f"{SPECS}, got 'uniform'"),
    (lambda: bounds.parse_law("uniform:zero", 9), f"{SPECS}, got 'uniform:zero'"),
    (lambda: bounds.parse_law("gaussian:-1", 9), f"{SPECS}, got 'gaussian:-1'"),
    (lambda: bounds.parse_law("gaussian:inf", 9), f"{SPECS}, got 'gaussian:inf'"),
    (
        lambda: bounds.Evidence.stack(
            [EVIDENCE, bounds.Evidence.of(bounds.Ball(9, 1.0), 1.0, *EVIDENCE.facts.values())]
        ),
        "expected evidence with one law and the same facts to be stacked",
    ),
    (lambda: EVIDENCE.max_epsilon(1.5), "expected `cosine` in [0, 1], got 1.5"),
    (lambda: EVIDENCE.max_epsilon(-0.5), "expected `cosine` in [0, 1], got -0.5"),
    (lambda: EVIDENCE.max_epsilon(NAN), "expected `cosine` in [0, 1], got nan"),
    (lambda: EVIDENCE.cosine(-1.0), "expected `epsilon` >= 0, got -1"),
    (lambda: EVIDENCE.cosines(NAN), "expected `epsilon` to be a number, got nan"),
    (lambda: EVIDENCE.rule_at(-1.0), "expected `epsilon` >= 0, got -1"),
    (lambda: EVIDENCE.displacement(-1.0), "expected `epsilon` >= 0, got -1"),
    # features and draws
    (lambda: bounds.top_k_overlap([NAN, 2.0, 1.0], 2, 0.1), "expected a finite `attribution`"),
    (lambda: bounds.mean_radius(limit=1.0, norm_lower=5.0, samples=9, alpha=0.1), "expected `norm` <= `limit`"),
    (lambda: bounds.mean_radius(limit=1.0, norm_lower=0.5, samples=INF, alpha=0.1), "expected `samples`"),
    (
        lambda: bounds.eigenvalue_upper_bound(0.1, reach=2.0, samples=9, alpha=0.1, far=5),
        "expected `near` < `reach` for the 5 draws left out",
    ),
    (
        lambda: bounds.eigenvalue_upper_bound(0.1, reach=2.0, samples=9, alpha=0.1, near=0.5, far=-3),
        "expected `far` >= 0, got -3",
    ),
    (lambda: bounds.norm_lower_bound([0.5], limit=1.0, alpha=0.1, horizon=-5), "expected `horizon`"),
    # curvature
    (lambda: bounds.displacement_curvature(-1.0, 1.0), "expected `epsilon` >= 0, got -1"),
    (lambda: bounds.displacement_curvature(1.0, 0.0), "expected `sigma` > 0, got 0"),
    (lambda: bounds.cosine_bound_curvature(-1.0, epsilon=0.1, sigma=1.0), "expected `norm` >= 0, got -1"),
    (lambda: bounds.cosine_bound_curvature(1.0, epsilon=0.1, sigma=-2.0), "expected `sigma` > 0, got -2"),
    (lambda: bounds.cosine_from_displacement(1.0, -0.1), "expected `displacement` >= 0, got -0.1"),
    (lambda: bounds.cosine_from_displacement(NAN, 0.1), "expected `norm` to be a number, got nan"),
    # confidence
    (betting(alpha=0.0), "expected `alpha` in (0, 1), got 0"),
    (betting(alpha=1.0), "expected `alpha` in (0, 1), got 1"),
    (betting(alpha=1.5), "expected `alpha` in (0, 1), got 1.5"),
    (betting(alpha=NAN), "expected `alpha` to be a number, got nan"),
    (betting(limit=-1.0), "expected `limit` > 0, got -1"),
    (betting([0.1, 1.1]), PROJECTIONS),
    (betting([0.1, -1.1]), PROJECTIONS),
    (betting([0.1, NAN]), PROJECTIONS),
    (betting([0.1, INF]), PROJECTIONS),
    (eigen(eigenvalue=-0.1), "expected `eigenvalue` >= 0, got -0.1"),
    (eigen(eigenvalue=NAN), "expected `eigenvalue` to be a number, got nan"),
    (eigen(reach=0.0), "expected `reach` > 0, got 0"),
    (eigen(samples=0), "expected `samples` to be a whole number >= 1, got 0"),
    (eigen(samples=2.5), "expected `samples` to be a whole number >= 1, got 2.5"),
    (eigen(alpha=2.0), "expected `alpha` in (0, 1), got 2"),
    (eigen(near=0.0), "expected `near` > 0, got 0"),
    (eigen(near=NAN), "expected `near` to be a number, got nan"),
    (radius(limit=0.0), "expected `limit` > 0, got 0"),
    (radius(norm_lower=-1.0), "expected `norm_lower` >= 0, got -1"),
    (radius(samples=0), "expected `samples` to be a whole number >= 1, got 0"),
    (radius(alpha=-0.1), "expected `alpha` in (0, 1), got -0.1"),
    (radius(eigenvalue_upper=-1.0), "expected `eigenvalue_upper` >= 0, got -1"),
    # features
    (lambda: features.top_k_overlap([1.0, 2.0, 3.0], 0, 0.1), "expected `k` in 1..3, got 0"),
    (lambda: features.top_k_overlap([[1.0], [2.0]], 3, 0.1), "expected `k` in 1..2, got 3"),
    (lambda: features.top_k_overlap([1.0, 2.0], 1, -0.1), "expected `displacement` >= 0, got -0.1"),
    (lambda: features.top_k_overlap([1.0, 2.0], 1, NAN), "expected `displacement` to be a number, got nan"),
    (lambda: features.sign_kept([1.0, 2.0], -0.1), "expected `displacement` >= 0, got -0.1"),
    (lambda: features.order_kept(2.0, 1.0, -0.1), "expected `displacement` >= 0, got -0.1"),
    # the paper
    (lambda: bounds.cosine_bound_paper(2.0, 1.0, 0.1), "expected `norm` <= `limit`, got norm 2 and limit 1"),
    (lambda: bounds.cosine_bound_paper(0.5, 1.0, 1.1), "expected `moved_fraction` in [0, 1], got 1.1"),
    (lambda: bounds.largest_moved_fraction_paper(0.5, 1.0, 1.1), "expected `cosine` in [0, 1], got 1.1"),
    (lambda: bounds.max_epsilon_paper(0.5, **KNOWN), ONE_LAW),
    (lambda: bounds.norm_interval_paper([1.0], [1.0], samples=9, alpha=1.0), "expected `alpha` in (0, 1), got 1"),
    # whole numbers of any size
    (lambda: checks.whole("seed", -1), "expected `seed` to be a whole number >= 0, got -1"),
    (lambda: checks.whole("seed", 1.0), "expected `seed` to be a whole number >= 0, got 1.0"),
    (lambda: checks.whole("seed", True), "expected `seed` to be a whole number >= 0, got True"),
    (lambda: checks.whole("seed", "7"), "expected `seed` to be a whole number >= 0, got '7'"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[f"{i}-{row[1]}" for i, row in enumerate(REFUSED)])
def test_refused(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()


def test_an_argument_error_is_ours_and_a_value_error():
    assert issubclass(ArgumentError, AttriboundError)
    assert issubclass(ArgumentError, ValueError)


def test_the_edges_are_accepted():
    np.testing.assert_array_equal(checks.fraction("x", [0.0, 1.0]), [0.0, 1.0])
    assert checks.non_negative("x", 0) == 0
    assert checks.dimension(2) == 2
    assert checks.count("x", 1) == 1
    assert checks.norm_over_limit(1 + 1e-10, 1.0) == 1.0
    assert checks.alpha(1e-300) == 1e-300


def test_whole_numbers_of_any_kind_and_size():
    assert checks.whole("seed", 2**64) == 2**64
    assert checks.whole("seed", np.int32(7)) == 7
    assert type(checks.whole("seed", np.uint64(2**63))) is int


def test_scalars_come_back_as_floats():
    assert type(checks.unwrap(np.float64(1))) is float
    assert type(checks.unwrap(np.array(1))) is float
    assert checks.unwrap(np.array([1.0])).shape == (1,)


def test_all_names_exist():
    assert len(set(bounds.__all__)) == len(bounds.__all__)
    assert [name for name in bounds.__all__ if not hasattr(bounds, name)] == []


def test_the_room_does_not_import_torch():
    code = "import sys, attribound.bounds as b; b.moved_fraction(0.1, sigma=1); print({'torch'} & set(sys.modules))"
    seen = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "set()"
