"""Forest of a page: its places in per cent of the width, its words, and the drawer of the chosen row."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import Annotated, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, Field

from ...base.values import MAX_TEXT, frozen, frozen_by_name
from ...charts.forest import STRIP_CHECKS, Forest, ForestFigure, ForestRow, StripPoint, is_on_ratios
from ...charts.forest_headline import (
    SHARED_RECORDS,
    count_verdicts,
    format_day,
    share_records,
    word_figure,
    word_forest,
)
from ...charts.pictures.axes import Axis, choose_axis
from ...charts.pictures.timeline_picture import write_value
from ...charts.series import rename_gap
from ...checks.views.explain_figure import Explanation, explain
from ...checks.views.headlines import NOT_TOGETHER
from ...domain.alert import Alert, AlertState
from ...domain.check import Measurement
from ...evidence.attribution import words as attribution_words
from ...evidence.attribution.attribution import AttributedGap, AttributionRun, PartOfGap
from ...evidence.attribution.words import list_drivers
from ...evidence.causes import GapCause
from ...evidence.words import list_figure_notes, note_first_hour
from ...statistics.catalogue import CATALOGUE
from ...statistics.measures.worst_group import add_mirror_limits
from ...statistics.sentences.everything_equal import say_everything_equal
from ..words import Number, format_measurement
from .what_now import find_ratios, find_what_now

ROW_HEIGHT = 32
MAX_TEXT_PERCENT = 80
"""Place in per cent of the width beyond which no number fits after an interval."""

MIN_TEXT_PERCENT = 20
"""Place before which no number fits before an interval."""

_MIN_TICK_DISTANCE = 0.12
"""In shares of the width."""

Clipped = Literal["", "left", "right"]


@frozen
class Tick:
    text: str
    at: float


@frozen_by_name
class Mark:
    """Figure on the axis: place and interval in per cent of the width, `y` in pixels.

    `clipped` is the end it lies beyond, `text` its value there. `is_hollow`: counterfactual. `low_clipped`
    and `high_clipped`: the interval goes on beyond that end.
    """

    figure: ForestFigure
    is_hollow: bool
    y: float
    at: float
    low: float
    high: float
    clipped: Clipped
    text: str
    low_clipped: bool
    high_clipped: bool

    @property
    def text_at(self) -> float:
        """Place of the text: after the interval or before it, or else at the mark."""
        match self.clipped:
            case "left":
                return self.high if self.high < MAX_TEXT_PERCENT else self.at
            case "right":
                return self.low if self.low > MIN_TEXT_PERCENT else self.at
            case _:
                return self.at


@frozen_by_name
class ForestLine:
    """Row of the forest; the band of its limits in per cent of the width."""

    row: ForestRow
    marks: tuple[Mark, ...]
    band_low: float
    band_high: float


@frozen
class ForestPicture:
    """Rows, worst first, on one axis; `equal` is the place of the ideal in per cent, None without."""

    lines: tuple[ForestLine, ...]
    ticks: tuple[Tick, ...]
    equal: float | None


@frozen
class StripRun:
    at: float
    width: float
    verdict: str


def draw_forest(forest: Forest) -> ForestPicture:
    if not forest.rows:
        return ForestPicture((), (), None)
    figures = [figure for row in forest.rows for figure in row.figures]
    values = [
        value
        for figure in figures
        for value in (figure.value, *figure.interval)
        if figure.value is not None and value is not None
    ]
    limits = [limit for figure in figures for limit in figure.limits]
    level_axis = choose_axis(forest.metric, values, limits, distance=_MIN_TICK_DISTANCE)
    axis = level_axis.axis
    metric = CATALOGUE[forest.metric]
    lines = []
    for row in forest.rows:
        lower_limit, upper_limit = add_mirror_limits(metric, row.leading.limits)
        marks = [
            _place_mark(axis, figure, row, y=ROW_HEIGHT * (position + 1) / (len(row.figures) + 1))
            for position, figure in enumerate(row.figures)
        ]
        lines.append(
            ForestLine(
                row=row,
                marks=tuple(mark for mark in marks if mark is not None),
                band_low=0.0 if lower_limit is None else _round_percent(axis.place(lower_limit)),
                band_high=100.0 if upper_limit is None else _round_percent(axis.place(upper_limit)),
            )
        )
    ticks = (Tick(text, _round_percent(share)) for text, share in level_axis.ticks)
    ideal = metric.ideal
    equal = _round_percent(axis.place(ideal)) if ideal is not None and axis.holds(ideal) else None
    return ForestPicture(lines=tuple(lines), ticks=tuple(ticks), equal=equal)


def list_strip_runs(strip: Sequence[StripPoint], checks: int) -> tuple[StripRun, ...]:
    """The newest check is at the right end.

    The strip has a place for each of the `checks`, but at least a third of the places that it can have.
    """
    slots = max(checks, STRIP_CHECKS // 3)
    runs = []
    position = slots - len(strip)
    for verdict, points in groupby(strip, key=lambda point: point.verdict or "none"):
        length = len(list(points))
        runs.append(StripRun(_round_percent(position / slots), _round_percent(length / slots), verdict))
        position += length
    return tuple(runs)


def _place_mark(axis: Axis, figure: ForestFigure, row: ForestRow, *, y: float) -> Mark | None:
    if figure.value is None:
        return None
    position = axis.place(figure.value)
    clipped: Clipped = ""
    text = ""
    if not axis.holds(figure.value):
        clipped = "left" if position == 0 else "right"
        text = write_value(figure.measurement.metric, figure.value, figure.limits)
    lower, upper = figure.interval
    return Mark(
        figure=figure,
        is_hollow=figure is not row.logged,
        y=round(y, 1),
        at=_round_percent(position),
        low=0.0 if lower is None else _round_percent(axis.place(lower)),
        high=100.0 if upper is None else _round_percent(axis.place(upper)),
        clipped=clipped,
        text=text,
        low_clipped=_is_clipped(axis, lower, at=0),
        high_clipped=_is_clipped(axis, upper, at=1),
    )


def _is_clipped(axis: Axis, end: float | None, *, at: float) -> bool:
    """True if the end of an interval lies beyond that end of the axis. None is not bounded, so it does."""
    return end is None or (not axis.holds(end) and axis.place(end) == at)


def _round_percent(share: float) -> float:
    return round(100 * share, 2)


MAX_NAME_CHARACTERS = 4 * MAX_TEXT
"""Of a name in an address; an intersection has the texts of three values."""

MAX_ALERTS = 50

Label = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, pattern=r"^[^\x00]*$")]


@frozen_by_name
class DrawerFigure:
    """One figure in words. `explanation_query` is that of the page that explains it.

    `since_note` says that an unfair figure may be older than it is known to be.
    """

    figure: ForestFigure
    explanation: Explanation
    explanation_query: str
    since_note: str | None


@frozen_by_name
class Drawer:
    """Opened row. `changed_query` finds the records that another value changes; None without copies.

    `what_now` are causes with their sentences, None where nothing is to be done. `everything_equal` says how
    much of the gap is left with everything else equal; `caveat` why attributes watched together have only one
    figure, and `singles` are the rows of each attribute alone, worst first.
    """

    row: ForestRow
    figures: tuple[DrawerFigure, ...]
    alerts: tuple[Alert, ...]
    gap: AttributedGap | None
    attribution: AttributionRun | None
    what_now: list[tuple[GapCause, str]] | None
    records_query: str
    changed_query: str | None
    everything_equal: str
    caveat: str | None
    singles: list["Drawer"]


def list_live_alerts(alerts: Sequence[Alert]) -> list[Alert]:
    """Open ones before acknowledged ones, at most `MAX_ALERTS` of each."""
    live = []
    for state in (AlertState.OPEN, AlertState.ACKNOWLEDGED):
        live += [alert for alert in alerts if alert.state is state][:MAX_ALERTS]
    return live


def build_drawer(
    forest: Forest, row: ForestRow, alerts: Sequence[Alert], attribution: AttributionRun | None
) -> Drawer:
    gaps = () if attribution is None or attribution.result is None else attribution.result.gaps
    subject = (row.attribute, row.group)
    gap = next((gap for gap in gaps if (gap.attribute, gap.monitored.label) == subject), None)
    features = row.main.measurement.comparison.features
    singles = set(zip(features, row.parts, strict=False)) if len(row.parts) > 1 else set()
    return Drawer(
        row=row,
        figures=tuple(_describe_figure(forest, figure) for figure in row.figures),
        alerts=tuple(alert for alert in alerts if is_about(alert, row)),
        gap=None if gap is None else rename_gap(forest.words, gap),
        attribution=attribution,
        what_now=find_what_now(forest, row, alerts, gap),
        records_query=build_records_query(forest, row, outcome="unfavourable"),
        changed_query=None
        if row.counterfactual is None
        else build_records_query(forest, row, changed="gained"),
        everything_equal=say_everything_equal(*find_ratios(row)),
        caveat=NOT_TOGETHER if row.counterfactual is None and len(row.parts) > 1 else None,
        singles=[
            build_drawer(forest, other, alerts, attribution)
            for other in forest.rows
            if (other.attribute, other.name) in singles
        ],
    )


def is_about(alert: Alert, row: ForestRow) -> bool:
    return alert.attribute == row.attribute and alert.group in {row.group, None}


def build_records_query(forest: Forest, row: ForestRow, **members: str) -> str:
    check_members = {} if forest.check is None else {"check": forest.check.id}
    return urlencode({"attribute": row.attribute, "group": row.group, **check_members, **members})


def format_figure(figure: ForestFigure) -> Number:
    lower, upper = figure.interval
    return format_measurement(replace(figure.measurement, value=figure.value, lower=lower, upper=upper))


def build_figure_query(measurement: Measurement) -> str:
    # A group may be blank, which is not the same as none.
    return urlencode({name: value for name, value in asdict(measurement.key).items() if value is not None})


def _describe_figure(forest: Forest, figure: ForestFigure) -> DrawerFigure:
    return DrawerFigure(
        figure=figure,
        explanation=explain(forest.words.rename(figure.measurement)),
        explanation_query=build_figure_query(figure.measurement),
        since_note=None if figure.evidence is None else note_first_hour(figure.evidence),
    )


class ChosenRow(BaseModel):
    """Row that the address names; subclasses add the other members of a page's query."""

    attribute: Label = ""
    group: Label | None = None


def choose_row(forest: Forest, chosen: ChosenRow) -> ForestRow | None:
    """Chooses the row that is opened; without an attribute the first of that group, which may be blank."""
    rows = (
        row for row in forest.rows if row.group == chosen.group and chosen.attribute in {"", row.attribute}
    )
    return next(rows, None)


def build_forest_context(
    forest: Forest, chosen: ChosenRow, alerts: Sequence[Alert], attribution: AttributionRun | None
) -> dict[str, object]:
    row = choose_row(forest, chosen)
    worst = forest.rows[0] if forest.rows else None
    worst_alerts = [alert for alert in alerts if worst is not None and is_about(alert, worst)]
    query_members = chosen.model_dump(
        mode="json", include=chosen.model_fields_set, exclude={"attribute", "group"}, exclude_none=True
    )

    def build_row_query(row: ForestRow) -> str:
        return f"?{urlencode({**query_members, 'attribute': row.attribute, 'group': row.group})}#drawer"

    return {
        "forest": forest,
        "headline": word_forest(forest),
        "picture": draw_forest(forest),
        "strip_runs": list_strip_runs,
        "count_verdicts": count_verdicts,
        "shared_records": lambda strip: SHARED_RECORDS if share_records(strip) else "",
        "day_of": lambda at: format_day(at, forest.year),
        "number_of_figure": format_figure,
        "number_of_check": format_measurement,
        "note_first_hour": note_first_hour,
        "title_of_metric": CATALOGUE[forest.metric].title if forest.metric in CATALOGUE else forest.metric,
        "is_ratio": forest.metric in CATALOGUE and is_on_ratios(forest.metric),
        "worst_query": "" if worst is None else build_row_query(worst),
        "worst_records": "" if worst is None else build_records_query(forest, worst, outcome="unfavourable"),
        "alert_of_worst": next(iter(worst_alerts), None),
        "clause_of": lambda row, figure: word_figure(row, figure, forest.words),
        "query_of": build_row_query,
        "without_row": f"?{urlencode(query_members)}",
        "drawer": None if row is None else build_drawer(forest, row, alerts, attribution),
        "attribution_words": attribution_words,
        "draw_drivers": draw_drivers,
        "notes_of": list_figure_notes,
    }


@frozen_by_name
class DriverBars:
    """Drivers by name on an axis from `left` on. Drivers that make the gap larger go to the right, for either
    sign of it.
    """

    drivers: list[tuple[str, PartOfGap]]
    left: float
    width: float

    def place(self, *values: float | None) -> list[float]:
        """Places the values that are known, from the left, in per cent of the width."""
        # -0.0 would be written with its sign.
        return sorted(
            round(100 * (value - self.left) / self.width, 2) + 0.0 for value in values if value is not None
        )


def draw_drivers(gap: AttributedGap) -> DriverBars:
    drivers = list_drivers(gap)
    ends = [end for _, part in drivers for end in (part.value, part.low, part.high) if end is not None]
    left, right = min([0.0, *ends]), max([0.0, *ends])
    if gap.gap < 0:
        left, right = right, left
    return DriverBars(drivers=drivers, left=left, width=right - left or 1.0)
