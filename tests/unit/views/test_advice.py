"""Each cause in words: the text is true to its facts, and the next step fits the cause."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from syrupy.assertion import SnapshotAssertion

from app.checks.advice.advice import write_advice
from app.checks.advice.causes import (
    Cause,
    CauseFacts,
    Outlook,
    compute_next_due,
    explain_check,
    explain_ended_check,
    explain_figures,
    explain_first_check,
    explain_stale_figures,
)
from app.checks.advice.deployment_facts import ComparedGroups, EndedCheck, GroupFigure, OverviewEntry, Success
from app.checks.schedule.worker_queries import WorkersSeen, choose_notice
from app.domain.check import CheckRun, CheckState, DataSet, Failure, Span, Trigger, WindowCounts
from app.domain.monitor import Schedule
from app.statistics.intervals.verdicts import Verdict
from tests.builders.page_words import says

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ANSWERING = WorkersSeen(answering=1, last_seen_at=NOON)
SILENT = WorkersSeen(answering=0, last_seen_at=NOON - HOUR)
NEVER = WorkersSeen(answering=0, last_seen_at=None)
HOURLY = Outlook(workers=ANSWERING, due_at=NOON + HOUR)
OFF = Outlook(workers=ANSWERING)
SINCE = "No worker has answered since 2026-03-02 11:00:00 UTC."
COUNTS = WindowCounts(records=50, unclassified=0, needed=10)
SUCCESS = Success(no=1, id="1", at=NOON, measured_at=NOON, carried_forward=False, monitor_version=1, counts=COUNTS)
STANDING = OverviewEntry(
    no=1,
    id="a-model",
    name="A model",
    monitor_version=1,
    schedule=Schedule.HOURLY,
    metrics=None,
    last_check=None,
    success=None,
    under_way=None,
    newest_record_at=NOON,
    open_alerts=0,
)
ENDED = EndedCheck(
    id="1",
    state=CheckState.FAILED,
    at=NOON,
    finished_at=NOON,
    reason="The endpoint answered 500.",
    failure=Failure.SCORING_FAILED,
    next_attempt_at=None,
    counts=COUNTS,
)
COMPARED = ComparedGroups(reference="male", monitored_records=30, reference_records=20, reference_favourable=20)
FIGURE = GroupFigure(
    metric="disparate_impact",
    data=DataSet.AS_LOGGED,
    attribute="sex",
    group="female",
    value=None,
    lower=None,
    upper=None,
    n=30,
    verdict=Verdict.NOT_COMPUTABLE,
    reason="the rate is zero",
    lower_limit=0.8,
    upper_limit=1.25,
    compared=COMPARED,
)
CHECK = CheckRun(
    no=1,
    id="1",
    deployment_no=1,
    deployment_id="a-model",
    trigger=Trigger.REQUEST,
    state=CheckState.QUEUED,
    span=Span(start=NOON, end=NOON + HOUR),
    attempts=0,
    lease_token=None,
    progress=None,
    reason=None,
    window=None,
    created_at=NOON,
    started_at=None,
    finished_at=None,
    next_attempt_at=None,
)


def worded(because: CauseFacts) -> tuple[Cause, str, str]:
    advice = write_advice(because)
    return advice.cause, advice.reason or "", advice.next_step or ""


@pytest.mark.parametrize(
    ("because", "cause", "reason", "step"),
    [
        (
            explain_first_check(structs.replace(STANDING, newest_record_at=None), HOURLY),
            "no_records",
            "no payload record was ever logged",
            "Log payload",
        ),
        (explain_first_check(STANDING, HOURLY), "check_due", "The next check is at 13:00 UTC.", "ask for a check"),
        (explain_first_check(STANDING, OFF), "not_scheduled", "schedule is off", "switch the monitor's schedule on"),
        (explain_first_check(STANDING, replace(OFF, workers=SILENT)), "not_scheduled", "schedule is off", SINCE),
        (explain_first_check(STANDING, replace(HOURLY, workers=SILENT)), "worker_silent", SINCE, "Start it again"),
        (explain_first_check(STANDING, replace(HOURLY, workers=NEVER)), "worker_never_seen", "No worker has answered yet.", "Start one"),
        (
            explain_first_check(STANDING, replace(OFF, under_way=CheckState.QUEUED)),
            "check_queued",
            "A check waits",
            "Nothing has to be done",
        ),
        (
            explain_first_check(STANDING, replace(OFF, under_way=CheckState.RUNNING)),
            "check_running",
            "is running",
            "Nothing has to be done",
        ),
        (
            explain_stale_figures(structs.replace(STANDING, newest_record_at=NOON - HOUR), SUCCESS, HOURLY),
            *("records_stopped", "No payload record has been logged since 2026-03-02 11:00 UTC", "client that logs still runs"),
        ),
        (
            explain_stale_figures(structs.replace(STANDING, newest_record_at=NOON + HOUR), SUCCESS, replace(HOURLY, workers=SILENT)),
            *("worker_silent", f"no check has measured anything since 2026-03-02 12:00 UTC. {SINCE}", "Start it again"),
        ),
        (
            explain_stale_figures(structs.replace(STANDING, newest_record_at=NOON + HOUR), SUCCESS, OFF),
            *("not_scheduled", "the newest at 2026-03-02 13:00 UTC", "Ask for a check"),
        ),
        (
            explain_ended_check(structs.replace(ENDED, state=CheckState.INSUFFICIENT_DATA, counts=replace(COUNTS, records=4)), HOURLY),
            *("too_few_records", "found 4 records with the present columns; a check needs 10.", "Log 6 more records, or lower"),
        ),
        (
            explain_ended_check(structs.replace(ENDED, state=CheckState.INSUFFICIENT_DATA, counts=replace(COUNTS, records=9)), OFF),
            *(
                "too_few_records",
                "found 9 records",
                "Log 1 more record, or lower the minimum of records in the monitor. No check runs",
            ),
        ),
        (explain_ended_check(ENDED, HOURLY), "scoring_failed", "The endpoint answered 500.", "Test the model's endpoint on Configure"),
        (explain_ended_check(structs.replace(ENDED, failure=Failure.INVALID_INPUT), HOURLY), "invalid_input", "500", "change on Configure"),
        (
            explain_ended_check(structs.replace(ENDED, failure=Failure.INTERRUPTED), HOURLY),
            "interrupted",
            "500",
            "why they stopped. Then check again.",
        ),
        (explain_ended_check(structs.replace(ENDED, failure=None), HOURLY), "check_failed", "500", "workers' log"),
        (
            explain_ended_check(structs.replace(ENDED, next_attempt_at=NOON + HOUR), replace(HOURLY, workers=SILENT)),
            *("scoring_failed", "500", f"tried again automatically from 2026-03-02 13:00 UTC on, when a worker answers. {SINCE}"),
        ),
        (
            explain_figures(FIGURE, structs.replace(SUCCESS, counts=replace(COUNTS, unclassified=50)), HOURLY),
            *("all_unclassified", "None of the 50 records", "exactly as the model answers"),
        ),
        (
            explain_figures(structs.replace(FIGURE, compared=structs.replace(COMPARED, monitored_records=0)), SUCCESS, HOURLY),
            *("group_without_records", "female of sex has no record with an outcome", "spells the group as the records do"),
        ),
        (
            explain_figures(structs.replace(FIGURE, compared=structs.replace(COMPARED, reference_records=0)), SUCCESS, HOURLY),
            *("group_without_records", "male of sex has no record with an outcome", "spells the group as the records do"),
        ),
        (
            explain_figures(
                structs.replace(FIGURE, verdict=Verdict.INSUFFICIENT_DATA, compared=structs.replace(COMPARED, monitored_records=4)),
                SUCCESS,
                HOURLY,
            ),
            *("group_too_small", "female of sex has 4 records with an outcome; 10 are needed", "Log more records of female"),
        ),
        (
            explain_figures(structs.replace(FIGURE, compared=structs.replace(COMPARED, reference_favourable=0)), SUCCESS, HOURLY),
            *(
                "reference_never_favourable",
                "No record of the reference group male (sex) got the favourable outcome, in 20 records",
                "that male is",
            ),
        ),
        (explain_figures(FIGURE, SUCCESS, HOURLY), "not_computable", "sex, female: the rate is zero.", "Open the last check"),
        (explain_figures(None, SUCCESS, HOURLY), "no_limits", "no figure of a group that has limits", "disparate impact"),
        (explain_figures(structs.replace(FIGURE, verdict=None), SUCCESS, HOURLY), "no_limits", "no figure of a group", "disparate impact"),
        (CauseFacts(cause=Cause.NO_MONITOR, outlook=OFF), "no_monitor", "", "Set a fairness monitor"),
        (
            CauseFacts(cause=Cause.MONITOR_CHANGED, outlook=HOURLY),
            "monitor_changed",
            "was changed",
            "ask for a check. The next check is at 13:00",
        ),
        (CauseFacts(cause=Cause.MONITOR_CHANGED, outlook=OFF), "monitor_changed", "was changed", "No check runs automatically"),
        (explain_check(CHECK, HOURLY), "check_queued", "It begins as soon as a worker is free.", "Nothing has to be done."),
        (explain_check(CHECK, replace(HOURLY, under_way=CheckState.RUNNING)), "check_queued", "that is running has ended", "Nothing"),
        (explain_check(CHECK, replace(HOURLY, workers=SILENT)), "worker_silent", SINCE, "Start it again"),
        (explain_check(replace(CHECK, state=CheckState.RUNNING), HOURLY), "check_running", "A check is running.", "Nothing"),
        (
            explain_check(replace(CHECK, state=CheckState.RUNNING), replace(HOURLY, workers=SILENT)),
            "worker_silent",
            SINCE,
            "Start it again",
        ),
        (
            explain_check(replace(CHECK, state=CheckState.CANCELLED, reason="Cancelled on request."), OFF),
            "cancelled",
            "Cancelled",
            "Check again",
        ),
        (explain_check(replace(CHECK, state=CheckState.SUCCEEDED), OFF), "measured", "", ""),
        (
            explain_check(replace(CHECK, state=CheckState.FAILED, failure=Failure.SCORING_FAILED, reason="It is down."), HOURLY),
            *("scoring_failed", "It is down.", "Then check again."),
        ),
        (
            explain_check(
                replace(CHECK, state=CheckState.INSUFFICIENT_DATA, window={"records": 1, "additional_records": 2, "min_records": 9}), OFF
            ),
            *("too_few_records", "found 3 records", "Log 6 more records"),
        ),
    ],
)
def test_each_cause_comes_with_its_facts_and_a_step_that_fits(because: CauseFacts, cause: str, reason: str, step: str) -> None:
    found, why, what = worded(because)

    assert found.value == cause
    assert reason in why
    assert step in what


def test_more_records_are_not_asked_for_where_they_would_not_help() -> None:
    of_reference = explain_figures(structs.replace(FIGURE, compared=structs.replace(COMPARED, reference_favourable=0)), SUCCESS, HOURLY)
    unclassified = explain_figures(FIGURE, structs.replace(SUCCESS, counts=replace(COUNTS, unclassified=50)), HOURLY)

    assert [text for because in (of_reference, unclassified) for text in worded(because)[1:] if "Log" in text] == []


@given(
    cause=st.sampled_from(Cause),
    workers=st.sampled_from([ANSWERING, SILENT, NEVER]),
    due_at=st.sampled_from([None, NOON]),
    under_way=st.sampled_from([None, CheckState.QUEUED, CheckState.RUNNING]),
    is_of_check=st.booleans(),
    compared=st.sampled_from(
        [COMPARED, ComparedGroups(reference=None, monitored_records=None, reference_records=None, reference_favourable=None)]
    ),
)
def test_every_cause_has_words_and_none_leaves_a_gap(
    *,
    cause: Cause,
    workers: WorkersSeen,
    due_at: datetime | None,
    under_way: CheckState | None,
    is_of_check: bool,
    compared: ComparedGroups,
) -> None:
    expected = {Cause.WORKER_SILENT: SILENT, Cause.WORKER_NEVER_SEEN: NEVER}.get(cause, workers)
    outlook = Outlook(workers=expected, due_at=due_at, under_way=under_way)
    facts = CauseFacts(cause=cause, outlook=outlook, is_of_check=is_of_check, compared=compared, stated_reason="It broke.", records=50)
    advice = write_advice(facts)

    for text in (advice.reason, advice.next_step):
        assert text is None or (text[0] != " " and text[-1] in ".”" and "{" not in text and "  " not in text and "None " not in text[4:])
    assert advice.next_step is not None or cause is Cause.MEASURED


@pytest.mark.parametrize(("minute", "due"), [(0, 12), (0.5, 12), (1, 13), (59, 13)])
def test_the_next_check_is_at_the_end_of_an_hour_and_a_little_after_it_still_that_one(minute: float, due: int) -> None:
    assert compute_next_due(NOON + timedelta(minutes=minute), Schedule.HOURLY) == NOON.replace(hour=due)
    assert compute_next_due(NOON, Schedule.DAILY) == NOON.replace(hour=0) + timedelta(days=1)
    assert compute_next_due(NOON, Schedule.BATCH) is compute_next_due(NOON, None) is None


def test_the_notice_says_since_when_what_it_means_and_what_to_do(snapshot: SnapshotAssertion) -> None:
    silent, never = choose_notice(SILENT), choose_notice(NEVER)

    assert choose_notice(ANSWERING) is None
    assert silent is not None
    assert never is not None
    assert says(silent.sentence, SINCE)
    assert silent.sentence == snapshot
    assert "Start it again" in silent.next_step
    assert never.sentence == snapshot
