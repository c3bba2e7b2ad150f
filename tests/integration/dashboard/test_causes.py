"""Every cause, reached through the real service: checks of a real worker on records of known outcomes, and shown by REST, pages and CLI."""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.base.clock import HOUR, floor_to_hour, utc_now
from app.checks.check import perform_check
from app.cli.check import command
from app.database.engine import Database
from app.deployments.monitor.queries import delete_monitor
from app.domain.check import CheckState, Trigger
from app.domain.deployment import Endpoint
from app.domain.monitor import MonitoredAttribute, Schedule
from app.mitigation.window.mitigate_window import mitigate_window
from app.worker.worker import Worker
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.heartbeats import let_a_worker_answer, silence_workers
from tests.builders.page_words import says, words
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.progress import wait_until
from tests.scenes import PlainSealer, Scene, scene
from tests.service import RunningService

PAGE = "/deployments/a-model"
CHECKS = "/v1/deployments/a-model/checks"


@pytest.fixture
def stage(database: Database) -> Iterator[Scene]:
    """A watched deployment, nothing logged; a worker answers."""
    let_a_worker_answer(database)
    with serve(RuleScorer()) as server:
        yield scene(database, APPLICANT, monitor_of(SEX), endpoint=Endpoint(url=server.url))


@contextmanager
def a_worker(database: Database) -> Iterator[None]:
    """The checks' part of a worker, until the block ends."""
    perform = partial(perform_check, database=database, sealer=PlainSealer(), further=mitigate_window)
    stop = threading.Event()
    working = threading.Thread(target=Worker(database, perform, concurrency=1).run, args=(stop,))
    working.start()
    try:
        yield
    finally:
        stop.set()
        working.join()


def check_now(service: RunningService) -> dict[str, Any]:
    """A check of this moment, asked for over HTTP and run by a worker to its end."""
    address = service.client.post(CHECKS).raise_for_status().headers["Location"]
    with a_worker(service.database):
        wait_until(lambda: service.client.get(address).json()["state"] not in {"queued", "running"})
    ended: dict[str, Any] = service.client.get(address).json()
    return ended


def cause(service: RunningService) -> tuple[str, str, str]:
    """What REST says of the only deployment: the cause, why, and what to do."""
    (one,) = service.client.get("/v1/overview").json()["deployments"]
    return one["cause"], one["reason"] or "", one["next_step"] or ""


def both_pages_say(reader: httpx.Client, *sentence: str) -> bool:
    """Whether the overview and the deployment's page say the same."""
    return all(text in words(reader.get(path).text) for path in ("/", PAGE) for text in sentence)


def execute(stage: Scene, statement: str, **values: object) -> None:
    with stage.database.transaction() as session:
        session.execute(text(statement), values)


def log_now(stage: Scene, rows: Sequence[dict[str, Any]]) -> None:
    stage.log(rows, utc_now() - timedelta(seconds=1))


def schedule_off(stage: Scene) -> None:
    stage.watch(monitor_of(SEX, schedule=Schedule.OFF))


def test_without_a_monitor(service: RunningService, stage: Scene, reader: httpx.Client) -> None:
    with stage.database.transaction() as session:
        delete_monitor(session, stage.deployment.no)

    found, _, step = cause(service)
    assert found == "no_monitor"
    assert both_pages_say(reader, step)


def test_before_the_first_check(service: RunningService, stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    nothing = cause(service)
    log_now(stage, applicants(3, 3))
    due = cause(service)
    assert both_pages_say(reader, due[1], due[2])
    silent_since = floor_to_hour(utc_now()) - HOUR
    silence_workers(stage.database, since=silent_since)
    silent = cause(service)
    assert both_pages_say(reader, silent[1], silent[2])
    execute(stage, "DELETE FROM workers")
    never = cause(service)
    schedule_off(stage)
    off = cause(service)

    assert [one[0] for one in (nothing, due, silent, never, off)] == [
        "no_records",
        "check_due",
        "worker_silent",
        "worker_never_seen",
        "not_scheduled",
    ]
    assert f"{silent_since:%Y-%m-%d %H:%M}:00 UTC" in silent[1]
    assert [nothing, due, silent, never, off] == snapshot


def test_records_of_days_ago_are_not_asked_for_again(service: RunningService, stage: Scene) -> None:
    """Only the last hour was looked at once: people who had logged before were asked to log."""
    stage.log(applicants(30, 30), utc_now() - timedelta(days=2))
    schedule_off(stage)

    assert cause(service)[0] == "not_scheduled"


def test_a_check_that_waits_and_one_that_runs(
    service: RunningService, stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    log_now(stage, applicants(20, 30, 6))
    asked = service.client.post(CHECKS).json()
    waiting, listed = cause(service), service.client.get(CHECKS).json()["checks"][0]
    page = words(reader.get(f"{PAGE}/checks/{asked['id']}").text)
    silence_workers(stage.database, since=floor_to_hour(utc_now()) - HOUR)
    silent, silent_page = service.client.get(f"{CHECKS}/{asked['id']}").json(), words(reader.get(f"{PAGE}/checks/{asked['id']}").text)
    let_a_worker_answer(stage.database)
    execute(stage, "UPDATE checks SET state = 'running', claimable_at = now() + interval '1 hour'")
    running, of_check = cause(service), service.client.get(f"{CHECKS}/{asked['id']}").json()

    assert (asked["cause"], listed["cause"], waiting[0]) == ("check_queued",) * 3
    assert asked["waits_for"] in page
    assert silent["cause"] == "worker_silent"
    assert f"{silent['waits_for']} {silent['next_step']}" in silent_page
    assert asked["waits_for"] not in silent_page
    assert (running[0], of_check["cause"], of_check["waits_for"]) == ("check_running", "check_running", None)
    assert {"queued": (asked["waits_for"], waiting), "silent": silent["waits_for"], "running": running} == snapshot


def test_a_check_behind_another_of_its_deployment_says_so(service: RunningService, stage: Scene, snapshot: SnapshotAssertion) -> None:
    first = service.client.post(CHECKS).json()
    execute(stage, "UPDATE checks SET state = 'running', claimable_at = now() + interval '1 hour'")
    hour = floor_to_hour(utc_now())
    span = {"from": (hour - 2 * HOUR).isoformat(), "to": (hour - HOUR).isoformat()}
    second = service.client.post(CHECKS, json=span).json()

    assert first["id"] != second["id"]
    assert second["waits_for"] == snapshot


def test_too_few_records(service: RunningService, stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion) -> None:
    log_now(stage, applicants(2, 2))
    ended = check_now(service)

    found, why, step = cause(service)
    assert (ended["state"], ended["cause"], found) == ("insufficient_data", "too_few_records", "too_few_records")
    assert says(why, "4", "10")
    assert says(step, "6")
    assert (why, step) == snapshot
    assert both_pages_say(reader, why, step)


@pytest.mark.nightly
def test_a_check_without_the_model(service: RunningService, stage: Scene, reader: httpx.Client) -> None:
    log_now(stage, applicants(20, 30, 6))
    address = "http://127.0.0.1:1/"
    execute(stage, "UPDATE deployments SET endpoint = jsonb_set(endpoint, '{url}', to_jsonb(CAST(:url AS text)))", url=address)

    ended = check_now(service)

    assert (ended["state"], ended["cause"]) == ("succeeded", "scoring_failed")
    assert "127.0.0.1:1 could not be reached" in ended["reason"]
    page = words(reader.get(f"/deployments/{stage.deployment.id}/checks/{ended['id']}").text)
    assert f"so counterfactual figures are missing: {ended['reason']}" in page


@pytest.mark.nightly
def test_a_failed_check(service: RunningService, stage: Scene, reader: httpx.Client) -> None:
    log_now(stage, applicants(20, 30, 6))
    stage.watch(monitor_of(MonitoredAttribute(feature="income", monitored=("x",), reference=("y",))))
    ended = check_now(service)
    found, why, step = cause(service)

    assert (ended["state"], ended["cause"]) == ("failed", found)
    assert found == "check_failed"
    assert why == ended["reason"]
    assert both_pages_say(reader, why, step)


@pytest.mark.parametrize(
    ("failure", "expected"), [("invalid-input", "invalid_input"), ("interrupted", "interrupted"), ("other", "check_failed")]
)
def test_each_kind_of_failure_has_its_own_step(service: RunningService, stage: Scene, failure: str, expected: str) -> None:
    log_now(stage, applicants(20, 30, 6))
    check_now(service)
    execute(stage, "UPDATE checks SET state = 'failed', failure = :failure, reason = 'It broke.'", failure=failure)

    assert cause(service)[0] == expected


@pytest.mark.nightly
def test_a_scheduled_check_that_failed_says_when_it_is_tried_again(
    service: RunningService, stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    hour = floor_to_hour(utc_now()) - HOUR
    stage.log(applicants(20, 30, 6), hour)
    execute(stage, "UPDATE deployments SET endpoint = jsonb_set(endpoint, '{url}', '\"http://127.0.0.1:1/\"')")
    execute(
        stage,
        "INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, claimable_at, attempts, cancel_requested, created_by)"
        " VALUES (gen_random_uuid(), :no, 'schedule', 'queued', :hour, :hour + interval '1 hour', now(), 0, false, '')",
        no=stage.deployment.no,
        hour=hour,
    )
    with a_worker(service.database):
        wait_until(lambda: service.client.get(CHECKS).json()["checks"][0]["state"] == "failed")
    check = service.client.get(CHECKS).json()["checks"][0]
    retry = datetime.fromisoformat(check["next_attempt_at"])

    found, _, step = cause(service)
    assert found == "scoring_failed"
    assert f"{retry:%Y-%m-%d %H:%M} UTC" in step
    assert step == snapshot
    assert both_pages_say(reader, step)


@pytest.mark.nightly
def test_figures_that_are_old_because_nothing_was_logged_or_nothing_was_checked(
    service: RunningService, stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    early = utc_now() - timedelta(days=2)
    stage.log(applicants(20, 30, 6), early)
    stage.check(floor_to_hour(early), trigger=Trigger.SCHEDULE)
    stopped = cause(service)
    assert both_pages_say(reader, stopped[1], stopped[2])
    log_now(stage, applicants(20, 30, 6, prefix="late"))
    due = cause(service)
    silence_workers(stage.database, since=floor_to_hour(utc_now()) - HOUR)
    silent = cause(service)
    assert both_pages_say(reader, silent[1], silent[2])
    schedule_off(stage)
    off = cause(service)

    assert [one[0] for one in (stopped, due, silent, off)] == ["records_stopped", "check_due", "worker_silent", "not_scheduled"]
    assert f"{early:%Y-%m-%d %H:%M} UTC" in stopped[1]
    assert [stopped, due, silent, off] == snapshot


@pytest.mark.thorough
def test_a_reference_group_in_which_nobody_got_the_favourable_outcome_does_not_ask_for_records(
    service: RunningService, stage: Scene, reader: httpx.Client, snapshot: SnapshotAssertion
) -> None:
    execute(stage, "UPDATE deployments SET endpoint = NULL")
    stage.watch(monitor_of(MonitoredAttribute(feature="sex", monitored=("male",), reference=("female",))))
    log_now(stage, applicants(20, 30, 0))
    ended = check_now(service)

    found, why, step = cause(service)
    assert ended["state"] == "succeeded"
    assert found == "reference_never_favourable"
    assert says(why, "female (sex)", "30", "male")
    assert "Log" not in step
    assert (why, step) == snapshot
    assert both_pages_say(reader, why, step)


@pytest.mark.parametrize(
    ("rows", "expected", "facts"),
    [
        (applicants(20, 4), "group_too_small", ("female", "4", "10")),
        (applicants(5, 20, 3), "group_too_small", ("male", "5", "10")),
        (applicants(30, 0), "group_without_records", ("female",)),
        ([{**row, "prediction": "?"} for row in applicants(20, 30)], "all_unclassified", ("50",)),
    ],
)
def test_groups_that_cannot_be_judged(
    service: RunningService,
    stage: Scene,
    reader: httpx.Client,
    rows: list[dict[str, Any]],
    expected: str,
    facts: tuple[str, ...],
    snapshot: SnapshotAssertion,
) -> None:
    execute(stage, "UPDATE deployments SET endpoint = NULL")
    log_now(stage, rows)
    ended = check_now(service)

    assert ended["state"] == "succeeded"
    found, why, step = cause(service)
    assert found == expected
    assert says(why, *facts)
    assert both_pages_say(reader, why)
    assert (why, step) == snapshot


def test_a_monitor_whose_metrics_have_no_limits(service: RunningService, stage: Scene) -> None:
    stage.watch(monitor_of(SEX, metrics=("favourable_rate",)))
    log_now(stage, applicants(20, 30, 6))
    check_now(service)

    assert cause(service)[0] == "no_limits"


@pytest.mark.nightly
def test_a_monitor_that_was_changed_since(service: RunningService, stage: Scene, reader: httpx.Client) -> None:
    log_now(stage, applicants(20, 30, 6))
    check_now(service)
    measured = cause(service)
    stage.watch(monitor_of(SEX, min_records=20))
    changed = cause(service)

    assert measured == ("measured", "", "")
    assert changed[0] == "monitor_changed"
    assert both_pages_say(reader, changed[1], changed[2])


def test_a_cancelled_check(service: RunningService, stage: Scene, reader: httpx.Client) -> None:
    asked = service.client.post(CHECKS).json()
    cancelled = service.client.post(f"{CHECKS}/{asked['id']}/cancellation").json()

    assert stage.deployment.id == "a-model"
    assert (cancelled["state"], cancelled["cause"]) == (CheckState.CANCELLED, "cancelled")
    assert cancelled["next_step"] in words(reader.get(f"{PAGE}/checks/{asked['id']}").text)


def test_the_page_shows_a_check_that_is_under_way_and_who_asked_to_everybody(
    service: RunningService, stage: Scene, reader: httpx.Client, browser: httpx.Client
) -> None:
    before = reader.get(PAGE).text
    asked = service.client.post(CHECKS).json()
    queued = reader.get(PAGE).text
    execute(
        stage,
        "UPDATE checks SET state = 'running', claimable_at = now() + interval '1 hour', progress = CAST(:progress AS jsonb)",
        progress='{"step": "scoring copies", "done": 20, "total": 50}',
    )
    running = reader.get(PAGE).text

    assert "data-check" not in before
    assert f'data-check="{asked["id"]}"' in queued
    assert "Asked for now by tests (key" in words(queued)
    assert asked["waits_for"] in words(queued)
    assert 'max="50" value="20"' in running
    assert "Scoring copies." in words(running)
    assert browser is reader


def test_the_command_says_that_no_worker_answers(
    stage: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("DATABASE_URL", stage.database.url)
    silence_workers(stage.database, since=floor_to_hour(utc_now()) - HOUR)
    command(["a-model"], standalone_mode=False)

    said = capsys.readouterr().out
    assert re.sub(r"\S*[0-9a-f]{8}\S*", "<check>", said) == snapshot
