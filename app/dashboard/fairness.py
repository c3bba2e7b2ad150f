"""Fairness of one deployment: headlines of the newest check, and series of a chosen metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from app.checks.rollups import Period
from app.clock import hour_of
from app.dashboard.overview import STATES
from app.dashboard.rendering import page
from app.domain.checks import DataSet, Measurement, Scope
from app.metrics.catalogue import CATALOGUE
from app.store.checks import get
from app.store.results import measurements_of
from app.views.figures import sentence_of
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


@dataclass(frozen=True, slots=True)
class Headline:
    """How the worst monitored value of an attribute fares: on payload, and with all else held equal."""

    attribute: str
    payload: Measurement | None
    balanced: Measurement | None
    sentence: str


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
    values = {
        "deployment": deployment,
        "standing": standing,
        "newest": newest,
        "headlines": _headlines(measured),
        "charts": _charts(deployment.id, measured, chosen, now),
        "metrics": _metrics(measured),
        "data_sets": list(dict.fromkeys(one.data for one in measured)),
        "chosen": chosen,
        "ranges": {one: name for one, (name, _) in RANGES.items()},
        "rollups": ROLLUPS,
        "states": STATES,
        "now": now,
    }
    return page(request, "fairness.html", values)


def _headlines(measured: Sequence[Measurement]) -> list[Headline]:
    worst = {(one.data, one.attribute): one for one in measured if one.metric == HEADLINE and one.scope is Scope.WORST}
    found = []
    for attribute in dict.fromkeys(attribute for _, attribute in worst if attribute is not None):
        payload, balanced = (worst.get((data, attribute)) for data in (DataSet.PAYLOAD, DataSet.BALANCED))
        shown = payload or balanced
        found.append(Headline(attribute, payload, balanced, sentence_of(shown) if shown else ""))
    return found


def _metrics(measured: Sequence[Measurement]) -> dict[str, str]:
    """The metrics of groups that were measured, with their names."""
    keys = dict.fromkeys(one.metric for one in measured if one.attribute is not None)
    return {key: CATALOGUE[key].title for key in sorted(keys) if key in CATALOGUE}


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
        charts.append(Drawn(f"{title}, {chosen.data.value.replace('_', ' ')} data", f"{base}/series", f"?{urlencode(query)}"))
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
