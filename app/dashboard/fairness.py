"""Fairness of one deployment: headlines of the newest check, and series of a chosen metric."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from ..checks.attributing import sentences as attribution_words
from ..checks.rollups import Period
from ..checks.sides import missing_sides
from ..clock import hour_of
from ..domain.alerts import Alert, AlertState
from ..domain.attributions import AttributionState
from ..domain.checks import DataSet, Measurement
from ..metrics.catalogue import CATALOGUE
from ..store.alerts.alerts import AlertFilter, alerts_page
from ..store.attributions.attributions import newest_of_gaps
from ..store.checks.checks import get, under_way
from ..store.checks.results import measurements_of
from ..store.deployments.monitors import monitor_of
from ..tracking.flagging import look_at_month
from ..tracking.looking import ComparisonState, look_at_evidence
from ..tracking.wording import find_governing, list_notes, list_remarks, name_figure, order_by_gravity, say_limit, sum_up
from ..views.causes import Cause
from ..views.check_advice import advice_on_check, outlook_of
from ..views.headlines import Headline, headlines
from ..views.judging import HEADLINE
from ..views.missing_records import notes_of_check
from ..views.overview import OverviewWanted, overview
from ..web.access import NowIn, ReadableDeployment, SessionIn
from . import check_words
from .overview import STATES
from .people import people
from .rendering import page
from .shown import interval_for_choice, number_of
from .subgroups import read_subgroups
from .wording import data_set

router = APIRouter(include_in_schema=False)


class Range(StrEnum):
    """Time that a chart reaches back."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    ALL = "all"


RANGES = {
    Range.DAY: ("24 hours", timedelta(days=1)),
    Range.WEEK: ("7 days", timedelta(days=7)),
    Range.MONTH: ("30 days", timedelta(days=30)),
    Range.QUARTER: ("90 days", timedelta(days=90)),
    Range.YEAR: ("a year", timedelta(days=365)),
    Range.ALL: ("all there is, by month", None),
}
ROLLUPS = {"": "each check", Period.DAY.value: "by day", Period.WEEK.value: "by week", Period.MONTH.value: "by month"}


class Chosen(BaseModel):
    """Choices of a person on the charts."""

    metric: str = Field(default=HEADLINE, max_length=100)
    data: DataSet = DataSet.PAYLOAD
    range: Range = Range.WEEK
    rollup: Period | None = None


MOST_ALERTS = 50

CONFIGURED = frozenset(
    {
        Cause.NO_MONITOR,
        Cause.NO_RECORDS,
        Cause.NOT_SCHEDULED,
        Cause.TOO_FEW_RECORDS,
        Cause.SCORING_FAILED,
        Cause.INVALID_INPUT,
        Cause.ALL_UNCLASSIFIED,
        Cause.GROUP_WITHOUT_RECORDS,
        Cause.GROUP_TOO_SMALL,
        Cause.REFERENCE_NEVER_FAVOURABLE,
        Cause.NO_LIMITS,
    }
)
"""Causes whose next step is on Configure."""


_WORDING = {
    "figure_of": name_figure,
    "limit_of": say_limit,
    "notes_of": list_notes,
    "number_of": number_of,
    "interval_for_choice": interval_for_choice,
    "words": check_words,
}
"""Functions that word a comparison, a figure or a check, by their names in the template."""


@dataclass(frozen=True, slots=True)
class Card:
    """Headline of one attribute, the alerts on it that are not over, and by data set the evidence on the group that it shows."""

    headline: Headline
    alerts: tuple[Alert, ...]
    evidence: Mapping[DataSet, ComparisonState]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart: its title, and the address and query of its exports."""

    title: str
    address: str
    query: str


@router.get("/deployments/{deployment_id}")
def fairness_page(
    request: Request, deployment: ReadableDeployment, session: SessionIn, now: NowIn, chosen: Annotated[Chosen, Query()]
) -> Response:
    """Returns the state of the deployment, since when, and how sure that is."""
    state = next(one for one in overview(session, OverviewWanted(only_no=deployment.no), now=now).deployments)
    newest = None if state.worst is None else get(session, deployment.no, state.worst.check_id)
    measured = [] if newest is None else measurements_of(session, newest.no)
    monitor, busy = monitor_of(session, deployment.no), under_way(session, deployment.no)
    evidence = look_at_evidence(session, deployment.no)
    compared = [] if evidence is None else order_by_gravity(evidence.comparisons)

    # Those on the records as logged come first; among them the sort leaves open alerts before acknowledged ones.
    wanted = [AlertFilter(deployment_no=deployment.no, state=one) for one in (AlertState.OPEN, AlertState.ACKNOWLEDGED)]
    known = [alert for one in wanted for alert in alerts_page(session, one, limit=MOST_ALERTS)]
    known_by_data = sorted(known, key=lambda alert: alert.subject.data != DataSet.PAYLOAD)
    cards = [
        Card(one, tuple(alert for alert in known_by_data if alert.subject.attribute == one.attribute), _find_evidence(one, compared))
        for one in headlines(measured, None if newest is None else newest.window)
    ]

    titles = {one.metric: CATALOGUE[one.metric].title for one in measured if one.attribute is not None and one.metric in CATALOGUE}
    values = {
        "deployment": deployment,
        "monitor": monitor,
        "state": state,
        "newest": newest,
        "missing_records": () if newest is None else notes_of_check(session, newest),
        "cards": cards,
        "compared": compared,
        "evidence_in_short": [] if evidence is None else [sum_up(compared), *list_remarks(evidence)],
        "flags": look_at_month(session, deployment.no),
        **_WORDING,
        "missing": missing_sides(monitor),
        "names": people(session, [*(one.acknowledged_by for one in known), None if busy is None else busy.created_by]),
        "busy": busy,
        "busy_advice": None if busy is None else advice_on_check(busy, outlook_of(session, deployment.no)),
        "configured": CONFIGURED,
        **_read_attributions(session, deployment.no),
        **read_subgroups(session, deployment.no, evidence),
        "elsewhere": _list_other_data(measured, chosen),
        "charts": _list_charts(deployment.id, measured, chosen, now),
        "metrics": dict(sorted(titles.items(), key=lambda one: one[1])),
        "data_sets": list(dict.fromkeys(one.data for one in measured)),
        "chosen": chosen,
        "ranges": {one: name for one, (name, _) in RANGES.items()},
        "rollups": ROLLUPS,
        "states": STATES,
        "now": now,
    }
    return page(request, "fairness.html", values)


def _read_attributions(session: Session, deployment_no: int) -> dict[str, object]:
    """Returns the newest attribution that has a result, and the newest of all, which may be under way."""
    return {
        "attributed": newest_of_gaps(session, deployment_no, state=AttributionState.DONE),
        "attributing": newest_of_gaps(session, deployment_no),
        "attribution_words": attribution_words,
    }


def _find_evidence(headline: Headline, compared: Sequence[ComparisonState]) -> dict[DataSet, ComparisonState]:
    """Returns the evidence on the group and metric that each part of the headline shows, where there is some."""
    found = {}
    for part in headline.parts:
        if part.figure is not None:
            about = (part.data, headline.attribute, part.figure.group, part.figure.measurement.metric)
            governing = find_governing([one for one in compared if (one.data, one.attribute, one.group, one.metric) == about])
            if governing is not None:
                found[part.data] = governing
    return found


def _list_other_data(measured: Sequence[Measurement], chosen: Chosen) -> list[tuple[str, str]]:
    """Returns other data that the chosen metric was measured on, if not the chosen data: each in words, with the query that shows it."""
    found = dict.fromkeys(one.data for one in measured if one.metric == chosen.metric and one.attribute is not None)
    if chosen.data in found:
        return []
    kept = chosen.model_dump(mode="json", exclude_none=True)
    return [(data_set(data.value), f"?{urlencode(kept | {'data': data.value})}") for data in found]


def _list_charts(deployment_id: str, measured: Sequence[Measurement], chosen: Chosen, now: datetime) -> list[Drawn]:
    """Returns one chart for each attribute that has the metric, then those of all records: volume and accuracy."""
    about = [one for one in measured if (one.metric, one.data) == (chosen.metric, chosen.data)]
    name = CATALOGUE[chosen.metric].title if chosen.metric in CATALOGUE else chosen.metric
    base = f"/v1/deployments/{deployment_id}/charts"
    # All there is can only be shown rolled up.
    _, length = RANGES[chosen.range]
    rollup = chosen.rollup or (Period.MONTH if length is None else None)
    when = {} if length is None else {"since": (hour_of(now) - length).isoformat()}
    when |= {} if rollup is None else {"rollup": rollup.value}

    charts = []
    for attribute in dict.fromkeys(one.attribute for one in about):
        query = {"metric": chosen.metric, "data": chosen.data.value, **({} if attribute is None else {"attribute": attribute}), **when}
        title = f"{name} by {attribute}" if attribute else name
        charts.append(Drawn(f"{title}, {data_set(chosen.data.value)}", f"{base}/series", f"?{urlencode(query)}"))
    if measured:
        charts.append(Drawn("Records logged, and earlier records that were added to a check", f"{base}/volume", f"?{urlencode(when)}"))
        query = {"metric": "accuracy", "data": DataSet.FEEDBACK.value, **when}
        charts.append(Drawn("Accuracy: how often the prediction was the later label", f"{base}/series", f"?{urlencode(query)}"))
    return charts
