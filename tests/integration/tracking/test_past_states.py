"""Evidence as it was known at the end of a period: alarms before it count, later ones only say so."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from app.database.engine import Database
from app.database.tables import EvidenceEraRow, EvidenceFigureRow
from app.domain.check import Span
from app.evidence.past_states import PastState, read_past_states
from app.evidence.queries.figure_states import Alarm, LimitSummary
from app.statistics.e_values.state_words import State
from tests.builders.queued_checks import add_deployments

START = datetime(2026, 10, 1, tzinfo=UTC)
MONTH = Span(start=START, end=START + timedelta(hours=720))


def at(hour: int) -> datetime:
    return START + timedelta(hours=hour)


def read(database: Database, summary: LimitSummary, *, ended_at: datetime | None = None) -> PastState:
    (no,) = add_deployments(database)
    with database.transaction() as session:
        era = EvidenceEraRow(deployment_no=no, monitor_version=1, model_revision="1", alerts_due=False)
        session.add(era)
        session.flush()
        figure = {"data": "as_logged", "attribute": "sex", "group": "female", "metric": "disparate_impact"}
        times = {"first_hour": at(-100), "until": at(900), "ended_at": ended_at}
        session.add(EvidenceFigureRow(era_no=era.no, **figure, **times, summary=[msgspec.to_builtins(summary)]))
    with database.transaction() as session:
        return read_past_states(session, no, MONTH)["sex", "female"]


def alarm(since: int, alarm_at: int, *, resolved: int | None = None, fair: int | None = None, closed: int | None = None) -> Alarm:
    ends = {"resolved_at": resolved, "fair_since": fair, "closed_at": closed}
    named = {name: at(hour) for name, hour in ends.items() if hour is not None}
    return Alarm(since=at(since), alarm_at=at(alarm_at), **named)


@pytest.mark.parametrize(
    ("raised", "ended_at", "state", "hours"),
    [
        (alarm(100, 110), None, State.UNFAIR, 620),
        (alarm(-9, -5), None, State.UNFAIR, 720),
        (alarm(100, 110, resolved=200, fair=150), None, State.UNDECIDED, 50),
        # Known only after the end of the month: at its end it was unfair.
        (alarm(700, 710, resolved=800, fair=715), None, State.UNFAIR, 20),
        (alarm(100, 110, closed=300), None, State.UNDECIDED, 200),
        (alarm(100, 110), at(400), State.UNDECIDED, 300),
        # The alarm came after the end, and changes nothing.
        (alarm(600, 760), None, State.UNDECIDED, 0),
    ],
)
def test_hours_outside_are_those_known_at_the_end(
    database: Database, raised: Alarm, ended_at: datetime | None, state: State, hours: int
) -> None:
    past = read(database, LimitSummary(direction="below", state="undecided", alarms=[raised]), ended_at=ended_at)

    assert (past.state, past.count_hours(MONTH)) == (state, hours)
    assert [later.since for later in past.later] == ([at(600)] if raised.alarm_at == at(760) else [])


@pytest.mark.parametrize(("since", "state"), [(300, State.SHOWN_FAIR), (730, State.UNDECIDED)])
def test_a_figure_is_confirmed_from_the_first_hour_of_its_evidence(database: Database, since: int, state: State) -> None:
    past = read(database, LimitSummary(direction="below", state="shown_fair", since=at(since)))

    assert past.state is state
    assert past.count_hours(MONTH) == 0
