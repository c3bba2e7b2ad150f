"""Drawer of one row of the forest: everything that its figures rest on, and what a person can do about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from ..charts.log_axis import LogAxis
from ..domain.alerts import Alert, AlertState
from ..domain.attributions import AttributedGap, AttributionRun
from ..domain.checks import DataSet
from ..domain.texts import MAX_TEXT
from ..store.alerts.alerts import AlertFilter, alerts_page
from ..views.figures import Explanation, explained
from ..views.forest import Forest, ForestFigure, ForestRow, StripPoint, is_on_ratios
from ..views.forest_headline import Clause, capitalise, word_figure
from .checks import figure_query
from .shown import Number, number_of

LONGEST: Final = 4 * MAX_TEXT
TREND_WIDTH, TREND_HEIGHT, _MARGIN = 720, 140, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendDot:
    """A check on the trend; `check_id` opens it."""

    x: float
    y: float
    point: StripPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Line of the last checks in a box of `TREND_WIDTH` by `TREND_HEIGHT`; broken where a check has no figure."""

    dots: tuple[TrendDot, ...]
    stretches: tuple[str, ...]
    limits: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawerFigure:
    """One figure of the row in words, with its number, its counts and its trend. `query` is that of the page that explains it."""

    figure: ForestFigure
    clause: Clause
    number: Number
    explanation: Explanation
    query: str
    trend: Trend | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawer:
    """One row opened. `records` and `changed` are queries of its records; the second is None without copies."""

    row: ForestRow
    figures: tuple[DrawerFigure, ...]
    alerts: tuple[Alert, ...]
    gap: AttributedGap | None
    records: str
    changed: str | None


def row_query(row: ForestRow, kept: Mapping[str, str]) -> str:
    """Returns the query that opens the row, with the other choices on the page."""
    return urlencode({**kept, "attribute": row.attribute, "group": row.group})


def find_row(forest: Forest, *, attribute: str, group: str) -> ForestRow | None:
    """Returns the row of that group; without an attribute the first of that group."""
    return next((row for row in forest.rows if row.group == group and attribute in {"", row.attribute}), None)


def live_alerts(session: Session, deployment_no: int, *, most: int) -> list[Alert]:
    """Returns the alerts that are not over, those on the records as logged first; among them open ones before acknowledged ones."""
    wanted = [AlertFilter(deployment_no=deployment_no, state=one) for one in (AlertState.OPEN, AlertState.ACKNOWLEDGED)]
    known = [alert for one in wanted for alert in alerts_page(session, one, limit=most)]
    return sorted(known, key=lambda alert: alert.subject.data != DataSet.PAYLOAD)


def open_drawer(forest: Forest, row: ForestRow, alerts: Sequence[Alert], attribution: AttributionRun | None) -> Drawer:
    """Returns the drawer of a row; `alerts` are those of the deployment that are not over."""
    about = tuple(one for one in alerts if one.subject.attribute == row.attribute and one.subject.group in {row.group, None})
    gaps = () if attribution is None or attribution.result is None else attribution.result.gaps
    records = {"attribute": row.attribute, "group": row.group}
    if forest.check is not None:
        records["check"] = forest.check.id
    return Drawer(
        row=row,
        figures=tuple(_describe(forest, row, one) for one in row.figures),
        alerts=about,
        gap=next((one for one in gaps if one.attribute == row.attribute and one.monitored.label == row.group), None),
        records=urlencode(records | {"outcome": "unfavourable"}),
        changed=None if row.counterfactual is None else urlencode(records | {"changed": "gained"}),
    )


def _describe(forest: Forest, row: ForestRow, figure: ForestFigure) -> DrawerFigure:
    clause = word_figure(row, figure, forest.words)
    return DrawerFigure(
        figure=figure,
        clause=Clause(text=capitalise(clause.text), interval=clause.interval),
        number=number_of(figure.measurement),
        explanation=explained(forest.words.rename(figure.measurement)),
        query=figure_query(figure.measurement),
        trend=trend_of(figure),
    )


def trend_of(figure: ForestFigure) -> Trend | None:
    """Returns the line of the last checks; None without a value in any of them."""
    one = figure.measurement
    limits = [limit for limit in (one.lower_limit, one.upper_limit) if limit is not None]
    values = [point.value for point in figure.strip if point.value is not None]
    if not values:
        return None
    low, high = min(*values, *limits, values[0]), max(*values, *limits, values[0])
    # A ratio of 0 has no logarithm; it lies at the lower end.
    axis = LogAxis(min(LogAxis().low, max(low, 0.01)), max(LogAxis().high, high)) if is_on_ratios(one.metric) else None

    def height(value: float) -> float:
        share = axis.place(value) if axis is not None else 0.5 if high == low else (value - low) / (high - low)
        return round(TREND_HEIGHT - _MARGIN - share * (TREND_HEIGHT - 2 * _MARGIN), 1)

    step = (TREND_WIDTH - 2 * _MARGIN) / max(1, len(figure.strip) - 1)
    dots: list[TrendDot] = []
    stretches: list[list[str]] = [[]]
    for no, point in enumerate(figure.strip):
        if point.value is None:
            stretches.append([])
            continue
        dot = TrendDot(x=round(_MARGIN + no * step, 1), y=height(point.value), point=point)
        dots.append(dot)
        stretches[-1].append(f"{dot.x:g},{dot.y:g}")
    lines = tuple(" ".join(one) for one in stretches if len(one) > 1)
    return Trend(dots=tuple(dots), stretches=lines, limits=tuple(height(limit) for limit in limits))
