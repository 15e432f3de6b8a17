"""Where the limit comes from: Unit and Clip over every exponent, Proved and Assumed as they are said."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attribound.bounds import ProbabilityGradient
from attribound.certification.certifier import certify
from attribound.errors import ArgumentError, FieldError
from attribound.fields import Assumed, Centred, Clip, Proved, Saliency, Unit
from attribound.fields.base import Explanation, Field
from attribound.noise import Gaussian
from tests.problems import AbsFirst, Linear

relaxed = settings(deadline=None, database=None, derandomize=True, max_examples=200)
SALIENCY = Saliency(AbsFirst())
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def test_fields_say_what_they_are() -> None:
    assert repr(Unit(Centred(SALIENCY))) == "<Unit: saliency centred>"


def test_unit_and_clip() -> None:
    vectors = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-150, 0.0], [0.3, 0.4]], dtype=torch.float64)
    unit = Unit(SALIENCY)
    expected = torch.tensor([[0.6, 0.8], [0.0, 0.0], [1.0, 0.0], [0.6, 0.8]], dtype=torch.float64)
    assert torch.allclose(unit.bound(vectors), expected)
    clip = Clip(SALIENCY, 1.0)
    expected = torch.tensor([[0.6, 0.8], [0.0, 0.0], [1e-150, 0.0], [0.3, 0.4]], dtype=torch.float64)
    assert torch.allclose(clip.bound(vectors), expected)
    assert (unit.limit, clip.limit, unit.kind, clip.kind) == (1.0, 1.0, "unit", "clip")
    assert (unit.spec, clip.spec, Clip(SALIENCY, 0.1).spec) == ("unit", "clip:1.0", "clip:0.1")


def numbers(dtype: torch.dtype) -> st.SearchStrategy[float]:
    """Finite numbers of a precision, spread over all its exponents, subnormal ones included."""
    info = torch.finfo(dtype)
    low, high = math.frexp(info.smallest_normal)[1] - info.bits // 2, math.frexp(info.max)[1] - 1
    exponents, parts = st.integers(low, high), st.floats(1.0, 1.999)
    sizes = st.builds(lambda e, m: math.ldexp(m, e), exponents, parts)
    return st.one_of(st.just(0.0), sizes, sizes.map(lambda x: -x))


def rows(dtype: torch.dtype) -> st.SearchStrategy[list[float]]:
    """Rows of one or of all sizes."""
    alike = st.builds(
        lambda e, parts: [math.ldexp(part, e) for part in parts],
        st.integers(-1070 if dtype == torch.float64 else -120, 1020 if dtype == torch.float64 else 100),
        st.lists(st.floats(-1.5, 1.5), min_size=2, max_size=30),
    )
    return st.one_of(st.lists(numbers(dtype), min_size=2, max_size=30), alike)


def exact_direction(values: np.ndarray) -> np.ndarray:
    """The unit vector, scaled by a power of two first and summed exactly."""
    _, exponent = np.frexp(np.abs(values).max())
    scaled = np.ldexp(values, -int(exponent))
    return scaled / math.sqrt(math.fsum(scaled**2))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_unit_maps_have_length_1_whatever_their_exponents(dtype) -> None:
    """Version 0.1 took the squares of entries near 1e-162 and got unit vectors of length 31.6."""

    @relaxed
    @given(rows(dtype))
    def check(values: list[float]) -> None:
        vector = torch.tensor([values], dtype=torch.float64).to(dtype).double()
        if not bool(torch.isfinite(vector).all()):
            return
        (row,) = Unit(SALIENCY).bound(vector).numpy()
        if not vector.any():
            assert not row.any()
            return
        assert abs(math.sqrt(math.fsum(row**2)) - 1) <= 1e-12
        np.testing.assert_allclose(row, exact_direction(vector[0].numpy()), rtol=1e-12, atol=1e-300)

    check()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_clipped_maps_keep_their_limit_and_direction_whatever_their_exponents(dtype) -> None:
    @relaxed
    @given(rows(dtype), st.floats(-6, 6).map(lambda e: 10.0**e))
    def check(values: list[float], limit: float) -> None:
        vector = torch.tensor([values], dtype=torch.float64).to(dtype).double()
        if not bool(torch.isfinite(vector).all()):
            return
        (row,) = Clip(SALIENCY, limit).bound(vector).numpy()
        length = math.sqrt(math.fsum((row / limit) ** 2)) * limit
        assert length <= limit * (1 + 1e-12)
        largest = float(np.abs(vector[0].numpy()).max())
        norm = largest * math.sqrt(math.fsum((vector[0].numpy() / largest) ** 2)) if largest > 0 else 0.0
        if norm <= limit * (1 - 1e-12):
            np.testing.assert_array_equal(row, vector[0].numpy(), err_msg="what is short enough stays as it is")
        elif norm >= limit * (1 + 1e-12):
            assert length >= limit * (1 - 1e-12)
            np.testing.assert_allclose(row / limit, exact_direction(vector[0].numpy()), rtol=1e-12, atol=1e-300)

    check()


@pytest.mark.parametrize("wrap", [Unit, lambda f: Clip(f, 1.0)], ids=["unit", "clip"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("others", [0.0, 1.0, 1e300, 1e-320])
def test_nan_and_infinity_stay_to_be_found_out(wrap, bad, others) -> None:
    vectors = torch.tensor([[others, bad, others], [3.0, 4.0, 0.0]], dtype=torch.float64)
    bounded = wrap(SALIENCY).bound(vectors)
    assert not torch.isfinite(bounded[0]).all()
    assert torch.isfinite(bounded[1]).all()


@pytest.mark.parametrize("exponent", [-320, -200, -162, -30, 0, 30, 150, 307])
@pytest.mark.parametrize("wrap", [Unit, lambda f: Clip(f, 1e-3)], ids=["unit", "clip"])
def test_gradients_through_the_wrappers(wrap, exponent) -> None:
    """Attacks differentiate through them: the slope is that of g / |g|, times the inverse of the scale."""
    direction = torch.tensor([[0.6, 0.8, 0.0]], dtype=torch.float64)
    vectors = (direction * 10.0**exponent).requires_grad_(True)
    wrapped = wrap(SALIENCY)
    out = wrapped.bound(vectors)
    if wrapped.kind == "clip" and 10.0**exponent < 1e-3:
        assert torch.equal(out, vectors)
        return
    (slope,) = torch.autograd.grad(out[0, 0], vectors)
    wanted = wrapped.limit * (torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64) - 0.6 * direction[0])
    if exponent > -300:  # below, the slope itself is beyond the largest number
        assert torch.allclose(slope[0] * 10.0**exponent, wanted, rtol=1e-9, atol=1e-12)


def test_tiny_float32_gradients_are_normalised_not_lost() -> None:
    """Squares of 1e-30 vanish in float32; wrappers work in float64."""
    field = Unit(Saliency(Linear(torch.tensor([3e-30, 4e-30]))))
    assert torch.allclose(field.attribute(torch.zeros(1, 2), 0), torch.tensor([[0.6, 0.8]], dtype=torch.float64))


class Tiny(Field):
    """e_1 where y_1 < 0, all ones where y_1 > 0, the latter in entries whose squares vanish in float64."""

    name = "tiny"

    def __init__(self) -> None:
        self.model = Linear(torch.zeros(1000, dtype=torch.float64))

    def explain(self, inputs, target, *, generator=None, create_graph=False):
        wide, narrow = torch.full_like(inputs, 1.5e-162), torch.zeros_like(inputs)
        narrow[:, 0] = 1e-150
        return Explanation(torch.where(inputs[:, :1] > 0, wide, narrow))


def test_maps_whose_squares_vanish_are_smoothed_as_what_they_are() -> None:
    """Half the draws are e_1, half are ones / sqrt(1000). Version 0.1 took the latter for zero, or for length 31.6."""
    certificate = certify(Unit(Tiny()), torch.zeros(1000, dtype=torch.float64), 0, noise=Gaussian(1.0), seed=0)
    exact = np.full(1000, 0.5 / 1000**0.5)
    exact[0] += 0.5
    # 4096 fair coins: the share of either direction deviates by 0.008; five deviations, 6e-7 false alarms.
    assert np.linalg.norm(certificate.attribution - exact) < 2 * 0.04
    assert certificate.norm_lower <= np.linalg.norm(exact)
    assert certificate.norm == pytest.approx(np.linalg.norm(exact), abs=0.04)


@pytest.mark.parametrize("limit", [1.6e-162, 1e-101, 1e101, 1e160])
def test_limits_whose_squares_are_no_numbers_are_refused(limit) -> None:
    """At 1.6e-162 no draw had a spread, and cosine 0.8 was certified at any distance."""
    with pytest.raises(ArgumentError, match=r"expected `limit` from 1e-100 to 1e\+100"):
        Clip(SALIENCY, limit)


def test_only_claimed_limits_pass_on_the_probability_gradient() -> None:
    weights = torch.tensor([3.0, -4.0, 0.0, 1.0], dtype=torch.float64)
    base = Saliency(Linear(weights), output="probability", continuous=True)
    assert Proved(base, 9.0, reason="weights have norm 5.1").stated == (ProbabilityGradient(),)
    assert Assumed(base, 9.0).stated == (ProbabilityGradient(),)
    for field in (
        Unit(base),
        Clip(base, 9.0),
        Proved(Saliency(Linear(weights), continuous=True), 9.0, reason="as above"),
        Proved(Saliency(Linear(weights), output="probability"), 9.0, reason="same"),
        Proved(Centred(base), 9.0, reason="not the gradient itself"),
    ):
        assert field.stated == ()


def test_the_same_wrapper_around_another_field() -> None:
    other = Saliency(Linear(torch.ones(2)))
    for field in (
        *(Unit(SALIENCY), Clip(SALIENCY, 2.0), Proved(SALIENCY, 3.0, reason="so"), Assumed(SALIENCY, 4.0)),
        *(Unit(base=SALIENCY), Clip(SALIENCY, limit=2.0), Proved(limit=3.0, reason="so", base=SALIENCY)),
    ):
        moved = field.around(other)
        assert type(moved) is type(field)
        assert moved.base is other
        assert (moved.limit, moved.source, moved.spec) == (field.limit, field.source, field.spec)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Unit(AbsFirst()), FieldError, "expected a field such as Saliency"),
        (lambda: Unit(Unit(SALIENCY)), FieldError, "expected a field without a limit, got one bounded by unit"),
        (lambda: Unit(SALIENCY, 2.0), ArgumentError, "expected no other limit than 1 for Unit, got 2"),
        (lambda: Clip(SALIENCY, 0.0), ArgumentError, "expected `limit` > 0, got 0"),
        (lambda: Clip(SALIENCY, math.inf), ArgumentError, "expected `limit` > 0, got inf"),
        (lambda: Proved(SALIENCY, 1.0), ArgumentError, "expected a `reason` for Proved"),
        (lambda: Proved(SALIENCY, 1.0, reason="  "), ArgumentError, "expected a `reason` for Proved"),
    ],
)
def test_bad_arguments(make, error, message) -> None:
    with pytest.raises(error, match=message):
        make()
