"""The lines that need a person: which there are, how grave they are, what each says, and what can be done about it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from app.checks.advice.causes import Cause
from app.checks.advice.deployment_facts import ComparedGroups, EndedCheck, UnacknowledgedAlerts
from app.checks.schedule.worker_queries import WorkersSeen
from app.domain.check import CheckState, DataSet, WindowCounts
from app.domain.groups import GroupWords
from app.domain.monitor import DisplayNames, GroupName
from app.overview.fleet import DeploymentOverview, DeploymentState, Overview
from app.overview.judge import WorstGroup
from app.overview.needs import MAX_NEED_LINES, STEPS, Needs, format_duration, list_needs
from app.statistics.intervals.verdicts import Value
from tests.builders.page_words import says

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
ANSWERING = WorkersSeen(answering=1, last_seen_at=NOON)
FAIR = DeploymentOverview(
    no=1,
    id="m-1",
    name="Loans",
    state=DeploymentState.FAIR,
    cause=Cause.MEASURED,
    reason=None,
    next_step=None,
    worst=WorstGroup(
        metric="disparate_impact",
        data=DataSet.AS_LOGGED,
        attribute="sex",
        group="female",
        value=0.796,
        lower=0.7,
        upper=0.799,
        n=100,
        verdict="unfair",
        reason=None,
        lower_limit=0.8,
        upper_limit=None,
        beyond=0.1,
        measured_at=NOON,
        carried_forward=False,
        check_id="c",
        compared=ComparedGroups(reference="male", monitored_records=50, reference_records=50, reference_favourable=20),
    ),
    groups=1,
    judged=1,
    last_check=EndedCheck(
        id="c",
        state=CheckState.SUCCEEDED,
        at=NOON,
        finished_at=NOON,
        reason=None,
        failure=None,
        next_attempt_at=None,
        counts=WindowCounts(records=100, unclassified=0, needed=10),
    ),
    records=0,
    open_alerts=0,
)
UNFAIR = replace(FAIR, state=DeploymentState.UNFAIR)
FAILING = replace(
    FAIR, no=2, id="m-2", state=DeploymentState.FAILING, cause=Cause.SCORING_FAILED, reason="The endpoint answered 500.", worst=None
)


def waiting(many: int = 1, hours: int = 2, assigned: int = 0) -> UnacknowledgedAlerts:
    return UnacknowledgedAlerts(alerts=many, since=NOON - timedelta(hours=hours), alert_id="a-1", unassigned=many - assigned)


def needs(*every: DeploymentOverview, workers: WorkersSeen = ANSWERING, may_manage: bool = True, may_acknowledge: bool = True) -> Needs:
    found = Overview(deployments=(), visible_deployments=every, workers=workers, counts={}, next_step=None)
    return list_needs(found, now=NOON, may_manage=may_manage, may_acknowledge=may_acknowledge)


@pytest.mark.parametrize(
    ("interval_of_choice", "more", "reaches"),
    [
        (Value(0.7, 0.65, 0.85, "log_ratio", 100), {}, True),
        (Value(0.7, 0.65, 0.79, "log_ratio", 100), {}, False),
        (None, {}, False),
        (Value(1.5, 1.2, 2.0, "log_ratio", 100), {"value": 1.5, "lower": 1.3, "upper": 1.8, "upper_limit": 1.25}, True),
        (Value(0.7, 0.65, 0.85, "log_ratio", 100), {"verdict": "suspected"}, False),
    ],
)
def test_an_unfair_figure_whose_wider_interval_reaches_the_limit_is_known(
    interval_of_choice: Value | None, more: dict[str, Any], *, reaches: bool
) -> None:
    assert FAIR.worst is not None
    assert replace(FAIR.worst, interval_of_choice=interval_of_choice, **more).is_unfair_in_its_attribute_alone == reaches


def test_where_all_is_well_nobody_is_needed() -> None:
    assert needs(FAIR) == Needs(lines=(), total=0)
    assert needs() == Needs(lines=(), total=0)


def test_an_alert_that_nobody_acknowledged_says_for_how_long_and_is_acknowledged_from_its_line(snapshot: SnapshotAssertion) -> None:
    (line,) = needs(replace(UNFAIR, open_alerts=1, unacknowledged=waiting())).lines

    assert says(line.sentence, "female", "sex", "0.796", "2")
    assert line.sentence == snapshot
    assert (line.verb, line.acknowledges, line.address) == ("Acknowledge", "a-1", "/alerts/a-1")


def test_several_alerts_are_reviewed_and_an_acknowledged_one_is_in_somebodys_hands(snapshot: SnapshotAssertion) -> None:
    (line,) = needs(replace(UNFAIR, open_alerts=3, unacknowledged=waiting(2, hours=80))).lines

    assert says(line.sentence, "2", "3")
    assert line.sentence == snapshot
    assert (line.verb, line.acknowledges, line.address) == ("Review 2 alerts", None, "/deployments/m-1/alerts?state=open")
    assert needs(replace(UNFAIR, open_alerts=1)).total == 0


def test_alerts_of_every_deployment_are_counted_also_where_lines_are_left_out() -> None:
    found = needs(*(replace(UNFAIR, no=no, open_alerts=2, unacknowledged=waiting(2)) for no in range(9)))

    assert (len(found.lines), found.total, found.alerts) == (5, 9, 18)


def test_an_unfair_deployment_without_an_alert_is_a_line(snapshot: SnapshotAssertion) -> None:
    (line,) = needs(UNFAIR).lines

    assert says(line.sentence, "0.796")
    assert line.sentence == snapshot
    assert (line.verb, line.address) == ("Show", "/deployments/m-1")


def test_an_alert_on_a_deployment_that_is_fair_by_now_still_waits() -> None:
    (line,) = needs(replace(FAIR, open_alerts=1, unacknowledged=waiting())).lines

    assert line.sentence == "Nobody is assigned for 2 h."


def test_a_failed_check_says_why_and_leads_to_what_fixes_it(snapshot: SnapshotAssertion) -> None:
    (line,) = needs(FAILING).lines

    assert line.verb == "Test endpoint"
    assert says(line.sentence, "500")
    assert line.sentence == snapshot
    assert line.address == "/deployments/m-2/configure/model"


def test_without_a_worker_that_comes_first_and_leads_to_the_runbook(snapshot: SnapshotAssertion) -> None:
    silent = WorkersSeen(answering=0, last_seen_at=NOON - timedelta(hours=6))

    found = needs(UNFAIR, FAILING, workers=silent)

    assert says(found.lines[0].sentence, "2026-03-02 06:00:00 UTC")
    assert found.lines[0].sentence == snapshot
    assert (found.lines[0].verb, found.lines[0].name, found.total) == ("Runbook", None, 3)
    assert needs(workers=silent).total == 0  # nothing could be checked anyway


def test_at_most_five_lines_the_gravest_first_and_the_number_of_all() -> None:
    late = replace(FAIR, state=DeploymentState.STALE, cause=Cause.RECORDS_STOPPED, reason="No record.")
    found = needs(*(replace(late, no=no, id=f"late-{no}") for no in range(5)), FAILING, UNFAIR)

    assert [line.deployment_id for line in found.lines] == ["m-1", "m-2", "late-0", "late-1", "late-2"]
    assert (len(found.lines), found.total) == (MAX_NEED_LINES, 7)


@pytest.mark.parametrize("cause", [Cause.CHECK_DUE, Cause.CHECK_QUEUED, Cause.CHECK_RUNNING, Cause.WORKER_SILENT, Cause.MONITOR_CHANGED])
def test_what_passes_by_itself_is_no_line(cause: Cause) -> None:
    assert needs(replace(FAIR, state=DeploymentState.WAITING, cause=cause, reason="Wait.")).total == 0


def test_every_cause_of_a_failed_check_is_a_line() -> None:
    failures = {Cause.SCORING_FAILED, Cause.INVALID_INPUT, Cause.INTERRUPTED, Cause.TIMED_OUT, Cause.CHECK_FAILED}

    assert failures <= STEPS.keys()


def test_a_person_who_may_only_read_is_offered_to_acknowledge_and_nothing_to_change() -> None:
    alert, failing = needs(FAILING, replace(UNFAIR, open_alerts=1, unacknowledged=waiting()), may_manage=False).lines

    assert (alert.verb, alert.acknowledges) == ("Acknowledge", "a-1")
    assert (failing.verb, failing.address) == ("Show", "/deployments/m-2")


@pytest.mark.parametrize(
    ("minutes", "words"), [(0, "less than a minute"), (1, "1 min"), (59, "59 min"), (60, "1 h"), (47 * 60, "47 h"), (48 * 60, "2 days")]
)
def test_durations_have_one_unit(minutes: int, words: str) -> None:
    assert format_duration(timedelta(minutes=minutes)) == words


@pytest.mark.parametrize(
    ("alerts", "words"),
    [
        (waiting(1, assigned=1), "1 assigned alert is not acknowledged for 2 h."),
        (waiting(3, assigned=1), "3 alerts are not acknowledged, 2 of them assigned to nobody, the oldest for 2 h."),
        (waiting(2, assigned=2), "2 alerts are not acknowledged, the oldest for 2 h."),
    ],
)
def test_an_assigned_alert_waits_for_the_word_of_that_person(alerts: UnacknowledgedAlerts, words: str) -> None:
    (line,) = needs(replace(FAIR, open_alerts=alerts.alerts, unacknowledged=alerts)).lines

    assert line.sentence == words


def test_without_the_right_to_acknowledge_an_alert_is_shown() -> None:
    (line,) = needs(replace(UNFAIR, open_alerts=1, unacknowledged=waiting()), may_acknowledge=False).lines

    assert (line.verb, line.acknowledges, line.address) == ("Show alert", None, "/alerts/a-1")


def test_a_line_names_groups_by_their_display_names(snapshot: SnapshotAssertion) -> None:
    words = GroupWords(DisplayNames(groups=(GroupName(feature="sex", group="female", name="women"),)))
    (line,) = needs(replace(UNFAIR, words=words)).lines

    assert says(line.sentence, "women", "0.796")
    assert line.sentence == snapshot
