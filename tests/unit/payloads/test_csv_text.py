"""CSV: cells of plain kinds take a faster way, which writes and reads the same."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.errors import ScoringFailed
from app.payloads.csv_text import read_csv, write_csv

cells = st.one_of(st.text(st.sampled_from("a1.\",;\r\n'é -e"), max_size=5), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
tables = st.integers(1, 3).flatmap(lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=4))


@given(tables)
def test_both_ways_write_the_same(rows: list[list[object]]) -> None:
    # A null takes the page off the fast way; it is a line without a character.
    assert write_csv([*rows, [None]]) == write_csv(rows) + b"\n"


@given(tables)
def test_what_was_written_is_read_back(rows: list[list[object]]) -> None:
    assert list(read_csv(write_csv(rows).decode())) == rows


@given(st.text(st.sampled_from("10.,\n\r-eE+"), max_size=14))
def test_numbers_that_are_read_at_once_are_the_same_as_one_by_one(text: str) -> None:
    at_once = list(read_csv(text))

    with patch("app.payloads.csv_text._read_numbers", return_value=None):
        one_by_one = list(read_csv(text))
    assert [[(type(cell), cell) for cell in row] for row in at_once] == [[(type(cell), cell) for cell in row] for row in one_by_one]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused_on_both_ways(number: float) -> None:
    with pytest.raises(ScoringFailed, match="CSV cannot carry"):
        write_csv([["banana", number]])
    with pytest.raises(ScoringFailed, match="CSV cannot carry"):
        write_csv([[None, number]])
    assert write_csv([["nan", "inf"]]) == b'"nan","inf"\n'
