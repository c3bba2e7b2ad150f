"""The three measures of association, before they are corrected for chance: figures by hand, numpy as a peer, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sources.arrays.association import (
    NO_RECORDS,
    ONE_VALUE,
    OUT_OF_BOUNDS,
    AbsolutePearson,
    AssociationCounts,
    CorrelationRatio,
    CramersV,
)
from app.statistics.group_labels import MISSING, Codes
from app.statistics.group_labels import FloatArray as Numbers
from app.statistics.intervals.verdicts import Undefined

CODES = st.integers(MISSING, 3)
NUMBERS = st.integers(-50, 50).map(float) | st.just(float("nan"))
TWO_CODES = st.lists(st.tuples(CODES, CODES), max_size=60)
CODE_AND_NUMBER = st.lists(st.tuples(CODES, NUMBERS), max_size=60)
TWO_NUMBERS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=60)


def codes(*values: int) -> Codes:
    return np.array(values, dtype=np.int64)


def numbers(*values: float) -> Numbers:
    return np.array(values, dtype=np.float64)


def uncorrected(counted: AssociationCounts) -> float | Undefined:
    found = counted.strength()
    return found if isinstance(found, Undefined) else found.uncorrected


def cramers_v(first: Codes, second: Codes, size: int = 4) -> float | Undefined:
    counted = CramersV(size, size)
    counted.add(first, second)
    return uncorrected(counted)


def ratio(groups: Codes, quantity: Numbers) -> float | Undefined:
    counted = CorrelationRatio(4)
    counted.add(groups, quantity)
    return uncorrected(counted)


def pearson(first: Numbers, second: Numbers) -> float | Undefined:
    counted = AbsolutePearson()
    counted.add(first, second)
    return uncorrected(counted)


def test_cramers_v_is_the_root_of_chi_squared_over_its_greatest_value() -> None:
    # 30 and 10 against 20 and 40: chi-squared = 100 x (30 x 40 - 10 x 20)^2 / (40 x 60 x 50 x 50) = 16.67
    first = np.repeat(codes(0, 0, 1, 1), [30, 10, 20, 40])
    second = np.repeat(codes(0, 1, 0, 1), [30, 10, 20, 40])

    assert cramers_v(first, second) == pytest.approx(np.sqrt(1 / 6))


def test_the_correlation_ratio_is_the_root_of_the_variation_between_over_all_variation() -> None:
    # Means 2 and 6 of 1, 3 and 5, 7: 4 x 4 = 16 between, 4 within.
    assert ratio(codes(0, 0, 1, 1), numbers(1, 3, 5, 7)) == pytest.approx(np.sqrt(16 / 20))


def test_pearson_is_taken_without_its_sign() -> None:
    assert pearson(numbers(1, 2, 3, 4), numbers(8, 6, 4, 2)) == pytest.approx(1)
    assert pearson(numbers(1, 2, 3), numbers(1, 3, 2)) == pytest.approx(0.5)


def test_a_single_value_or_no_common_record_is_no_number() -> None:
    unknown, nan = codes(MISSING, MISSING), numbers(np.nan, np.nan)

    assert cramers_v(codes(0, 0, 0), codes(0, 1, 2)) == Undefined(ONE_VALUE, 3)
    assert ratio(codes(1, 1), numbers(1, 2)) == Undefined(ONE_VALUE, 2)
    assert ratio(codes(0, 1), numbers(0.1, 0.1)) == Undefined(ONE_VALUE, 2)
    assert pearson(numbers(0.1, 0.1), numbers(1, 2)) == Undefined(ONE_VALUE, 2)
    assert cramers_v(unknown, codes(0, 1)) == Undefined(NO_RECORDS, 0)
    assert ratio(codes(0, 1), nan) == Undefined(NO_RECORDS, 0)
    assert pearson(nan, numbers(1, 2)) == Undefined(NO_RECORDS, 0)


@pytest.mark.parametrize("ends", [(-1e308, 1e308), (0.0, 1e-300)])
def test_numbers_that_cannot_be_squared_are_no_number(ends: tuple[float, float]) -> None:
    odd = numbers(*ends, ends[0], ends[1])

    assert ratio(codes(0, 1, 0, 1), odd) == Undefined(OUT_OF_BOUNDS, 4)
    assert pearson(odd, numbers(1, 2, 3, 4)) == Undefined(OUT_OF_BOUNDS, 4)


def test_a_small_difference_of_large_numbers_is_seen() -> None:
    large = numbers(1e16, 1e16 + 2, 1e16, 1e16 + 2)

    assert ratio(codes(0, 1, 0, 1), large) == pytest.approx(1)
    assert pearson(large, numbers(0, 1, 0, 1)) == pytest.approx(1)


@given(TWO_CODES)
def test_cramers_v_is_symmetric_within_its_bounds_and_one_of_a_column_with_itself(pairs: list[tuple[int, int]]) -> None:
    first, second = codes(*(pair[0] for pair in pairs)), codes(*(pair[1] for pair in pairs))

    found = cramers_v(first, second)

    assert found == cramers_v(second, first) or found == pytest.approx(cramers_v(second, first))
    assert isinstance(found, Undefined) or 0 <= found <= 1
    same = cramers_v(first, first)
    assert isinstance(same, Undefined) or same == pytest.approx(1)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.lists(st.integers(1, 9), min_size=2, max_size=4))
def test_cramers_v_of_independent_columns_is_zero(rows: list[int], columns: list[int]) -> None:
    counts = np.outer(rows, columns).ravel()
    first, second = np.indices((len(rows), len(columns)))

    assert cramers_v(np.repeat(first.ravel(), counts), np.repeat(second.ravel(), counts)) == pytest.approx(0)


@given(CODE_AND_NUMBER, st.integers(0, 60), st.sampled_from([1e-3, 1.0, 1e6]), st.sampled_from([0.0, 1e9]))
def test_the_correlation_ratio_keeps_over_pieces_scales_and_shifts(
    pairs: list[tuple[int, float]], cut: int, scale: float, shift: float
) -> None:
    groups, quantity = codes(*(pair[0] for pair in pairs)), numbers(*(pair[1] for pair in pairs))
    whole = ratio(groups, quantity)
    counted = CorrelationRatio(4)
    for part in (slice(cut), slice(cut, None)):
        counted.add(groups[part], quantity[part] * scale + shift)

    found = uncorrected(counted)

    assert isinstance(found, Undefined) == isinstance(whole, Undefined)
    if not isinstance(found, Undefined):
        assert 0 <= found <= 1
        assert found == pytest.approx(whole, abs=1e-3)


@given(TWO_NUMBERS, st.integers(0, 60))
def test_pearson_is_what_numpy_says_however_the_file_is_cut(pairs: list[tuple[float, float]], cut: int) -> None:
    first, second = numbers(*(pair[0] for pair in pairs)), numbers(*(pair[1] for pair in pairs))
    counted = AbsolutePearson()
    for part in (slice(cut), slice(cut, None)):
        counted.add(first[part], second[part])

    found = uncorrected(counted)

    known = np.isfinite(first) & np.isfinite(second)
    assert counted.records == known.sum()
    if not isinstance(found, Undefined):
        assert found == pytest.approx(abs(np.corrcoef(first[known], second[known])[0, 1]), abs=1e-9)
