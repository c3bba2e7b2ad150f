"""What an ended check says to a rule: its alerts are opened, upheld or resolved, or nothing is said.

Nothing is said by figures without a number, by those of too few records, and by values carried forward: an alert stays as it is.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile
from typing import cast

from sqlalchemy.orm import Session

from app.alerts.facts import Facts, facts_of_failures, facts_of_figure, facts_of_success
from app.alerts.lifecycle import end, uphold
from app.domain.alerts import (
    WHOLE_DEPLOYMENT,
    Alert,
    EndpointErrorsCondition,
    FailedChecksCondition,
    Resolution,
    Rule,
    Subject,
    VerdictCondition,
)
from app.domain.checks import CheckRun, CheckState, Measurement, Scope
from app.metrics.verdicts import Verdict
from app.store.alerts import unresolved_of_rule
from app.store.ended_checks import figures_of, is_overtaken, judged_before, newest_ends

_INSIDE = (Verdict.FAIR, Verdict.UNWATCHED)
"""Verdicts on a figure inside the limits that are set: what an alert was about has passed."""


def apply_rule(session: Session, rule: Rule, check: CheckRun) -> None:
    """Works out the alerts of one rule after one check."""
    condition = rule.content.condition
    if isinstance(condition, VerdictCondition):
        if check.state is CheckState.SUCCEEDED and not check.is_carried_forward and not is_overtaken(session, check):
            _judge(session, rule, condition, check)
    elif isinstance(condition, FailedChecksCondition | EndpointErrorsCondition):
        _count_failures(session, rule, condition, check)


def _judge(session: Session, rule: Rule, condition: VerdictCondition, check: CheckRun) -> None:
    unresolved = {alert.subject: alert for alert in unresolved_of_rule(session, rule.no)}
    for figure in figures_of(session, check, condition):
        if figure.value is None or figure.carried_forward:
            continue
        subject = _subject(figure, condition.scope)
        alert = unresolved.get(subject)
        if figure.verdict in condition.verdicts:
            facts = _facts_in_a_row(session, condition, figure, check, alert)
            if facts is not None:
                uphold(session, rule, subject, facts, alert=alert, check=check)
        elif figure.verdict in _INSIDE and alert is not None:
            end(session, alert, Resolution.RECOVERED, facts_of_figure(figure, check, in_a_row=1, since=figure.at))


def _facts_in_a_row(
    session: Session, condition: VerdictCondition, figure: Measurement, check: CheckRun, alert: Alert | None
) -> Facts | None:
    """The facts, if the verdict was given in enough checks in a row."""
    if alert is not None:
        in_a_row, since = _further(alert, check)
        return facts_of_figure(figure, check, in_a_row=in_a_row, since=since)
    needed = condition.checks_in_a_row - 1
    subject = _subject(figure, condition.scope)
    before = judged_before(session, check, subject, condition.scope, limit=needed) if needed else []
    in_row = [at for at, _ in takewhile(lambda judged: judged[1] in condition.verdicts, before)]
    if len(in_row) < needed:
        return None
    return facts_of_figure(figure, check, in_a_row=condition.checks_in_a_row, since=in_row[-1] if in_row else figure.at)


def _count_failures(session: Session, rule: Rule, condition: FailedChecksCondition | EndpointErrorsCondition, check: CheckRun) -> None:
    of_endpoint = isinstance(condition, EndpointErrorsCondition)
    ends = newest_ends(session, check, of_endpoint=of_endpoint, limit=condition.checks_in_a_row)
    if not ends or ends[0].no != check.no:  # it says nothing, or a later one has said it already
        return
    alert = next(iter(unresolved_of_rule(session, rule.no)), None)
    if check.state is not CheckState.FAILED:
        if alert is not None:
            end(session, alert, Resolution.RECOVERED, facts_of_success(check))
        return
    failed = list(takewhile(lambda ended: ended.state is CheckState.FAILED, ends))
    if alert is not None:
        in_a_row, since = _further(alert, check)
        uphold(session, rule, WHOLE_DEPLOYMENT, facts_of_failures(failed, in_a_row=in_a_row, since=since), alert=alert, check=check)
    elif len(failed) == condition.checks_in_a_row:
        facts = facts_of_failures(failed, in_a_row=len(failed), since=_first(failed))
        uphold(session, rule, WHOLE_DEPLOYMENT, facts, alert=None, check=check)


def _subject(figure: Measurement, scope: Scope) -> Subject:
    """The group furthest out may be another one in each check; the alert is about whichever it is."""
    group = figure.group if scope is Scope.GROUP else None
    return Subject(data=figure.data, metric=figure.metric, attribute=figure.attribute, group=group)


def _further(alert: Alert, check: CheckRun) -> tuple[int, datetime]:
    """For how many checks in a row it holds with this one, and since when. A further check or attempt of the same hour is none more."""
    count, since = cast("int", alert.facts["checks_in_a_row"]), cast("str", alert.facts["since"])
    is_more = alert.facts["check_from"] != check.span.start.isoformat()
    return count + is_more, datetime.fromisoformat(since)


def _first(failed: Sequence[CheckRun]) -> datetime:
    return failed[-1].span.end
