"""Figures of reports as text."""

import pytest

from app.reports.document import write_interval, write_number, write_p_value, write_points


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (1.0, "1"), (0.0432198, "0.04322"), (6.6961e-30, "6.696e-30"), (0.0, "< 1e-300")])
def test_no_p_value_is_0(value: float | None, text: str) -> None:
    assert write_p_value(value) == text


def test_a_negative_figure_has_a_minus_sign() -> None:
    assert write_number(-0.49) == "−0.4900"
    assert write_interval(-0.49, 0.02, value=-0.3) == "−0.4900 to 0.0200"
    assert write_interval(-2000.0, -1500.0) == "−2,000.0 to −1,500.0"


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (0.01234, "+1.23"), (-0.5, "−50.00"), (-0.00001, "0.00"), (0.0, "0.00")])
def test_a_difference_of_shares_is_in_points_with_its_sign(value: float | None, text: str) -> None:
    assert write_points(value) == text
