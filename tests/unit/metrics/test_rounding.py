import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.sentences.figure_sentences import MAX_GAP_DIGITS, RoundedGap, round_gap, write_minus

RATES = st.floats(0, 100)


@given(RATES, RATES)
def test_a_gap_is_that_of_its_rates_as_they_are_shown(first: float, second: float) -> None:
    found = round_gap(first, second)

    one, other, gap = (f"{number:.{found.digits}f}" for number in (found.first, found.second, found.gap))
    assert float(gap) == pytest.approx(float(one) - float(other), abs=1e-9)
    assert (found.first, found.second) == (round(first, found.digits), round(second, found.digits))
    # Without enough digits to agree, it is off by no more than its last one.
    off = 10.0**-found.digits if found.digits == MAX_GAP_DIGITS else 0.5 * 10.0**-found.digits
    assert found.gap == pytest.approx(first - second, abs=off * 1.001)


def test_a_gap_has_more_digits_only_where_it_needs_them() -> None:
    assert round_gap(40, 61.5) == RoundedGap(40, 61.5, -21.5, 1)
    # 35.9 and 80.6 would be 44.7 apart, and not 44.6.
    assert round_gap(35.94, 80.56) == RoundedGap(35.94, 80.56, -44.62, 2)


@pytest.mark.parametrize(("text", "shown"), [("-0.49", "−0.49"), ("0.49", "0.49"), ("+0.1", "+0.1"), ("-1.2e-05", "−1.2e-05")])
def test_a_negative_number_has_a_minus_sign(text: str, shown: str) -> None:
    assert write_minus(text) == shown
