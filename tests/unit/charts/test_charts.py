"""Bars, panels over time and columns: what they show, in every look, whatever a group is called."""

import random
import re
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import timedelta
from typing import TypeAlias
from xml.etree import ElementTree as ET

import pytest
from syrupy.assertion import SnapshotAssertion

from app.charts.pictures.drawing import LOOKS, PAGE, Chart, Theme, ThemeLook, as_png
from app.charts.pictures.period_charts import draw_series_chart, draw_volume_chart
from app.charts.pictures.twin_tables import MAX_BARS, draw_ranges_chart, draw_shares_chart, tabulate_series
from app.charts.series import Volume
from app.charts.timeline import MAX_PANELS
from app.checks.days.roll_up import Period
from app.checks.views.view_shapes import ViewKind
from app.domain.check import DataSet
from app.pages import render
from tests.builders.alerts import alert_of
from tests.builders.chart_data import HOSTILE, HOUR, START, group, outcomes, point, series, view
from tests.builders.page_words import says

Draw: TypeAlias = Callable[[ThemeLook], Chart]

LIGHT = LOOKS[Theme.LIGHT]
SVG = "{http://www.w3.org/2000/svg}"
DAY = [point(hour, 0.7 + hour / 100) for hour in range(24)]
ODD = [
    *(point(0, 0.5), point(1, None), point(2, 0.6, carried_forward=True), point(3, 0.7, verdict="insufficient_data")),
    *(point(9, 0.9, lower=None, upper=None), point(10, 4.0, upper=900.0)),
]
BOTH = (group("female", 40, 60), group("male", 70, 30, role="reference"))
YEAR = [point(hour, 0.1 if hour == 4321 else 0.8 + hour % 7 / 100, carried_forward=hour % 100 == 7) for hour in range(8760)]

CHARTS: dict[str, Draw] = {
    "a day": lambda look: draw_series_chart(series(("female", DAY)), look),
    "odd points and gaps": lambda look: draw_series_chart(series(("female", ODD), (None, DAY), gaps=3), look),
    "one point": lambda look: draw_series_chart(series(("female", DAY[:1])), look),
    "no point": lambda look: draw_series_chart(series(("female", [])), look),
    "no group": lambda look: draw_series_chart(series(), look),
    "no value at all": lambda look: draw_series_chart(series(("female", [point(hour, None) for hour in range(3)])), look),
    "hostile names": lambda look: draw_series_chart(series(*((name, DAY) for name in HOSTILE), attribute=HOSTILE[0]), look),
    "accuracy": lambda look: draw_series_chart(series((None, DAY), metric="accuracy", data=DataSet.LABELLED, attribute=None), look),
    "a difference": lambda look: draw_series_chart(series(("female", DAY), metric="statistical_parity_difference"), look),
    "by month": lambda look: draw_series_chart(series(("female", [point(0, 0.7), point(31 * 24, 0.8)]), rollup=Period.MONTH), look),
    "volume": lambda look: draw_volume_chart([Volume(at=START, records=3, additional=1)], look),
    "volume of a year": lambda look: draw_volume_chart([Volume(at=START + n * HOUR, records=n, additional=0) for n in range(8760)], look),
    "volume by week": lambda look: draw_volume_chart([Volume(at=START, records=3, additional=1)], look, rollup=Period.WEEK),
    "no volume": lambda look: draw_volume_chart([], look),
    "shares": lambda look: draw_shares_chart(ViewKind.OPENSCALE, view(*BOTH, equality=0.6), look),
    "shares of nobody": lambda look: draw_shares_chart(ViewKind.AS_LOGGED, view(group("female", 0, 0)), look),
    "shares without a group": lambda look: draw_shares_chart(ViewKind.TRAINING, view(), look),
    "before and after": lambda look: draw_shares_chart(
        ViewKind.MITIGATED, view(group("female", 4, 6, after=outcomes(6, 4)), *BOTH[1:]), look, with_copies=True
    ),
    "hostile groups": lambda look: draw_shares_chart(ViewKind.AS_LOGGED, view(*(group(name, 1, 2) for name in HOSTILE)), look),
    "hundreds of groups": lambda look: draw_shares_chart(ViewKind.AS_LOGGED, view(*(group(f"{no}", 1, 2) for no in range(300))), look),
    "sub-ranges": lambda look: draw_ranges_chart(ViewKind.AS_LOGGED, view(group("18-25", 1, 2, ranges=8)), look),
}


def parsed(chart: Chart) -> ET.Element:
    """The picture as XML."""
    return ET.fromstring(chart.svg)  # noqa: S314 - our own picture


def letters(chart: Chart) -> str:
    """All text of the picture that is drawn."""
    return " ".join(text.text or "" for text in parsed(chart).iter(f"{SVG}text"))


def titles(chart: Chart) -> list[str]:
    """The texts under the pointer."""
    return [text.text or "" for text in parsed(chart).iter(f"{SVG}title")]


def paths(chart: Chart, fill: str) -> list[str]:
    """The paths of that colour."""
    return [path.attrib["d"] for path in parsed(chart).iter(f"{SVG}path") if path.get("fill") == fill]


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_one_image_with_a_description_in_every_look(name: str) -> None:
    for look in (*LOOKS.values(), PAGE):
        chart = CHARTS[name](look)
        picture = parsed(chart)

        assert picture.attrib["role"] == "img"
        assert chart.description
        assert picture.attrib["aria-label"][:20] == chart.description[:20]
        assert not re.search("nan|None", chart.svg)
        assert {shape.tag.removeprefix(SVG) for shape in picture.iter()} <= {"svg", "g", "path", "rect", "line", "text", "title"}
        if look is not PAGE:
            assert as_png(chart.svg).startswith(b"\x89PNG")


def test_the_colours_of_a_file_are_those_of_the_pages() -> None:
    style = (render._STATIC / "style.css").read_text()  # noqa: SLF001
    light, dark = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]+);", part)) for part in style.split("prefers-color-scheme: dark", 1))

    for colour in fields(ThemeLook):
        if colour.name in {"font", "width"}:
            continue
        variable = colour.name.replace("_", "-")
        assert getattr(PAGE, colour.name) == f"var(--{variable})"
        assert getattr(LIGHT, colour.name) == light[variable]
        assert getattr(LOOKS[Theme.DARK], colour.name) == dark[variable]


@pytest.mark.parametrize("theme", [Theme.LIGHT, Theme.DARK])
def test_text_and_shapes_stand_out_from_the_background(theme: Theme) -> None:
    look = LOOKS[theme]

    assert all(_contrast(colour, look.surface) >= 4.5 for colour in (look.text, look.muted))
    shapes = (look.link, look.monitored, look.fair, look.suspected, look.unfair, look.other)
    assert all(_contrast(colour, look.surface) >= 3 for colour in shapes)


def test_in_a_page_places_are_per_cent_letters_keep_their_size_and_the_page_has_the_title() -> None:
    page, file = CHARTS["shares"](PAGE), CHARTS["shares"](LIGHT)

    assert parsed(page).attrib["width"] == "100%"
    assert "viewBox" not in parsed(page).attrib
    assert [bar.attrib["width"] for bar in parsed(page).iter(f"{SVG}rect")][1] == "40.00%"
    assert page.title not in letters(page)
    assert file.title in letters(file)
    assert parsed(file).attrib["width"] == "640"


def test_in_a_page_a_line_of_text_fits_on_a_telephone_and_a_name_is_not_broken() -> None:
    pair = group("women aged 18-25", 40_000, 60_000, after=outcomes(60_000, 40_000))
    texts = [text.text or "" for text in parsed(draw_shares_chart(ViewKind.MITIGATED, view(pair), PAGE)).iter(f"{SVG}text")]

    assert texts[:2] == ["women aged 18-25 · monitored ·", "40.0 % → 60.0 % of 100,000"]
    hostile = CHARTS["hostile names"](PAGE)
    assert max(len(text.text or "") for text in parsed(hostile).iter(f"{SVG}text")) <= 44


def test_bars_show_each_share_with_its_interval_and_the_line_of_perfect_equality(snapshot: SnapshotAssertion) -> None:
    chart = CHARTS["shares"](LIGHT)

    texts = titles(chart)
    assert says(texts[0], "female", "40.0", "100", "95", "0.0", "100.0")
    assert says(texts[1], "male", "70.0", "100", "95", "0.0", "100.0")
    assert texts == snapshot
    assert "female · monitored · 40.0 % of 100" in letters(chart)
    assert "Dashed: perfect equality, 60.0 %." in chart.notes
    assert chart.svg.count('x1="384.0" x2="384.0"') == 2
    assert says(chart.description, "male", "reference", "70.0", "100", "60.0")
    assert chart.description == snapshot


def test_a_group_has_a_hollow_bar_before_and_a_filled_one_after() -> None:
    chart = CHARTS["before and after"](LIGHT)
    bars = [(bar.attrib["width"], bar.attrib["fill-opacity"]) for bar in parsed(chart).iter(f"{SVG}rect") if bar.get("stroke")]

    assert bars == [("256.0", "0.15"), ("384.0", "0.8"), ("448.0", "0.15")]
    assert [title.partition(":")[0] for title in titles(chart)] == ["female, before", "female, after", "male, before"]


def test_a_group_without_a_rate_has_a_label_with_the_reason_and_no_bar(snapshot: SnapshotAssertion) -> None:
    chart = CHARTS["shares of nobody"](LIGHT)

    assert says(said := letters(chart), "0")
    assert said == snapshot
    assert titles(chart) == []


def test_no_more_is_drawn_than_can_be_read_and_the_chart_says_so() -> None:
    chart = CHARTS["hundreds of groups"](LIGHT)
    many = draw_series_chart(series(*((f"group {no}", DAY[:2]) for no in range(70))), LIGHT)

    assert len(titles(chart)) == MAX_BARS
    assert f"The first {MAX_BARS} of 300." in chart.notes
    assert letters(many).count("group ") == MAX_PANELS
    assert f"The first {MAX_PANELS} of 70 groups." in many.notes


def test_each_group_has_a_panel_in_words_and_the_bars_have_the_colours_of_their_verdicts(snapshot: SnapshotAssertion) -> None:
    found = series(("female", [point(0, 0.5, verdict="unfair"), point(1, 0.9)]), (None, [point(0, 1.0)]))
    chart = draw_series_chart(found, LIGHT)

    assert says(said := letters(chart), "female", "2", "unfair", "1", "fair", "1", "0.50", "0.90")
    assert said == snapshot
    assert "reference 1 check: fair 1; 1.00" in letters(chart)
    assert len(paths(chart, LIGHT.unfair)) == 1
    assert len(paths(chart, LIGHT.fair)) == 2
    assert says(said := titles(chart)[0], "2026-03-01 00:00", "UTC", "1", "unfair", "1", "0.50", "100")
    assert said == snapshot


def test_what_may_not_be_taken_for_a_measured_value_is_drawn_otherwise(snapshot: SnapshotAssertion) -> None:
    chart = draw_series_chart(series(("female", ODD), gaps=2), LIGHT)

    assert "Hollow: carried forward." in chart.notes
    assert chart.notes == snapshot
    assert len(paths(chart, LIGHT.surface)) == 1
    assert len(paths(chart, LIGHT.text)) == 1
    assert len(paths(chart, LIGHT.other)) == 1
    assert "not enough data 1, not computable 1" in letters(chart)
    assert "no record of female was classified" in letters(CHARTS["no value at all"](LIGHT))


def test_alerts_that_opened_before_the_first_point_are_drawn_at_their_times() -> None:
    alerts = [replace(alert_of(), attribute="sex", opened_at=START + hour * HOUR) for hour in (2, 5)]
    chart = draw_series_chart(series(("female", DAY[8:])), LIGHT, alerts=alerts)

    places = [float(mark.attrib["x"]) for mark in parsed(chart).iter(f"{SVG}svg") if mark.get("overflow") == "visible"]
    assert 0 < places[0] < places[1]


def test_a_year_of_hours_is_joined_and_keeps_its_extremes(snapshot: SnapshotAssertion) -> None:
    chart = draw_series_chart(series(("a", YEAR), ("b", YEAR), ("c", YEAR)), LIGHT)

    assert "0.10 to 0.86" in letters(chart)
    assert chart.notes == snapshot
    assert len(chart.svg) < 200_000
    assert titles(chart) == []


def test_a_limit_that_was_changed_is_in_the_band_and_the_words_and_each_row_of_the_table_has_its_own(snapshot: SnapshotAssertion) -> None:
    old, new = [point(hour, 0.85) for hour in range(3)], [point(hour, 0.85, lower_limit=0.9, verdict="unfair") for hour in range(3, 6)]
    found = series(("female", old + new))
    chart = draw_series_chart(found, LIGHT)

    assert says(chart.description, "fair", "0.8", "0.9")
    assert chart.description == snapshot
    (band,) = paths(chart, LIGHT.fair_ground)
    assert band.count("M") == 2
    columns = tabulate_series(found).columns
    assert [row[columns.index("lower_limit")] for row in tabulate_series(found).rows] == [0.8] * 3 + [0.9] * 3


def test_sums_of_days_are_in_the_middle_of_their_day_and_have_no_ticks_at_hours(snapshot: SnapshotAssertion) -> None:
    days = [point(24 * day, 0.7) for day in range(2)]
    by_day = draw_series_chart(series(("female", days), rollup=Period.DAY), LIGHT)
    volume = draw_volume_chart([Volume(at=day.at, records=1, additional=0) for day in days], LIGHT, rollup=Period.DAY)

    assert "2 days: fair 2; 0.70" in letters(by_day)
    assert says(said := titles(by_day)[1], "2026-03-02 00:00", "UTC", "1", "fair", "1", "0.70", "100")
    assert said == snapshot
    assert "2 records, at most 1 in one day" in letters(volume)
    for chart in (by_day, volume):
        assert ":" not in letters(chart).rpartition("01 Mar")[2]
        assert "03 Mar" in letters(chart)
    assert "05:00" in letters(draw_series_chart(series(("female", DAY[:10])), LIGHT)) or "06:00" in letters(CHARTS["a day"](LIGHT))


def test_records_of_a_long_time_are_summed_by_step() -> None:
    chart = CHARTS["volume of a year"](LIGHT)

    assert f"{sum(range(8760)):,} records, at most " in letters(chart)
    assert "in one day" in letters(chart)
    assert chart.svg.count("M") < 450
    assert timedelta(days=365) == 8760 * HOUR


@pytest.mark.parametrize(
    "character", ["\x00", "\x01", "\x08", "\x0b", "\x17", "\x1f", "\x7f", "\x85", "\ufffe", "\uffff", "\U0010ffff", "\u202e"]
)
def test_characters_that_xml_cannot_carry_are_replaced(character: str) -> None:
    chart = draw_series_chart(series((f"before{character}after", DAY)), LIGHT)

    assert "before" in letters(chart)
    assert "before" in parsed(chart).attrib["aria-label"]
    assert as_png(chart.svg).startswith(b"\x89PNG")


@pytest.mark.nightly
def test_random_text_is_drawn() -> None:
    made = random.Random(5)
    ranges = ((0, 0x250), (0x300, 0xD7FF), (0xE000, 0x10FFFF))
    for length in (1, 3, 30, 200):
        for _ in range(5):
            text = "".join(chr(made.randrange(*made.choice(ranges))) for _ in range(length))

            assert as_png(draw_series_chart(series((text, DAY), attribute=text), LIGHT).svg).startswith(b"\x89PNG"), text


def _contrast(one: str, other: str) -> float:
    """As WCAG 2 has it."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(part, 16) / 255 for part in re.findall("..", digits)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
