"""Figures of reports as text."""

import pytest

from app.reports.numbers import p_value


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (1.0, "1"), (0.0432198, "0.04322"), (6.6961e-30, "6.696e-30"), (0.0, "< 1e-300")])
def test_no_p_value_is_0(value: float | None, text: str) -> None:
    assert p_value(value) == text
