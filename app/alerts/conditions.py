"""Applies a rule to an ended check. Figures without a number, of too few records or carried forward leave an alert."""

from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from typing import cast

from sqlalchemy.orm import Session

from ..domain.alerts import (
    WHOLE_DEPLOYMENT,
    Alert,
    AlertSubject,
    EndpointErrorsCondition,
    FailedChecksCondition,
    Resolution,
    Rule,
    VerdictCondition,
)
from ..domain.checks import CheckRun, CheckState, Scope
from ..domain.group_words import GroupWords
from ..metrics.verdicts import Verdict
from ..store.alerts.alerts import unresolved_of_rule
from ..store.checks.ended_checks import earlier_verdicts, figures_of, is_overtaken, newest_ends
from ..store.deployments.monitors import monitor_of
from .facts import facts_of_failures, facts_of_figure, facts_of_success
from .lifecycle import confirm, end

_INSIDE = (Verdict.FAIR, Verdict.UNWATCHED)

_JUDGED = (*_INSIDE, Verdict.SUSPECTED, Verdict.UNFAIR)
"""Verdicts that say how fair a figure is; others do not end a row of checks."""


def apply_rule(session: Session, rule: Rule, check: CheckRun) -> None:
    condition = rule.content.condition
    if isinstance(condition, VerdictCondition):
        if check.state is not CheckState.SUCCEEDED or check.carried_from or is_overtaken(session, check):
            return
        unresolved = {alert.subject: alert for alert in unresolved_of_rule(session, rule.no)}
        words = GroupWords.of(monitor_of(session, rule.deployment_no))
        for figure in figures_of(session, check, condition):
            if figure.value is None or figure.carried_forward:
                continue
            # The group furthest out may differ from check to check.
            group = figure.group if condition.scope is Scope.GROUP else None
            figure = replace(figure, worst_of=None) if condition.scope is Scope.GROUP else figure  # noqa: PLW2901 - as the rule sees it
            subject = AlertSubject(data=figure.data, metric=figure.metric, attribute=figure.attribute, group=group)
            alert = unresolved.get(subject)
            if figure.verdict in condition.verdicts:
                if alert is not None:
                    in_a_row, since = _extend_row(alert, check)
                else:
                    needed = condition.checks_in_a_row - 1
                    before = earlier_verdicts(session, check, subject, condition.scope, verdicts=_JUDGED, limit=needed) if needed else []
                    moments = [at for at, _ in takewhile(lambda judged: judged[1] in condition.verdicts, before)]
                    if len(moments) < needed:
                        continue
                    in_a_row, since = condition.checks_in_a_row, moments[-1] if moments else figure.at
                facts = facts_of_figure(figure, check, in_a_row=in_a_row, since=since, words=words)
                confirm(session, rule, subject, facts, alert=alert, check=check)
            elif figure.verdict in _INSIDE and alert is not None:
                recovery = facts_of_figure(figure, check, in_a_row=1, since=figure.at, words=words)
                end(session, alert, Resolution.RECOVERED, recovery)
    elif isinstance(condition, FailedChecksCondition | EndpointErrorsCondition):
        _count_failures(session, rule, condition, check)


def _count_failures(session: Session, rule: Rule, condition: FailedChecksCondition | EndpointErrorsCondition, check: CheckRun) -> None:
    of_endpoint = isinstance(condition, EndpointErrorsCondition)
    ends = newest_ends(session, check, of_endpoint=of_endpoint, limit=condition.checks_in_a_row)
    if not ends or ends[0].no != check.no:  # this check says nothing, or a later one did
        return
    alert = next(iter(unresolved_of_rule(session, rule.no)), None)
    if check.state is not CheckState.FAILED:
        if alert is not None:
            end(session, alert, Resolution.RECOVERED, facts_of_success(check))
        return
    failed = list(takewhile(lambda ended: ended.state is CheckState.FAILED, ends))
    if alert is not None:
        in_a_row, since = _extend_row(alert, check)
        confirm(session, rule, WHOLE_DEPLOYMENT, facts_of_failures(failed, in_a_row=in_a_row, since=since), alert=alert, check=check)
    elif len(failed) == condition.checks_in_a_row:
        facts = facts_of_failures(failed, in_a_row=len(failed), since=failed[-1].span.end)
        confirm(session, rule, WHOLE_DEPLOYMENT, facts, alert=None, check=check)


def _extend_row(alert: Alert, check: CheckRun) -> tuple[int, datetime]:
    """Another check or attempt of the same hour does not add to the row."""
    count, since = cast("int", alert.facts["checks_in_a_row"]), cast("str", alert.facts["since"])
    is_more = alert.facts["check_from"] != check.span.start.isoformat()
    return count + is_more, datetime.fromisoformat(since)
