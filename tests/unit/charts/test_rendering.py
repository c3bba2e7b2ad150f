"""Whatever a group or an attribute is called, its chart is drawn: the library must never end the process."""

import random
from xml.etree import ElementTree as ET

import pytest

from app.charts.rendering import render_png, render_svg
from app.charts.series import series_chart
from app.domain.checks import DataSet
from app.views.series import Series

PNG = b"\x89PNG"


def _named(attribute: str) -> Series:
    return Series(
        metric="disparate_impact", data=DataSet.PAYLOAD, attribute=attribute, lower_limit=None, upper_limit=None, rollup=None, groups=()
    )


@pytest.mark.parametrize(
    "character", ["\x00", "\x01", "\x08", "\x0b", "\x17", "\x1f", "\x7f", "\x85", "\ufffe", "\uffff", "\U0010ffff", "\u202e"]
)
def test_characters_that_xml_cannot_carry_are_replaced(character: str) -> None:
    spec = series_chart(_named(f"before{character}after"))

    drawn = render_svg(spec)
    assert "before" in drawn
    described = ET.fromstring(drawn).attrib["aria-label"]  # noqa: S314 - our own picture, whose description the library does not check
    assert "before" in described
    assert render_png(spec).startswith(PNG)


@pytest.mark.nightly
def test_random_text_is_drawn() -> None:
    made = random.Random(5)
    ranges = ((0, 0x250), (0x300, 0xD7FF), (0xE000, 0x10FFFF))
    for length in (1, 3, 30, 200):
        for _ in range(5):
            text = "".join(chr(made.randrange(*made.choice(ranges))) for _ in range(length))

            assert render_png(series_chart(_named(text))).startswith(PNG), text
