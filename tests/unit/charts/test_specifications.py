import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import altair as alt
import jsonschema_rs
import pytest

from app.charts.points import milliseconds
from app.charts.rendering import Spec, render_png, render_svg
from app.charts.series import AlertMark, series_chart
from app.charts.shares import MOST_BARS, ranges_chart, shares_chart
from app.charts.theme import LOOKS, Theme
from app.charts.twins import series_twin
from app.charts.volume import volume_chart
from app.checks.rollups import Period
from app.domain.checks import DataSet, Span
from app.views.check_views import ViewKind
from app.views.series import Volume
from tests.builders.chart_data import HOSTILE, HOUR, START, group, outcomes, point, series, view

DAY = [point(hour, 0.7 + hour / 100) for hour in range(24)]
ODD = [
    *(point(0, 0.5), point(1, None), point(2, 0.6, carried_forward=True), point(3, 0.7, verdict="insufficient_data")),
    *(point(9, 0.9, lower=None, upper=None), point(10, 4.0, upper=900.0)),
]
BOTH = (group("female", 40, 60), group("male", 70, 30, role="reference"))

CHARTS: dict[str, Any] = {
    "a day": lambda theme: series_chart(series(("female", DAY)), theme=theme),
    "odd points, gaps and alerts": lambda theme: series_chart(
        series(("female", ODD), (None, DAY), gaps=3),
        theme=theme,
        alerts=[AlertMark(START, "Unfair to <b>women</b>")],
        span=Span(start=START, end=START + 9 * HOUR),
    ),
    "one point": lambda theme: series_chart(series(("female", DAY[:1])), theme=theme),
    "a changed limit": lambda theme: series_chart(series(("female", [*DAY, *(one._replace(lower_limit=0.9) for one in ODD)])), theme=theme),
    "no point": lambda theme: series_chart(series(("female", [])), theme=theme),
    "no group": lambda theme: series_chart(series(), theme=theme),
    "no value at all": lambda theme: series_chart(series(("female", [point(hour, None) for hour in range(3)])), theme=theme),
    "twenty groups": lambda theme: series_chart(series(*((f"group {no}", DAY) for no in range(20))), theme=theme),
    "hostile names": lambda theme: series_chart(series(*((name, DAY) for name in HOSTILE), attribute=HOSTILE[0]), theme=theme),
    "accuracy": lambda theme: series_chart(
        series(("female", DAY), metric="accuracy", data=DataSet.FEEDBACK, attribute=None, lower_limit=None), theme=theme
    ),
    "a difference": lambda theme: series_chart(series(("female", DAY), metric="statistical_parity_difference"), theme=theme),
    "volume": lambda theme: volume_chart([Volume(at=START, records=3, additional=1)], theme=theme),
    "volume of a year": lambda theme: volume_chart(
        [Volume(at=START + n * HOUR, records=n, additional=0) for n in range(8760)], theme=theme
    ),
    "no volume": lambda theme: volume_chart([], theme=theme),
    "shares": lambda theme: shares_chart(ViewKind.PAYLOAD_PERTURBED, view(*BOTH, equality=0.6), theme=theme),
    "shares of nobody": lambda theme: shares_chart(ViewKind.PAYLOAD, view(group("female", 0, 0)), theme=theme),
    "shares without a group": lambda theme: shares_chart(ViewKind.TRAINING, view(), theme=theme),
    "before and after": lambda theme: shares_chart(
        ViewKind.DEBIASED, view(group("female", 4, 6, after=outcomes(6, 4)), *BOTH[1:]), theme=theme, with_copies=True
    ),
    "hostile groups": lambda theme: shares_chart(ViewKind.PAYLOAD, view(*(group(name, 1, 2) for name in HOSTILE)), theme=theme),
    "hundreds of groups": lambda theme: shares_chart(ViewKind.PAYLOAD, view(*(group(f"{no}", 1, 2) for no in range(300))), theme=theme),
    "sub-ranges": lambda theme: ranges_chart(ViewKind.PAYLOAD, view(group("18-25", 1, 2, ranges=8)), theme=theme),
}


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Validator:
    """The schema of Vega-Lite. Altair's own check takes ten times as long."""
    return jsonschema_rs.validator_for(json.loads(json.dumps(alt.load_schema()), object_hook=_quote_reference))


def _quote_reference(node: dict[str, Any]) -> dict[str, Any]:
    """Quotes characters such as `<` in a reference, which Altair leaves as they are."""
    return {**node, "$ref": quote(node["$ref"], safe="#/")} if isinstance(node.get("$ref"), str) else node


@pytest.mark.thorough
@pytest.mark.parametrize("theme", [Theme.LIGHT, Theme.DARK])
@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_fits_the_schema_and_can_be_drawn(schema: jsonschema_rs.Validator, name: str, theme: Theme) -> None:
    spec = CHARTS[name](theme)

    schema.validate(json.loads(json.dumps(spec, allow_nan=False)))
    svg = render_svg(spec)
    assert svg.startswith("<svg ")
    assert "NaN" not in svg
    assert "<script" not in svg
    assert spec["description"]


def test_a_chart_that_does_not_fit_the_schema_is_refused(schema: jsonschema_rs.Validator) -> None:
    spec = CHARTS["shares"](Theme.LIGHT)

    assert schema.is_valid(spec)
    assert not schema.is_valid({**spec, "markk": "bar"})
    assert not schema.is_valid({**spec, "description": 3})


@pytest.mark.thorough
@pytest.mark.parametrize("name", CHARTS)
def test_nothing_in_a_chart_is_an_expression_of_ours_or_an_address(name: str) -> None:
    spec = CHARTS[name](Theme.LIGHT)
    schema = spec.pop("$schema")

    assert schema == "https://vega.github.io/schema/vega-lite/v6.4.1.json"
    assert not {"expr", "labelExpr", "calculate", "filter", "url", "params", "transform"} & set(_keys(spec))


def test_a_line_ends_at_a_missing_value_and_at_a_missing_hour() -> None:
    spec = series_chart(series(("female", [*DAY[:3], point(3, None), *DAY[4:6], *DAY[12:14]])))

    lines = spec["datasets"]["lines"]
    assert [row["k"] for row in lines] == [0, 0, 0, 1, 1, 2, 2]
    (absent,) = spec["datasets"]["absent"]
    assert absent["why"] == "no record of female was classified"


def test_what_may_not_be_taken_for_a_measured_point_is_drawn_otherwise() -> None:
    data = series_chart(series(("female", ODD), gaps=2))["datasets"]

    assert [row["v"] for row in data["measured"]] == [0.5, 0.9, 4.0]
    assert [(row["v"], row["verdict"]) for row in data["carried"]] == [(0.6, "fair, carried forward")]
    assert [(row["v"], row["verdict"]) for row in data["uncertain"]] == [(0.7, "not enough data")]
    assert [(row["why"], row["count"]) for row in data["gaps"]] == [("the endpoint did not answer", 2)]


def test_a_year_of_hours_is_drawn_without_single_points_and_says_at_the_bottom_what_they_would_have_said() -> None:
    year = [point(hour, 0.1 if hour == 4321 else 0.8 + hour % 7 / 100, carried_forward=hour % 100 == 7) for hour in range(8760)]

    spec = series_chart(series(("a", year), ("b", year), ("c", year)))

    data = spec["datasets"]
    assert 3 * 600 <= len(data["lines"]) <= 3 * 1800
    assert sum(row["v"] == 0.1 for row in data["lines"]) == 3
    assert "measured" not in data
    assert {row["why"] for row in data["absent"]} == {"carried forward"}
    assert len(json.dumps(spec)) < 1_000_000


def test_names_that_look_alike_when_cut_stay_apart() -> None:
    spec = series_chart(series(("x" * 80, DAY), ("x" * 90, DAY), (None, DAY)))

    names = list(dict.fromkeys(row["g"] for row in spec["datasets"]["lines"]))
    assert len(names) == 3
    assert names[1] == f"{names[0]} (2)"


def test_a_limit_that_was_changed_is_drawn_for_the_time_that_it_held_and_each_row_of_the_table_has_its_own() -> None:
    old, new = [point(hour, 0.85) for hour in range(3)], [point(hour, 0.85, lower_limit=0.9, verdict="unfair") for hour in range(3, 6)]
    found = series(("female", old + new), lower_limit=0.9)

    spec = series_chart(found)

    drawn = [(row["name"], row["t"], row["b"]) for row in _rows(spec) if row.get("name", "").startswith("lower limit")]
    ends = [milliseconds(START + hour * HOUR) for hour in (-1, 2, 2, 5)]
    assert drawn == [("lower limit 0.8", *ends[:2]), ("lower limit 0.9", *ends[2:])]
    assert "lower limit 0.8, then 0.9" in spec["description"]
    columns = series_twin(found).columns
    assert [row[columns.index("lower_limit")] for row in series_twin(found).rows] == [0.8] * 3 + [0.9] * 3


def test_a_limit_that_was_set_later_is_not_drawn_before() -> None:
    found = series(("female", [point(0, 0.85, lower_limit=None, verdict=None), point(1, 0.85), point(2, 0.85)]))

    drawn = [row for row in _rows(series_chart(found)) if row.get("name", "").startswith("lower limit")]

    assert [(row["t"], row["b"]) for row in drawn] == [(milliseconds(START), milliseconds(START + 2 * HOUR))]


def test_limits_are_named_and_an_unbounded_interval_reaches_the_end_of_the_axis() -> None:
    spec = series_chart(series(("female", [one._replace(upper_limit=1.25) for one in ODD])))

    named = {row["name"] for row in _rows(spec) if "name" in row}
    assert named == {"lower limit 0.8", "upper limit 1.25", "equal 1"}
    unbounded = next(row for row in spec["datasets"]["lines"] if row["v"] == 0.9)
    assert unbounded["l"] == 0
    assert unbounded["u"] > 4


def test_a_ratio_begins_at_nought_a_share_has_all_and_a_difference_has_nought_in_the_middle() -> None:
    ends = {
        metric: _domain(series_chart(series(("female", DAY), metric=metric, lower_limit=None)))
        for metric in ("disparate_impact", "favourable_rate", "statistical_parity_difference")
    }

    assert ends["disparate_impact"][0] == 0
    assert ends["favourable_rate"] == [0, 1]
    low, high = ends["statistical_parity_difference"]
    assert low == -high


def test_bars_show_each_share_with_its_interval_and_the_line_of_perfect_equality() -> None:
    spec = shares_chart(ViewKind.PAYLOAD_PERTURBED, view(*BOTH, equality=0.65))

    shares = {row["name"]: row["share"] for row in _rows(spec) if "share" in row}
    assert shares == {"female": 0.4, "male": 0.7}
    assert {"40.0 % of 100 · monitored · female", "70.0 % of 100 · reference · male"} <= {row.get("label") for row in _rows(spec)}
    assert "perfect equality 65.0 %" in {row.get("name") for row in _rows(spec)}
    assert "Perfect equality is 65.0 %" in spec["description"]


def test_a_long_label_is_wrapped_whole_over_its_bar_and_no_line_goes_through_it() -> None:
    name = "women aged 18-25 who apply for the first time"
    spec = shares_chart(ViewKind.PAYLOAD, view(group(name, 40, 60), *BOTH, equality=0.65))

    lines = [row["lines"] for row in _rows(spec) if "lines" in row]
    assert {len(one) for one in lines} == {2}
    assert " ".join(lines[0]) == f"40.0 % of 100 · monitored · {name}"
    assert max(len(line) for one in lines for line in one) <= 44
    assert lines[1][0] == ""
    drawn = [layer["mark"]["type"] for layer in spec["layer"]]
    assert drawn[-2:] == ["text", "text"]
    assert "stroke" in spec["layer"][-2]["mark"]


def test_a_label_breaks_between_its_parts_and_not_within_a_name() -> None:
    pair = group("women aged 18-25", 40_000, 60_000, after=outcomes(60_000, 40_000))
    spec = shares_chart(ViewKind.DEBIASED, view(pair))

    (lines,) = {tuple(row["lines"]) for row in _rows(spec) if "lines" in row}
    assert lines == ("40.0 % → 60.0 % of 100,000 · monitored ·", "women aged 18-25")


def test_sums_of_days_have_no_ticks_at_hours() -> None:
    days = [point(24 * day, 0.7) for day in range(3)]
    many = [point(24 * day, 0.7) for day in range(40)]

    assert _ticks(series_chart(series(("female", days), rollup=Period.DAY))) == {"interval": "day", "step": 1}
    assert _ticks(volume_chart([Volume(at=one.at, records=1, additional=0) for one in days], rollup=Period.DAY)) == {
        "interval": "day",
        "step": 1,
    }
    assert _ticks(series_chart(series(("female", many), rollup=Period.DAY))) == 6
    assert _ticks(series_chart(series(("female", DAY)))) == 6


def test_no_more_bars_are_drawn_than_can_be_read_and_the_chart_says_so() -> None:
    spec = CHARTS["hundreds of groups"](Theme.LIGHT)

    assert sum("share" in row for row in _rows(spec)) == MOST_BARS
    assert f"The first {MOST_BARS} of 300." in " ".join(spec["title"]["subtitle"])


@pytest.mark.parametrize("theme", [Theme.LIGHT, Theme.DARK])
def test_text_and_lines_stand_out_from_the_background(theme: Theme) -> None:
    look = LOOKS[theme]

    assert all(_contrast(colour, look.surface) >= 4.5 for colour in (look.text, look.muted, look.limit))
    assert all(_contrast(colour, look.surface) >= 3 for colour in (*look.groups, look.alert))


def test_a_picture_is_a_png_of_bounded_size() -> None:
    picture = render_png(CHARTS["shares"](Theme.LIGHT), 100.0, width=300)

    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") < 300 * 5


def _keys(found: object) -> Iterator[str]:
    match found:
        case dict():
            yield from found
            for name, part in found.items():
                if name != "datasets":
                    yield from _keys(part)
        case list():
            for part in found:
                yield from _keys(part)


def _rows(spec: Spec) -> list[dict[str, Any]]:
    return [row for rows in spec["datasets"].values() for row in rows]


def _ticks(spec: Spec) -> object:
    return spec["config"]["axisXTemporal"]["tickCount"]


def _domain(spec: Spec) -> list[float]:
    return next(layer["encoding"]["y"]["scale"]["domain"] for layer in spec["layer"] if "scale" in layer["encoding"].get("y", {}))


def _contrast(one: str, other: str) -> float:
    """As WCAG 2 has it."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(part, 16) / 255 for part in re.findall("..", colour[1:])]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
