"""Lists of alerts, rules and channels."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from ...access.gate.caller import NowIn, Reader, SessionIn
from ...access.principals import Permission, Principal
from ...alerts import queries as alert_queries
from ...alerts.channels import notification_queries
from ...alerts.channels.channel import ChannelKind, page_channels
from ...alerts.channels.notification_queries import UnsentAlerts, page_notifications
from ...alerts.gravity import rank_alert
from ...alerts.queries import AlertFilter
from ...alerts.rules.rule_queries import page_rules
from ...base.values import frozen_by_name
from ...charts.time_ranges import RangePreset
from ...deployments.deployment_in_address import Watched
from ...domain.alert import Alert, AlertState, RuleKind
from ...domain.check import DataSet
from ...domain.monitor import list_comparisons
from ...domain.paging import Paging
from ...statistics.catalogue import CATALOGUE
from ...statistics.e_values.state_words import SINGLE_CHECKS_ALARM
from ...web.route_declarations import NumberCursor, cut
from ..range_bar import RangeIn, build_bar, find_chosen_span
from ..render import name_actors, offer_assignees, show_page
from .alert_page import REASONS, format_figure

router = APIRouter(include_in_schema=False)

MAX_ALERTS = 50
"""Alerts of a page of a list, and rules."""

MAX_CHANNELS = 200

MAX_DELIVERIES = 20
"""Notifications of each channel that are shown, the newest."""

STATES = {
    "": "all",
    AlertState.OPEN.value: "open",
    AlertState.ACKNOWLEDGED.value: "acknowledged",
    AlertState.RESOLVED.value: "resolved",
}


class ChosenAlerts(BaseModel):
    state: AlertState | None = None
    deployment: str = Field(default="", max_length=64, pattern=r"^[^\x00]*$")
    cursor: str | None = Field(default=None, max_length=100)


@frozen_by_name
class AlertsOfDeployment:
    """Alerts of a page, the gravest first, of equals the newest."""

    deployment_id: str
    deployment_name: str
    alerts: tuple[Alert, ...]

    @property
    def has_unresolved(self) -> bool:
        return any(alert.state is not AlertState.RESOLVED for alert in self.alerts)


@router.get("/alerts")
def show_alerts_page(
    request: Request,
    principal: Reader,
    session: SessionIn,
    before_no: NumberCursor,
    chosen: Annotated[ChosenAlerts, Query()],
) -> Response:
    query = AlertFilter(
        deployment_no=principal.deployment_no, deployment_id=chosen.deployment or None, state=chosen.state
    )
    values = {
        "listed": _list_alerts(session, principal, query, chosen, before_no),
        "chosen": chosen,
        "states": STATES,
    }
    return show_page(request, "alerts.html", values)


@router.get("/alerts/channels")
def show_channels_page(request: Request, principal: Reader, session: SessionIn) -> Response:
    principal.require(Permission.MANAGE)
    channels = page_channels(session, Paging(MAX_CHANNELS))
    deliveries = {
        channel.id: page_notifications(session, channel, Paging(MAX_DELIVERIES)) for channel in channels
    }
    not_sent = Counter[str]()
    for unsent in notification_queries.count_unsent(session):
        not_sent[unsent.channel_id] += unsent.alerts
    values = {
        "channels": channels,
        "kinds": list(ChannelKind),
        "deliveries": deliveries,
        "not_sent": not_sent,
        "named": notification_queries.list_named_channels(session),
        "rules": notification_queries.list_rules_with_open_alerts(session),
    }
    return show_page(request, "channels.html", values)


@router.get("/deployments/{deployment_id}/alerts")
def show_deployment_alerts_page(
    request: Request,
    principal: Reader,
    watched: Watched,
    session: SessionIn,
    *,
    now: NowIn,
    before_no: NumberCursor,
    time_range: RangeIn,
    chosen: Annotated[ChosenAlerts, Query()],
) -> Response:
    deployment = watched.deployment
    monitor = watched.monitor
    span = find_chosen_span(time_range, now)
    query = AlertFilter(deployment_no=deployment.no, state=chosen.state, span=span)
    rules = page_rules(session, deployment.no, Paging(MAX_ALERTS))

    unsent_by_rule: dict[int, list[UnsentAlerts]] = {}
    for unsent in notification_queries.count_unsent(session, deployment_no=deployment.no):
        unsent_by_rule.setdefault(unsent.rule_no, []).append(unsent)

    # A person bound to a deployment sees only channels that its rules name already.
    channels = (
        page_channels(session, Paging(MAX_CHANNELS))
        if Permission.MANAGE in principal.role.permissions
        else []
    )
    if principal.deployment_no is not None:
        named_ids = {channel_id for rule in rules for channel_id in rule.content.channels}
        channels = [channel for channel in channels if channel.id in named_ids]

    values = {
        "deployment": deployment,
        "bar": build_bar(request, time_range, span, usual=RangePreset.ALL),
        "listed": _list_alerts(session, principal, query, chosen, before_no),
        "rules": rules,
        "not_sent": unsent_by_rule,
        "attributes": [comparison.label for comparison in list_comparisons(monitor)] if monitor else [],
        "channels": channels,
        "metrics": {
            key: metric.title
            for key, metric in sorted(CATALOGUE.items())
            if {"group", "worst"} & set(metric.scopes)
        },
        "data_sets": list(DataSet),
        "single_checks_alarm": SINGLE_CHECKS_ALARM,
        "about_evidence": next((rule.id for rule in rules if rule.content.kind is RuleKind.EVIDENCE), None),
        "chosen": chosen,
        "states": STATES,
    }
    return show_page(request, "deployment_alerts.html", values)


def _list_alerts(
    session: Session, principal: Principal, filters: AlertFilter, chosen: ChosenAlerts, before_no: int
) -> dict[str, object]:
    """Reads the values of the list: alerts, the query of older ones, and who works on them or may."""
    paging = Paging(MAX_ALERTS + 1, before_no)
    newest, cursor = cut(alert_queries.page_alerts(session, filters, paging), paging)
    actors = [actor for alert in newest for actor in (alert.assignee, alert.acknowledged_by)]
    assignees = offer_assignees(session, principal, filters.deployment_no)
    older = None
    if cursor is not None:
        query = {"deployment": chosen.deployment, "cursor": cursor}
        older = f"?{urlencode(query | ({} if chosen.state is None else {'state': chosen.state.value}))}"
    return {
        "deployments": group_alerts(newest),
        "older": older,
        "names": name_actors(session, actors),
        "assignees": assignees,
        "format_figure": format_figure,
        "reasons": REASONS,
    }


def group_alerts(listed: Sequence[Alert]) -> list[AlertsOfDeployment]:
    """Groups alerts by deployment, the one with the gravest alert first."""
    by_deployment: dict[int, list[Alert]] = {}
    for alert in sorted(listed, key=rank_alert):
        by_deployment.setdefault(alert.deployment_no, []).append(alert)
    return [
        AlertsOfDeployment(
            deployment_id=alerts[0].deployment_id,
            deployment_name=alerts[0].deployment_name,
            alerts=tuple(alerts),
        )
        for alerts in by_deployment.values()
    ]
