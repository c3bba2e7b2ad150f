"""Pictures of ratios on one logarithmic axis."""

import re
from xml.etree import ElementTree as ET

from app.charts.pictures.ratio_pictures import ROW_WIDTH, RatioMark, draw_ratio_axis, draw_ratio_row

FAIR = (0.8, 1.25)


def mark(value: float, lower: float | None = None, upper: float | None = None, *, verdict: str | None = "unfair") -> RatioMark:
    """A ratio with that interval."""
    return RatioMark(value=value, lower=lower, upper=upper, verdict=verdict)


def test_equality_is_in_the_middle_and_a_ratio_and_its_inverse_are_equally_far_from_it() -> None:
    places = [float(re.findall(r'cx="([^"]+)"', draw_ratio_row([mark(value, value, value)], FAIR))[0]) for value in (0.5, 1.0, 2.0)]

    assert places[1] == ROW_WIDTH / 2
    assert round(places[1] - places[0], 2) == round(places[2] - places[1], 2)


def test_a_ratio_beyond_the_axis_is_an_arrow_and_an_unbounded_interval_reaches_the_end() -> None:
    svg = draw_ratio_row([mark(0.0, 0.0, None)], FAIR)

    assert "<circle" not in svg
    assert "<polygon" in svg
    assert 'x1="6.00" x2="144.00"' in svg


def test_every_picture_is_xml_and_stays_within_its_size() -> None:
    for svg in (
        draw_ratio_axis(),
        draw_ratio_row([], (None, None)),
        draw_ratio_row([mark(1, 0.9, 1.1, verdict=None)], FAIR),
    ):
        root = ET.fromstring(svg)  # noqa: S314 - our own

        heights = [float(one.get("y", 0)) + float(one.get("height", 0)) for one in root]
        assert all(height <= float(root.get("height", 0)) + 0.01 for height in heights)
        assert root.get("aria-hidden") == "true"
