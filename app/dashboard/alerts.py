"""Alerts: what is unfair, stale or failing, who knows of it, by which rules, and where it is told."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from app.dashboard.people import people
from app.dashboard.rendering import page
from app.domain.alerts import Alert, AlertState, Rule
from app.domain.channels import Channel
from app.domain.checks import DataSet
from app.domain.monitors import Monitor
from app.domain.texts import TOGETHER
from app.errors import NotFound
from app.metrics.catalogue import CATALOGUE
from app.security.principals import Permission, Principal
from app.store import alerts, open_alerts
from app.store.alert_channels import channel_page
from app.store.alert_rules import rules_page
from app.store.alerts import AlertFilter
from app.store.monitors import monitor_of
from app.store.notifications import notification_page
from app.store.open_alerts import Unsent
from app.web.access import NowIn, ReadableDeployment, Reader, SessionIn
from app.web.paging import cut, number_behind

router = APIRouter(include_in_schema=False)

SHOWN = 50
MOST_CHANNELS = 200
DELIVERIES = 20
"""The newest of each channel; the API lists all."""

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

STATES = {"": "all", AlertState.OPEN.value: "open", AlertState.ACKNOWLEDGED.value: "acknowledged", AlertState.RESOLVED.value: "resolved"}

Before = Annotated[int, Depends(number_behind)]


class Chosen(BaseModel):
    """Which alerts a person looks at; an empty member lets all through."""

    state: AlertState | None = None
    deployment: str = Field(default="", max_length=64, pattern=r"^[^\x00]*$")
    cursor: str | None = Field(default=None, max_length=100)


@router.get("/alerts")
def alerts_page(
    request: Request, principal: Reader, session: SessionIn, now: NowIn, before_no: Before, chosen: Annotated[Chosen, Query()]
) -> Response:
    """The alerts of every deployment that the person may see, newest first."""
    wanted = AlertFilter(deployment_no=principal.deployment_no, deployment_id=chosen.deployment or None, state=chosen.state)
    values = {"listed": _listed(session, wanted, chosen, before_no), "chosen": chosen, "states": STATES, "now": now}
    return page(request, "alerts.html", values)


@router.get("/alerts/channels")
def channels_page(request: Request, principal: Reader, session: SessionIn, now: NowIn) -> Response:
    """Where alerts are told, and what became of the newest notifications."""
    principal.require(Permission.MANAGE)
    channels = channel_page(session, after_no=0, limit=MOST_CHANNELS)
    deliveries = {channel.id: notification_page(session, channel, limit=DELIVERIES) for channel in channels}
    not_sent = Counter[str]()
    for one in open_alerts.unsent(session):
        not_sent[one.channel_id] += one.alerts
    values = {
        "channels": channels,
        "deliveries": deliveries,
        "not_sent": not_sent,
        "named": open_alerts.named_channels(session),
        "rules": open_alerts.rules_with_open_alerts(session),
        "now": now,
    }
    return page(request, "channels.html", values)


@router.get("/alerts/{alert_id}")
def alert_page(request: Request, principal: Reader, session: SessionIn, now: NowIn, alert_id: str) -> Response:
    """One alert: what it rests on, and what people did about it."""
    if not _ID.fullmatch(alert_id):
        raise NotFound("alert", alert_id)
    alert = alerts.get_alert(session, alert_id)
    _require_sight(principal, alert.deployment_no, alert_id)
    return page(
        request, "alert.html", {"alert": alert, "facts": alert.facts, "names": people(session, [alert.acknowledged_by]), "now": now}
    )


@router.get("/deployments/{deployment_id}/alerts")
def deployment_alerts_page(
    request: Request,
    principal: Reader,
    deployment: ReadableDeployment,
    session: SessionIn,
    now: NowIn,
    before_no: Before,
    chosen: Annotated[Chosen, Query()],
) -> Response:
    """The alerts of one deployment, and its rules."""
    wanted = AlertFilter(deployment_no=deployment.no, state=chosen.state)
    monitor = monitor_of(session, deployment.no)
    rules = rules_page(session, deployment.no, after_no=0, limit=SHOWN)
    values = {
        "deployment": deployment,
        "listed": _listed(session, wanted, chosen, before_no),
        "rules": rules,
        "not_sent": _not_sent(session, deployment.no),
        "attributes": [] if monitor is None else _watched(monitor),
        "channels": _choosable(session, principal, rules),
        "metrics": {key: metric.title for key, metric in sorted(CATALOGUE.items()) if {"group", "worst"} & set(metric.scopes)},
        "data_sets": list(DataSet),
        "chosen": chosen,
        "states": STATES,
        "now": now,
    }
    return page(request, "deployment_alerts.html", values)


def _not_sent(session: Session, deployment_no: int) -> dict[int, list[Unsent]]:
    """Returns of each rule, by its number, the channels that it names and to which open alerts were not sent."""
    found: dict[int, list[Unsent]] = {}
    for one in open_alerts.unsent(session, deployment_no=deployment_no):
        found.setdefault(one.rule_no, []).append(one)
    return found


@dataclass(frozen=True, slots=True)
class Listed:
    """Some alerts, the query that goes on to older ones, and the names of who has taken them on."""

    alerts: Sequence[Alert]
    older: str | None
    names: Mapping[str, str]


def _listed(session: Session, wanted: AlertFilter, chosen: Chosen, before_no: int) -> Listed:
    found, cursor = cut(alerts.alerts_page(session, wanted, limit=SHOWN + 1, before_no=before_no or None), SHOWN, lambda alert: alert.no)
    names = people(session, (one.acknowledged_by for one in found))
    if cursor is None:
        return Listed(found, None, names)
    query = {"deployment": chosen.deployment, "cursor": cursor} | ({} if chosen.state is None else {"state": chosen.state.value})
    return Listed(found, f"?{urlencode(query)}", names)


def _watched(monitor: Monitor) -> list[str]:
    return [*(one.feature for one in monitor.attributes), *(TOGETHER.join(names) for names in monitor.intersections)]


def _choosable(session: Session, principal: Principal, rules: Sequence[Rule]) -> list[Channel]:
    """The channels that a rule's form offers: of the installation's, a bound person sees only those that the rules name already."""
    if Permission.MANAGE not in principal.role.permissions:
        return []
    channels = channel_page(session, after_no=0, limit=MOST_CHANNELS)
    named = {channel for rule in rules for channel in rule.content.channels}
    return [channel for channel in channels if principal.deployment_no is None or channel.id in named]


def _require_sight(principal: Principal, deployment_no: int, alert_id: str) -> None:
    """In the same words as where there is no such alert."""
    if not principal.sees(deployment_no):
        raise NotFound("alert", alert_id)
