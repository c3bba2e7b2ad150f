"""Tests of the words of records."""

import pytest

from app.pages.record.record_texts import write_probability


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0.9, "0.9000"),
        ([0.9578, 0.04355], "0.9578 / 0.0435"),
        ([0.4999999, 0.5000001], "0.4999999 / 0.5000001"),
        ([0.99996, 0.00004], "0.99996 / 0.00004"),
        ([1.0, 0.0], "1.0000 / 0.0000"),
        (1e-300, "1e-300"),
    ],
)
def test_the_parts_of_a_probability_have_one_number_of_decimals(value: float | list[float] | None, shown: str) -> None:
    assert write_probability(value) == shown
