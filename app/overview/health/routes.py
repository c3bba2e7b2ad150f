"""Routes of the service's health."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from pydantic import Field
from sqlalchemy.orm import Session

from ...access.gate.caller import NowIn, Reader, ServicesIn, SessionIn
from ...access.principals import Permission, Principal
from ...alerts.queries import OpenAlerts, count_open_alerts
from ...base.errors import Unavailable
from ...base.telemetry.prometheus import write_exposition
from ...domain.alert import AlertKind, AlertState
from ...web.body import Out
from ...web.route_declarations import Answers, answers
from .queries import count_checks, is_migrated, read_vitals

router = APIRouter()

MAX_GAUGED_DEPLOYMENTS = 500

OTHERS = "(others)"
"""No id of a deployment looks like this."""

_STATES = {AlertState.OPEN: "unacknowledged", AlertState.ACKNOWLEDGED: "acknowledged"}
_TEXT: Answers = {
    200: {"description": "Counters and gauges", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


class HealthOut(Out):
    """A word for people; machines read the status code."""

    status: str = Field(examples=["ok"])


class PrometheusText(Response):
    media_type = "text/plain"


@router.get("/health/live", tags=["health"])
async def live() -> HealthOut:
    """Answers as long as the process does. Checks nothing else; needs no key."""
    return HealthOut(status="ok")


@router.get("/health/ready", tags=["health"], responses=answers(Unavailable))
def ready(services: ServicesIn) -> HealthOut:
    """Answers if the database does and is migrated, so requests can be served. Needs no key, and waits for
    no other request.
    """
    # Not the request's transaction, which would wait after requests that hang.
    with services.database.transaction() as session:
        if not is_migrated(session):
            raise Unavailable("The database is not migrated to this version; run `evenhand migrate`.")
    return HealthOut(status="ok")


def require_reader_of_all(principal: Reader) -> Principal:
    principal.require(Permission.READ)
    return principal


@router.get(
    "/metrics", tags=["health"], operation_id="readTelemetry", response_class=PrometheusText, responses=_TEXT
)
def metrics(
    _principal: Annotated[Principal, Depends(require_reader_of_all)], session: SessionIn, now: NowIn
) -> Response:
    """Returns operations numbers in Prometheus' text form: requests, records, checks, model calls, and the
    present queue.
    """
    text, content_type = write_exposition()
    # The global registry would keep the numbers of the first request.
    gauges = CollectorRegistry(auto_describe=False)
    gauges.register(_Gauges(session, now))
    return Response(text + generate_latest(gauges), media_type=content_type)


class _Gauges(Collector):
    def __init__(self, session: Session, now: datetime) -> None:
        self._session = session
        self._now = now

    def collect(self) -> Iterator[Metric]:
        states = GaugeMetricFamily(
            "evenhand_checks_stored", "Checks in the database, by state.", labels=["state"]
        )
        for state, count in count_checks(self._session).items():
            states.add_metric([state], count)
        yield states
        for name, meaning, value in read_vitals(self._session, self._now):
            yield GaugeMetricFamily(name, meaning, value=value)
        yield build_alert_gauge(count_open_alerts(self._session))


def build_alert_gauge(alerts: Sequence[OpenAlerts]) -> GaugeMetricFamily:
    """Counts alerts by deployment, kind and state; deployments beyond the limit together, as `OTHERS`.

    A deployment without an alert has no series. The others always have, so that the name is never absent.
    """
    gauge = GaugeMetricFamily(
        "evenhand_alerts", "Alerts that are not over.", labels=["deployment", "kind", "state"]
    )
    totals = Counter[str]()
    for group in alerts:
        totals[group.deployment_id] += group.count
    ranked = sorted(totals, key=lambda deployment_id: (-totals[deployment_id], deployment_id))
    gauged = set(ranked[:MAX_GAUGED_DEPLOYMENTS])
    series = Counter({(OTHERS, kind.value, state): 0 for kind in AlertKind for state in _STATES.values()})
    for group in alerts:
        name = group.deployment_id if group.deployment_id in gauged else OTHERS
        series[name, group.kind.value, _STATES[group.state]] += group.count
    for labels, count in series.items():
        gauge.add_metric(list(labels), count)
    return gauge
