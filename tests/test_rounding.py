"""Certified and counted numbers are never rounded up, needed ones never down."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attribound import rounding

relaxed = settings(deadline=None, database=None, derandomize=True, max_examples=200)


def test_round_down() -> None:
    assert rounding.round_down(0.82999999999999996) == "0.8299"
    assert rounding.round_down(0.5) == "0.5000"
    assert rounding.round_down(-1.0) == "-1.0000"
    assert rounding.round_down(0.99999999) == "0.9999"
    assert rounding.round_down(0.0) == "0.0000"
    assert rounding.round_down(12345.6789, 0) == "12345"
    assert float(rounding.round_down(0.1 + 0.2, 3)) <= 0.1 + 0.2


@relaxed
@given(st.floats(-1e6, 1e6), st.integers(0, 8))
def test_down_is_never_up_and_up_is_never_down(value, digits) -> None:
    down, up = Decimal(rounding.round_down(value, digits)), Decimal(rounding.round_up(value, digits))
    assert down <= Decimal(value) <= up
    assert up - down <= Decimal(1).scaleb(-digits)


def test_shares_that_are_not_all_are_not_all() -> None:
    assert rounding.percent(9996 / 10_000) == "99.9 %"
    assert rounding.percent(1.0) == "100.0 %"
    assert rounding.percent(0.0) == "0.0 %"
    assert rounding.percent(2 / 3, 0) == "66 %"


def test_confidence_is_exact() -> None:
    assert rounding.confidence(0.001) == "99.9 %"
    assert rounding.confidence(1e-6) == "99.9999 %"
    assert rounding.confidence(0.05) == "95 %"
    assert rounding.confidence(1e-12) == "99.9999999999 %"


@relaxed
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_exact_text_stands_for_the_very_number(value) -> None:
    assert float(rounding.exact_text(value)) == value


def test_exact_text_is_short() -> None:
    assert [rounding.exact_text(value) for value in (0.8, 0.25, 1.0, 1e-7, 1 / 3)] == [
        "0.8",
        "0.25",
        "1",
        "1e-07",
        "0.3333333333333333",
    ]


def test_degrees_are_rounded_up() -> None:
    assert [rounding.degrees(cosine) for cosine in (1.0, 0.9, 0.8, 0.5, 0.0, -1.0)] == [0, 26, 37, 60, 90, 180]


@relaxed
@given(st.floats(-1e4, 1e4), st.integers(0, 6))
def test_whole_units(value, digits) -> None:
    units = rounding.whole_units(value, digits)
    assert Decimal(units).scaleb(-digits) <= Decimal(value)
    assert rounding.in_units(units, digits) == rounding.round_down(value, digits)


def test_quantiles_are_values_that_so_many_reach() -> None:
    values = [0.5, 0.1, 0.4, 0.2]
    assert rounding.lower_quantile(values, 0.5) == 0.2
    assert rounding.lower_quantile(values, 0.0) == 0.1
    assert rounding.lower_quantile(values, 1.0) == 0.5
    assert rounding.lower_quantile([0.3], 0.5) == 0.3
    assert rounding.lower_quantile([], 0.5) == 0.0


@relaxed
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0, 1))
def test_at_least_the_rest_reaches_a_quantile(values, part) -> None:
    reached = sum(value >= rounding.lower_quantile(values, part) for value in values)
    assert reached >= (1 - part) * len(values) - 1e-9


def test_what_is_no_number_is_not_shown_as_one() -> None:
    assert rounding.round_down(float("nan")) == "NaN"
    with pytest.raises(ArithmeticError):
        rounding.round_down(float("inf"))


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_short_ends_lie_inside_and_near(inside, length) -> None:
    for end in (inside + length, inside - length):
        short = float(rounding.short_end(end, inside).replace(",", ""))
        assert min(inside, end) <= short <= max(inside, end)
        assert abs(short - end) <= 1.001e-3 * abs(end - inside)


def test_ends_are_short() -> None:
    assert rounding.short_end(47.49999, 6) == "47.49"
    assert rounding.short_end(9134.53, 2792) == "9,134"
    assert rounding.short_end(-12345.678, 1) == "-12,340"
    assert rounding.short_end(9134.0, 2792) == "9,134"
    assert rounding.short_end(0.1, 0.1) == "0.1"
    assert (rounding.with_commas(2792.0), rounding.with_commas(0.25)) == ("2,792", "0.25")


def test_there_is_only_one_zero() -> None:
    assert rounding.round_down(-0.0) == rounding.round_up(-1e-9) == "0.0000"


def test_numbers_of_any_size_can_be_shown() -> None:
    assert rounding.round_up(1e30, 2) == "1000000000000000019884624838656.00"
    assert len(rounding.round_down(1e308, 10)) == 309 + 11
    assert rounding.round_down(5e-324, 3) == "0.000"
    assert rounding.round_up(5e-324, 3) == "0.001"
