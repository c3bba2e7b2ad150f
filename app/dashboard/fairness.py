"""Fairness of one deployment: headlines of the newest check, and series of a chosen metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from app.checks.rollups import Period
from app.checks.sides import missing_sides
from app.clock import hour_of
from app.dashboard import check_words
from app.dashboard.overview import STATES
from app.dashboard.people import people
from app.dashboard.rendering import page
from app.dashboard.shown import number_of
from app.dashboard.wording import data_set
from app.domain.alerts import Alert, AlertState
from app.domain.checks import CheckRun, DataSet, Measurement
from app.metrics.catalogue import CATALOGUE
from app.store.alerts import AlertFilter, alerts_page
from app.store.checks import get, under_way
from app.store.monitors import monitor_of
from app.store.results import measurements_of
from app.views.causes import Cause
from app.views.check_advice import advice_on_check, outlook_of
from app.views.headlines import Headline, headlines
from app.views.overview import HEADLINE, OverviewWanted, overview
from app.web.access import NowIn, ReadableDeployment, SessionIn

router = APIRouter(include_in_schema=False)


class Range(StrEnum):
    """How far back a chart reaches."""

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
    """What the charts show."""

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
"""Causes whose next step is taken on Configure."""


@dataclass(frozen=True, slots=True)
class Card:
    """The headline of one attribute, and the alerts on it that are not over."""

    headline: Headline
    alerts: tuple[Alert, ...]


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
    """Where the deployment stands, since when, and how sure that is."""
    standing = next(one for one in overview(session, OverviewWanted(only_no=deployment.no), now=now).deployments)
    newest = None if standing.worst is None else get(session, deployment.no, standing.worst.check_id)
    measured = [] if newest is None else measurements_of(session, newest.no)
    known = _not_over(session, deployment.no)
    monitor = monitor_of(session, deployment.no)
    busy = under_way(session, deployment.no)
    values = {
        "deployment": deployment,
        "monitor": monitor,
        "standing": standing,
        "newest": newest,
        "cards": _cards(newest, measured, known),
        "missing": missing_sides(monitor),
        "names": people(session, [*(one.acknowledged_by for one in known), None if busy is None else busy.created_by]),
        "busy": busy,
        "busy_advice": None if busy is None else advice_on_check(busy, outlook_of(session, deployment.no)),
        "configured": CONFIGURED,
        "words": check_words,
        "elsewhere": _elsewhere(measured, chosen),
        "charts": _charts(deployment.id, measured, chosen, now),
        "metrics": _metrics(measured),
        "data_sets": list(dict.fromkeys(one.data for one in measured)),
        "chosen": chosen,
        "ranges": {one: name for one, (name, _) in RANGES.items()},
        "rollups": ROLLUPS,
        "states": STATES,
        "number_of": number_of,
        "now": now,
    }
    return page(request, "fairness.html", values)


def _cards(newest: CheckRun | None, measured: Sequence[Measurement], known: Sequence[Alert]) -> list[Card]:
    return [
        Card(
            one,
            tuple(
                sorted(
                    (alert for alert in known if alert.subject.attribute == one.attribute),
                    key=lambda alert: alert.subject.data != DataSet.PAYLOAD,
                )
            ),
        )
        for one in headlines(measured, None if newest is None else newest.window)
    ]


def _not_over(session: Session, deployment_no: int) -> list[Alert]:
    """The alerts that are open, then those that somebody has taken on."""
    wanted = (AlertFilter(deployment_no=deployment_no, state=state) for state in (AlertState.OPEN, AlertState.ACKNOWLEDGED))
    return [alert for one in wanted for alert in alerts_page(session, one, limit=MOST_ALERTS)]


def _metrics(measured: Sequence[Measurement]) -> dict[str, str]:
    """The metrics of groups that were measured, with their names."""
    titles = {one.metric: CATALOGUE[one.metric].title for one in measured if one.attribute is not None and one.metric in CATALOGUE}
    return dict(sorted(titles.items(), key=lambda one: one[1]))


def _elsewhere(measured: Sequence[Measurement], chosen: Chosen) -> list[tuple[str, str]]:
    """Where the chosen metric was measured, if not on the chosen data: each in words, with the query that shows it."""
    found = dict.fromkeys(one.data for one in measured if one.metric == chosen.metric and one.attribute is not None)
    if chosen.data in found:
        return []
    kept = chosen.model_dump(mode="json", exclude_none=True)
    return [(data_set(data.value), f"?{urlencode(kept | {'data': data.value})}") for data in found]


def _charts(deployment_id: str, measured: Sequence[Measurement], chosen: Chosen, now: datetime) -> list[Drawn]:
    """One chart for each attribute that has the metric, then what everybody shares: how much was logged, and how right it was."""
    about = [one for one in measured if (one.metric, one.data) == (chosen.metric, chosen.data)]
    name = CATALOGUE[chosen.metric].title if chosen.metric in CATALOGUE else chosen.metric
    base = f"/v1/deployments/{deployment_id}/charts"
    when = _when(chosen, now)
    charts = []
    for attribute in dict.fromkeys(one.attribute for one in about):
        query = {"metric": chosen.metric, "data": chosen.data.value, **({} if attribute is None else {"attribute": attribute}), **when}
        title = f"{name} by {attribute}" if attribute else name
        charts.append(Drawn(f"{title}, {data_set(chosen.data.value)}", f"{base}/series", f"?{urlencode(query)}"))
    if measured:
        charts.append(Drawn("Records logged, and earlier ones that topped a check up", f"{base}/volume", f"?{urlencode(when)}"))
        query = {"metric": "accuracy", "data": DataSet.FEEDBACK.value, **when}
        charts.append(Drawn("Accuracy: how often the prediction was the later label", f"{base}/series", f"?{urlencode(query)}"))
    return charts


def _when(chosen: Chosen, now: datetime) -> dict[str, str]:
    """The range and the roll-up, as the exports take them; all there is can only be shown rolled up."""
    _, length = RANGES[chosen.range]
    rollup = chosen.rollup or (Period.MONTH if length is None else None)
    since = {} if length is None else {"since": (hour_of(now) - length).isoformat()}
    return since | ({} if rollup is None else {"rollup": rollup.value})
