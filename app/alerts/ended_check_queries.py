"""Ended checks whose alerts are to be decided, without requested ranges."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, exists, func, not_, or_, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from ..checks.queries import SELECT_RUNS, to_run
from ..checks.result_queries import is_of_scope, measurement_from
from ..database.tables import CheckRow, MeasurementRow
from ..domain.alert import AlertSubject, VerdictCondition
from ..domain.check import PRESENT_TRIGGERS, CheckRun, CheckState, Measurement, Scope, Span

_NEXT_DUE = text("""
    SELECT no FROM checks
    WHERE alerts_due
      AND no = (SELECT no FROM checks WHERE deployment_no = :deployment_no AND alerts_due ORDER BY span_end,
          no LIMIT 1)
    FOR NO KEY UPDATE SKIP LOCKED
""")
"""Only the first one, locked or not, so that no later check comes before it.

A locked one is skipped: a deployment may take minutes to be deleted.
"""


def deployments_with_ended_checks(session: Session) -> list[int]:
    return list(session.scalars(select(CheckRow.deployment_no).where(CheckRow.alerts_due).distinct()))


def take_ended_check(session: Session, deployment_no: int) -> int | None:
    """The one whose span ends first; None if locked. Notes it as decided."""
    no: int | None = session.scalar(_NEXT_DUE, {"deployment_no": deployment_no})
    if no is None:
        return None
    session.execute(update(CheckRow).where(CheckRow.no == no).values(alerts_due=False))
    return no


def checks_waiting_for_alerts(session: Session, deployment_no: int, ends: Span) -> int:
    conditions = (
        CheckRow.deployment_no == deployment_no,
        CheckRow.alerts_due,
        CheckRow.span_end >= ends.start,
        CheckRow.span_end < ends.end,
    )
    return session.scalar(select(func.count()).select_from(CheckRow).where(*conditions)) or 0


def is_overtaken(session: Session, check: CheckRun) -> bool:
    later = tuple_(CheckRow.span_end, CheckRow.no) > tuple_(check.span.end, check.no)
    return bool(
        session.scalar(
            select(
                exists().where(
                    *_is_decided(check),
                    CheckRow.state == CheckState.SUCCEEDED,
                    CheckRow.window["carried_from"].as_string().is_(None),
                    later,
                )
            )
        )
    )


def read_matching_figures(
    session: Session, check: CheckRun, condition: VerdictCondition
) -> list[Measurement]:
    conditions = [
        MeasurementRow.check_no == check.no,
        MeasurementRow.data.in_(condition.data),
        MeasurementRow.metric.in_(condition.metrics),
        is_of_scope(condition.scope),
    ]
    if condition.attributes is not None:
        conditions.append(MeasurementRow.attribute.in_(condition.attributes))
    return [
        measurement_from(row)
        for row in session.scalars(select(MeasurementRow).where(*conditions).order_by(MeasurementRow.no))
    ]


def earlier_verdicts(
    session: Session,
    check: CheckRun,
    subject: AlertSubject,
    scope: Scope,
    *,
    verdicts: Sequence[str],
    limit: int,
) -> list[tuple[datetime, str]]:
    """Moments and verdicts of that figure in earlier hours, newest first, of each hour's last check."""
    conditions = (
        MeasurementRow.deployment_no == check.deployment_no,
        MeasurementRow.metric == subject.metric,
        MeasurementRow.data == subject.data,
        is_of_scope(scope),
        # NULL means all records together.
        MeasurementRow.attribute.is_not_distinct_from(subject.attribute),
        MeasurementRow.verdict.in_(verdicts),
        not_(MeasurementRow.carried_forward),
        CheckRow.span_start < check.span.start,
        *_is_decided(check),
    )
    if scope is Scope.GROUP:
        conditions = (*conditions, MeasurementRow.group == subject.group)
    statement = (
        select(MeasurementRow.at, MeasurementRow.verdict)
        .join(CheckRow, CheckRow.no == MeasurementRow.check_no)
        .where(*conditions)
    )
    newest_first = (CheckRow.span_start.desc(), MeasurementRow.at.desc(), MeasurementRow.no.desc())
    rows = session.execute(
        statement.ext(distinct_on(CheckRow.span_start)).order_by(*newest_first).limit(limit)
    )
    return [(at, str(verdict)) for at, verdict in rows]


def newest_ends(session: Session, check: CheckRun, *, limit: int) -> list[CheckRun]:
    """Newest hour first, around this check; of an hour the last one."""
    ended = CheckRow.state.in_((CheckState.SUCCEEDED, CheckState.INSUFFICIENT_DATA, CheckState.FAILED))
    statement = SELECT_RUNS.where(*_is_decided(check), ended)
    newest_first = (CheckRow.span_start.desc(), CheckRow.span_end.desc(), CheckRow.no.desc())
    rows = session.execute(
        statement.ext(distinct_on(CheckRow.span_start)).order_by(*newest_first).limit(limit)
    )
    return [to_run(*row) for row in rows]


def _is_decided(check: CheckRun) -> Sequence[ColumnElement[bool]]:
    return (
        CheckRow.deployment_no == check.deployment_no,
        CheckRow.trigger.in_(PRESENT_TRIGGERS),
        CheckRow.span_start <= func.now(),
        or_(not_(CheckRow.alerts_due), CheckRow.no == check.no),
    )
