"""Forest as a template shows it, with the drawer of the chosen row."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from pydantic import BaseModel, Field

from ...base.frozen import frozen_by_name
from ...base.values import MAX_TEXT
from ...charts.forest import Forest, ForestFigure, ForestRow
from ...charts.forest_headline import (
    SHARED_RECORDS,
    Clause,
    capitalise,
    count_verdicts,
    format_day,
    share_records,
    word_figure,
    word_forest,
)
from ...charts.named_groups import rename_gap
from ...charts.pictures.forest_picture import draw_forest, strip_runs
from ...checks.views.explain_figure import Explanation, explain
from ...checks.views.headlines import NOT_TOGETHER, read_together
from ...checks.views.headlines import word_figure as worded
from ...domain.alert import Alert, AlertState
from ...domain.check import Measurement
from ...evidence.attribution import words as attribution_words
from ...evidence.attribution.attribution import AttributedGap, AttributionRun
from ...evidence.present_state import ComparisonState
from ...evidence.words import list_notes, note_first_hour
from ...statistics.e_values.state_words import State
from ...statistics.intervals.verdicts import Verdict
from ..check_words import Number, format_measurement
from .trend import Trend, draw_trend

LONGEST = 4 * MAX_TEXT
"""Max characters of a name in an address; an intersection has the texts of three values."""

MOST_ALERTS = 50

Label = Annotated[str, Field(max_length=LONGEST, pattern=r"^[^\x00]*$")]


@frozen_by_name
class DrawerFigure:
    """One figure in words. `query` is that of the page that explains it.

    `since_note` says that an unfair figure may be older than it is known to be.
    """

    figure: ForestFigure
    clause: Clause
    number: Number
    explanation: Explanation
    query: str
    trend: Trend | None
    since_note: str | None


@frozen_by_name
class Drawer:
    """Opened row. `records` and `changed` are queries of its records; the second is None without copies.

    `reading` says what its two figures mean together, where that is sure; `caveat` why attributes watched
    together have only one.
    """

    row: ForestRow
    figures: tuple[DrawerFigure, ...]
    alerts: tuple[Alert, ...]
    gap: AttributedGap | None
    records: str
    changed: str | None
    reading: str | None
    caveat: str | None


def live_alerts(alerts: Sequence[Alert]) -> list[Alert]:
    """Those that are not over, open before acknowledged."""
    return [
        alert
        for state in (AlertState.OPEN, AlertState.ACKNOWLEDGED)
        for alert in [alert for alert in alerts if alert.state is state][:MOST_ALERTS]
    ]


def open_drawer(
    forest: Forest, row: ForestRow, alerts: Sequence[Alert], attribution: AttributionRun | None
) -> Drawer:
    """`alerts` are those of the deployment that are not over."""
    about = tuple(
        alert for alert in alerts if alert.attribute == row.attribute and alert.group in {row.group, None}
    )
    gaps = () if attribution is None or attribution.result is None else attribution.result.gaps
    gap = next(
        (gap for gap in gaps if gap.attribute == row.attribute and gap.monitored.label == row.group), None
    )
    records = {"attribute": row.attribute, "group": row.group}
    if forest.check is not None:
        records["check"] = forest.check.id
    # If the model does not see the attribute, no reading would be true.
    reading = None
    if row.logged is not None and row.counterfactual is not None and not row.is_unseen:
        reading = read_together(*(worded(forest.words.rename(figure.measurement)) for figure in row.figures))
    return Drawer(
        row=row,
        figures=tuple(_describe(forest, row, figure) for figure in row.figures),
        alerts=about,
        gap=None if gap is None else rename_gap(forest.words, gap),
        records=urlencode(records | {"outcome": "unfavourable"}),
        changed=None if row.counterfactual is None else urlencode(records | {"changed": "gained"}),
        reading=reading,
        caveat=NOT_TOGETHER if row.counterfactual is None and len(row.parts) > 1 else None,
    )


def figure_query(measurement: Measurement) -> str:
    """Query that identifies a measurement on the page that explains it, under REST's names."""
    # A group may be blank, which is not the same as none.
    key = asdict(measurement.key)
    return urlencode({name: value for name, value in key.items() if value is not None})


def _describe(forest: Forest, row: ForestRow, figure: ForestFigure) -> DrawerFigure:
    clause = word_figure(row, figure, forest.words)
    measurement = figure.measurement
    return DrawerFigure(
        figure=figure,
        clause=Clause(text=capitalise(clause.text), interval=clause.interval),
        number=format_measurement(figure.measurement),
        explanation=explain(forest.words.rename(figure.measurement)),
        query=figure_query(figure.measurement),
        trend=draw_trend(
            figure.strip, metric=measurement.metric, limits=(measurement.lower_limit, measurement.upper_limit)
        ),
        since_note=None if figure.evidence is None else note_first_hour(figure.evidence),
    )


class ChosenRow(BaseModel):
    attribute: Label = ""
    group: Label = ""


def show_forest(
    forest: Forest, chosen: ChosenRow, alerts: Sequence[Alert], attribution: AttributionRun | None
) -> dict[str, object]:
    # Without an attribute the first of that group.
    rows = (
        [row for row in forest.rows if row.group == chosen.group and chosen.attribute in {"", row.attribute}]
        if chosen.group
        else []
    )
    row = rows[0] if rows else None
    sent = chosen.model_dump(
        mode="json", include=chosen.model_fields_set, exclude={"attribute", "group"}, exclude_none=True
    )
    return {
        "forest": forest,
        "headline": word_forest(forest),
        "picture": draw_forest(forest),
        "strip_runs": strip_runs,
        "count_verdicts": count_verdicts,
        "shared_records": lambda strip: SHARED_RECORDS if share_records(strip) else "",
        "short_evidence": short_evidence,
        "explain_evidence": explain_evidence,
        "clause_of": lambda row, figure: word_figure(row, figure, forest.words),
        "query_of": lambda row: (
            f"?{urlencode({**sent, 'attribute': row.attribute, 'group': row.group})}#drawer"
        ),
        "without_row": f"?{urlencode(sent)}",
        "drawer": None if row is None else open_drawer(forest, row, alerts, attribution),
        "attribution_words": attribution_words,
        "notes_of": list_notes,
    }


def short_evidence(state: ComparisonState | None, now: datetime) -> str:
    if state is None:
        return "none"
    since = "" if state.since is None else f" since {format_day(state.since, now.year)}"
    return {
        State.UNFAIR: f"unfair{since}",
        State.SHOWN_FAIR: f"shown fair{since}",
        State.UNDECIDED: "undecided",
    }[state.state]


_BY_VERDICT: Mapping[Verdict | None, str] = {
    Verdict.FAIR: "its figure and the whole 95 % interval are inside the limits",
    Verdict.UNDECIDED: "its figure is inside the limits, its 95 % interval is not",
    Verdict.SUSPECTED: "its figure is beyond a limit, its 95 % interval is not",
    Verdict.UNFAIR: "its figure and the whole 95 % interval are beyond a limit",
    Verdict.UNWATCHED: "its figure lies on the side that has no limit",
}
_BY_EVIDENCE: Mapping[State, str] = {
    State.UNFAIR: "refute that the group is inside its limits in every hour",
    State.SHOWN_FAIR: "refute that the group is at a limit or beyond it in every hour",
    State.UNDECIDED: "refute neither that the group is inside its limits nor that it is beyond one",
}
_ALIKE = {(Verdict.FAIR, State.SHOWN_FAIR), (Verdict.UNFAIR, State.UNFAIR)}


def explain_evidence(row: ForestRow) -> str | None:
    if row.evidence is None or row.verdict not in _BY_VERDICT or (row.verdict, row.evidence.state) in _ALIKE:
        return None
    return (
        f"The verdict is on the newest check alone: {_BY_VERDICT[row.verdict]}. The evidence is of all hours "
        f"together, with a bound on false alarms: they {_BY_EVIDENCE[row.evidence.state]}."
    )
