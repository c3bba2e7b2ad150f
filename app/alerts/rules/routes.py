"""Routes of a deployment's alert rules."""

from typing import Annotated, Any

from fastapi import APIRouter, Path

from ...access.audit.activity_queries import changes_between, record_activity
from ...access.gate.caller import Manager, SessionIn
from ...base.errors import refuse
from ...deployments.deployment_in_address import LockedDeployment, ReadableDeployment
from ...domain.alert import Rule
from ...web.route_declarations import CONFLICT, ID_PATTERN, Answers, ShortNumberPaging
from ..channels.bodies import OpenAlertsIn, OpenAlertsSentOut
from ..channels.channel import find_channel_problems, get_channel
from ..channels.notifier import send_open_alerts
from ..lifecycle import end_uncovered_figures, withdraw_rule
from .bodies import AlertRuleIn, AlertRuleOut, AlertRulePage, rule_json
from .rule_queries import find_rule, get_rule, lock_alerts, page_rules, put_rule
from .rules import find_rule_problems

router = APIRouter(prefix="/v1/deployments/{deployment_id}/alert-rules", tags=["alerts"])

_OPEN_ALERTS_QUEUED: Answers = {
    202: {"model": OpenAlertsSentOut, "description": "Queued; the lists of the channels say how far they are"}
}

RuleId = Annotated[
    str, Path(description="The rule's id, which you choose.", pattern=ID_PATTERN, examples=["unfair"])
]


@router.get("")
def list_alert_rules(
    deployment: ReadableDeployment, session: SessionIn, paging: ShortNumberPaging
) -> AlertRulePage:
    """Returns the deployment's alert rules, oldest first. Each new deployment starts with the rule
    `unfair`, of the kind `evidence`.
    """
    return AlertRulePage.of(page_rules(session, deployment.no, paging), paging, AlertRuleOut.of)


@router.put("/{rule_id}", responses=CONFLICT)
def put_alert_rule(
    body: AlertRuleIn, deployment: LockedDeployment, rule_id: RuleId, session: SessionIn, principal: Manager
) -> AlertRuleOut:
    """Sets an alert rule. The same content again changes nothing; other content makes the next version.

    Alerts that the rule would not open as it is now are resolved. A new rule looks at the next check, not
    at those before it.
    """
    content = body.to_domain()
    refuse(find_rule_problems(content, deployment.schema) + find_channel_problems(session, content.channels))

    # First: a check that ends meanwhile must not open alerts of the old rule.
    lock_alerts(session, deployment.no)
    before = find_rule(session, deployment.no, rule_id)
    after = put_rule(session, deployment.no, rule_id, content)
    if before is not None:
        end_uncovered_figures(session, before, after)
    if before != after:
        changes = changes_between(_rule_facts(before), _rule_facts(after))
        record_activity(
            session, principal.actor, "alert_rule.changed", deployment, subject=rule_id, details=changes
        )
    return AlertRuleOut.of(after)


@router.get("/{rule_id}")
def read_alert_rule(deployment: ReadableDeployment, rule_id: RuleId, session: SessionIn) -> AlertRuleOut:
    """Returns one alert rule."""
    return AlertRuleOut.of(get_rule(session, deployment.no, rule_id))


@router.delete("/{rule_id}", status_code=204)
def delete_alert_rule(
    deployment: LockedDeployment, rule_id: RuleId, session: SessionIn, principal: Manager
) -> None:
    """Deletes an alert rule. Its open alerts are resolved; all of them stay in the list."""
    rule = get_rule(session, deployment.no, rule_id)
    withdraw_rule(session, rule)
    changes = changes_between(_rule_facts(rule), None)
    record_activity(
        session, principal.actor, "alert_rule.deleted", deployment, subject=rule_id, details=changes
    )


@router.post("/{rule_id}/notifications", status_code=202, responses=_OPEN_ALERTS_QUEUED)
def send_open_alerts_of_rule(
    deployment: LockedDeployment,
    rule_id: RuleId,
    session: SessionIn,
    principal: Manager,
    body: OpenAlertsIn | None = None,
) -> OpenAlertsSentOut:
    """Sends the rule's open alerts to each of its channels to which they were not sent before; with
    `again` to all of them.
    """
    rule = get_rule(session, deployment.no, rule_id)
    again = body is not None and body.again
    channels = [get_channel(session, channel_id) for channel_id in rule.content.channels]
    results = [send_open_alerts(session, channel, rule_no=rule.no, again=again) for channel in channels]
    queued = {
        channel.id: result.queued for channel, result in zip(channels, results, strict=True) if result.queued
    }
    if queued:
        details = {"alerts": queued}
        record_activity(
            session,
            principal.actor,
            "alert_rule.open_alerts_sent",
            deployment,
            subject=rule_id,
            details=details,
        )
    return OpenAlertsSentOut.sum(results)


def _rule_facts(rule: Rule | None) -> dict[str, Any]:
    return {} if rule is None else {"version": rule.version, **rule_json(rule.content)}
