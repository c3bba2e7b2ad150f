"""Thinning to records that count alike: the lowest rate keeps all, higher ones a share, the same records at every call."""

import numpy as np
import pyarrow as pa
import pytest

from app.sources.arrays.read_records import thin_to_equal_rates

NUMBERS = np.arange(10_000, 110_000)


def test_records_of_one_rate_are_all_kept() -> None:
    for rates in (pa.chunked_array([pa.nulls(100_000, pa.float64())]), pa.chunked_array([np.full(100_000, 0.3)])):
        assert thin_to_equal_rates(NUMBERS, rates).all()


def test_a_higher_rate_is_thinned_to_the_lowest_whatever_it_depends_on() -> None:
    rates = np.where(NUMBERS % 3 == 0, 0.1, np.where(NUMBERS % 3 == 1, 0.5, 1.0))
    given = pa.chunked_array([pa.array(rates, mask=rates == 1.0)])

    kept = thin_to_equal_rates(NUMBERS, given)

    for rate, share in ((0.1, 1.0), (0.5, 0.2), (1.0, 0.1)):
        assert kept[rates == rate].mean() == pytest.approx(share, abs=0.01)
    again = thin_to_equal_rates(NUMBERS[::-1].copy(), pa.chunked_array([given.to_pylist()[::-1]]))
    assert (again[::-1] == kept).all()


def test_each_part_has_a_lowest_rate_of_its_own() -> None:
    parts = NUMBERS // 50_000
    rates = pa.chunked_array([np.where(parts == 0, 1.0, np.where(NUMBERS % 2 == 0, 1.0, 0.25))])

    kept = thin_to_equal_rates(NUMBERS, rates, parts)

    assert kept[parts == 0].all()
    assert kept[(parts > 0) & (NUMBERS % 2 == 1)].all()
    assert kept[(parts > 0) & (NUMBERS % 2 == 0)].mean() == pytest.approx(0.25, abs=0.01)


def test_no_records_are_none() -> None:
    assert len(thin_to_equal_rates(np.zeros(0, np.int64), pa.chunked_array([[]], pa.float64()))) == 0
    assert len(thin_to_equal_rates(np.zeros(0, np.int64), pa.chunked_array([[]], pa.float64()), np.zeros(0, np.int64))) == 0
