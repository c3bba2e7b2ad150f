"""Evidence on each group in a past period, of all monitor versions and revisions."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from ..base.values import frozen, frozen_by_name
from ..database.tables import EvidenceEraRow, EvidenceFigureRow
from ..domain.check import Span
from ..statistics.e_values.state_words import State
from ..statistics.measures.period_figures import count_hours_outside
from .figure_state import number_hour
from .queries.figure_states import Alarm, LimitSummary


@frozen
class Incident:
    """Hours outside by one figure, from onset to end by evidence, by a person, or with monitor or model; an
    end of None was not known then.
    """

    since: datetime
    until: datetime | None


@frozen_by_name
class PastState:
    """State at the end of a period, as it was known then; one that is confirmed fair is so by now.

    `later` alarms came after the end, and have their onset before it.
    """

    state: State
    since: datetime | None
    incidents: Sequence[Incident]
    later: Sequence[Alarm]

    def count_hours(self, span: Span) -> int:
        numbers = [
            (number_hour(incident.since), None if incident.until is None else number_hour(incident.until))
            for incident in self.incidents
        ]
        return count_hours_outside(numbers, number_hour(span.start), number_hour(span.end))


NO_EVIDENCE = PastState(state=State.UNDECIDED, since=None, incidents=(), later=())


def read_past_states(session: Session, deployment_no: int, span: Span) -> Mapping[tuple[str, str], PastState]:
    """States by attribute and group."""
    of_deployment = EvidenceEraRow.deployment_no == deployment_no
    newest = session.scalar(select(func.max(EvidenceEraRow.no)).where(of_deployment))
    figure = EvidenceFigureRow
    columns = (figure.attribute, figure.group, figure.summary, figure.until, figure.ended_at, figure.era_no)
    statement = select(*columns).join(EvidenceEraRow, EvidenceEraRow.no == figure.era_no).where(of_deployment)
    by_group: dict[tuple[str, str], list[_Figure]] = {}
    for attribute, group, summary, until, ended_at, era_no in session.execute(statement):
        superseded = ended_at or (None if era_no == newest else until)
        limits = msgspec.convert(summary, list[LimitSummary])
        by_group.setdefault((attribute, group), []).append(_Figure(limits, superseded))
    return {key: _join_figures(figures, span) for key, figures in by_group.items()}


@frozen
class _Figure:
    """`superseded` is the moment in which another monitor or model replaced it."""

    limits: Sequence[LimitSummary]
    superseded: datetime | None

    def list_incidents(self, end: datetime) -> Iterator[Incident]:
        for limit in self.limits:
            for alarm in limit.alarms:
                if alarm.alarm_at <= end:
                    ends = (
                        (alarm.resolved_at, alarm.fair_since or alarm.resolved_at),
                        (alarm.closed_at, alarm.closed_at),
                        (self.superseded, self.superseded),
                    )
                    until = [hour for known_at, hour in ends if known_at and hour and known_at <= end]
                    yield Incident(alarm.since, min(until, default=None))


def _join_figures(figures: Sequence[_Figure], span: Span) -> PastState:
    incidents = [incident for figure in figures for incident in figure.list_incidents(span.end)]
    alarms = [alarm for figure in figures for limit in figure.limits for alarm in limit.alarms]
    limits = [limit for figure in figures if figure.superseded is None for limit in figure.limits]
    fair = [limit.since for limit in limits if limit.state == State.SHOWN_FAIR and limit.since is not None]
    state, since = State.UNDECIDED, None
    if opened := [incident.since for incident in incidents if incident.until is None]:
        state, since = State.UNFAIR, min(opened)
    elif limits and len(fair) == len(limits) and max(fair) < span.end:
        state, since = State.SHOWN_FAIR, max(fair)
    return PastState(
        state=state,
        since=since,
        incidents=incidents,
        later=[alarm for alarm in alarms if alarm.since < span.end < alarm.alarm_at],
    )
