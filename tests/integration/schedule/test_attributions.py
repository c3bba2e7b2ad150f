"""Attributions by workers: taken over after a death, never half written, one a night."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from app.base.errors import LeaseLost
from app.checks.lease_queries import CHECK_POLICY
from app.checks.subject import Report
from app.database.engine import Database
from app.domain.check import Progress, Span
from app.domain.deployment import Endpoint
from app.domain.monitor import AttributionSettings
from app.evidence.attribution import model_questions as questions
from app.evidence.attribution.attribution import (
    AttributionLimits,
    AttributionResult,
    AttributionRun,
    AttributionState,
    AttributionTrigger,
    Method,
)
from app.evidence.attribution.queries import (
    cancel_attribution,
    claim_attribution,
    delete_attribution,
    fail_attribution,
    finish_attribution,
    queue_manual,
    release_attribution,
    stop_attribution,
)
from app.worker.attribute import perform_attribution
from app.worker.attributor import QUEUES, Attributor, build_leased_attribution
from app.worker.looks import queue_due_attributions
from tests.builders.applicants import APPLICANT, applicants, monitor_of
from tests.builders.attributing_process import attributing_process
from tests.builders.attributions import all_attributions, run_all, silence_workers
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, Reply, running
from tests.progress import wait_until
from tests.scenes import HOUR, NOON, PlainSealer, Scene, scene

WINDOW = Span(start=NOON, end=NOON + HOUR)
DAY = timedelta(days=1)


class GatedServer(ModelServer):
    """The rule, which answers only once the gate is open."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        super().__init__(RuleScorer())

    def answer(self, path: str, body: bytes) -> Reply:
        self.gate.wait()
        return super().answer(path, body)


@pytest.fixture
def server() -> Iterator[GatedServer]:
    with ExitStack() as stack:
        found = GatedServer()
        stack.enter_context(running(found))
        stack.callback(found.gate.set)
        yield found


@pytest.fixture
def stage(database: Database, server: GatedServer) -> Scene:
    found = scene(database, APPLICANT, monitor_of(), endpoint=Endpoint(url=server.url))
    found.log(applicants(60, 60, 30), NOON)
    return found


def queue(stage: Scene, pairs: int | None = None) -> str:
    with stage.database.transaction() as session:
        limits = AttributionLimits(pairs=pairs)
        return queue_manual(session, stage.deployment.no, WINDOW, check_id=None, limits=limits, requested_by="a person").id


def claim(database: Database, worker: str = "one") -> AttributionRun | None:
    with database.transaction() as session:
        return claim_attribution(session, token=worker, lease=CHECK_POLICY.lease, triggers=list(AttributionTrigger))


@pytest.mark.nightly
def test_a_killed_worker_leaves_the_cost_and_nothing_else_and_another_one_takes_over(
    stage: Scene, server: GatedServer, database_url: str
) -> None:
    queue(stage)
    with attributing_process(database_url) as process:
        wait_until(lambda: server.counts.requests > 0, "the model is asked")
        process.kill()
        process.join()
        (left,) = all_attributions(stage.database, stage.deployment.no)
    server.gate.set()
    run_all(stage.database)
    (waiting,) = all_attributions(stage.database, stage.deployment.no)

    silence_workers(stage.database)
    server.counts.clear()
    run_all(stage.database)
    (ended,) = all_attributions(stage.database, stage.deployment.no)

    assert (left.state, left.result, left.asked_rows) == (AttributionState.RUNNING, None, None)
    assert left.planned_rows == 60 * 2 + 100  # sex and income go together here
    assert (waiting.state, waiting.attempts) == (AttributionState.RUNNING, 1)
    assert (ended.state, ended.attempts, ended.asked_rows) == (AttributionState.DONE, 2, left.planned_rows)
    assert server.counts.rows == left.planned_rows
    assert ended.result is not None
    assert len(ended.result.gaps) == 1


def test_a_worker_that_was_too_slow_can_store_nothing(stage: Scene) -> None:
    queue(stage)
    slow = claim(stage.database)
    assert slow is not None
    silence_workers(stage.database)
    claim(stage.database, "two")
    result = AttributionResult(
        method=Method.HYBRIDS,
        model_revision="1",
        monitor_version=1,
        records=0,
        additional_records=0,
        other_revisions=0,
        unclassified=0,
    )

    with pytest.raises(LeaseLost), stage.database.transaction() as session:
        finish_attribution(session, slow, result, asked_rows=0)
    with pytest.raises(LeaseLost), stage.database.transaction() as session:
        fail_attribution(session, slow, problem="no")
    (found,) = all_attributions(stage.database, stage.deployment.no)
    assert (found.state, found.result, found.problem) == (AttributionState.RUNNING, None, None)


def test_after_the_last_attempt_it_fails_and_says_what_to_do(stage: Scene) -> None:
    queue(stage)
    for attempt in range(CHECK_POLICY.max_attempts):
        assert claim(stage.database, str(attempt)) is not None
        silence_workers(stage.database)

    run_all(stage.database)

    (found,) = all_attributions(stage.database, stage.deployment.no)
    assert found.state is AttributionState.FAILED
    assert found.problem is not None
    assert "was interrupted 4 times" in found.problem
    assert "request it again" in found.problem


def test_a_model_answers_one_attribution_at_a_time(stage: Scene) -> None:
    queue(stage)
    queue(stage, pairs=5)

    assert claim(stage.database) is not None
    assert claim(stage.database, "two") is None


def nightly_now(database: Database, now: datetime) -> int:
    with database.transaction() as session:
        return queue_due_attributions(session, now)


def test_a_night_is_queued_once_whoever_ticks_and_however_often(stage: Scene) -> None:
    midnight = datetime(2026, 3, 3, tzinfo=UTC)
    assert nightly_now(stage.database, midnight + HOUR) == 0  # off by default
    stage.watch(replace(stage.monitor(), attribution=AttributionSettings(nightly=True, max_rows=150)))
    with stage.database.transaction() as session:
        session.execute(text("UPDATE monitors SET nightly_since = :at"), {"at": midnight - HOUR})

    early = nightly_now(stage.database, midnight + timedelta(seconds=29))
    counts = [nightly_now(stage.database, midnight + minutes * timedelta(minutes=1)) for minutes in range(1, 4)]
    next_night = nightly_now(stage.database, midnight + DAY + HOUR)
    again = nightly_now(stage.database, midnight + HOUR)  # another machine's tick that was late

    assert (early, counts, next_night, again) == (0, [1, 0, 0], 1, 0)
    later, first = all_attributions(stage.database, stage.deployment.no)
    assert (first.trigger, first.created_by, first.limits.max_rows) == (AttributionTrigger.NIGHTLY, "schedule", 150)
    assert (first.span.start, first.span.end) == (midnight - DAY, midnight)
    assert later.span.start == midnight


def test_a_night_keeps_to_its_rows(stage: Scene, server: GatedServer) -> None:
    stage.watch(replace(stage.monitor(), attribution=AttributionSettings(nightly=True, max_rows=150)))
    with stage.database.transaction() as session:
        session.execute(text("UPDATE monitors SET nightly_since = :at"), {"at": NOON})
    assert nightly_now(stage.database, datetime(2026, 3, 3, 1, tzinfo=UTC)) == 1
    server.gate.set()

    run_all(stage.database)

    (found,) = all_attributions(stage.database, stage.deployment.no)
    assert found.state is AttributionState.DONE
    assert found.planned_rows == found.asked_rows == server.counts.rows
    assert 140 < server.counts.rows <= 150


def test_a_night_whose_attribution_is_deleted_is_not_attributed_again(stage: Scene, server: GatedServer) -> None:
    stage.watch(replace(stage.monitor(), attribution=AttributionSettings(nightly=True, max_rows=150)))
    with stage.database.transaction() as session:
        session.execute(text("UPDATE monitors SET nightly_since = :at"), {"at": NOON})
    night = datetime(2026, 3, 3, 1, tzinfo=UTC)
    server.gate.set()
    nightly_now(stage.database, night)
    run_all(stage.database)
    (found,) = all_attributions(stage.database, stage.deployment.no)

    with stage.database.transaction() as session:
        delete_attribution(session, found)

    assert [nightly_now(stage.database, night + later) for later in (HOUR, DAY)] == [0, 1]


def test_a_running_attribution_stops_before_its_next_page_and_stores_nothing(stage: Scene) -> None:
    queue(stage)
    run = claim(stage.database)
    assert run is not None
    with stage.database.transaction() as session:
        asked = cancel_attribution(session, run)
    with stage.database.transaction() as session:
        is_to_stop = build_leased_attribution(run).renew(session, lease=CHECK_POLICY.lease, progress=None)
        stop_attribution(session, run)
    (ended,) = all_attributions(stage.database, stage.deployment.no)

    assert (asked.state, asked.cancel_requested, is_to_stop) == (AttributionState.RUNNING, True, True)
    assert (ended.state, ended.result, ended.problem) == (AttributionState.CANCELLED, None, None)
    assert ended.finished_at is not None
    assert claim(stage.database) is None


def test_a_worker_that_is_asked_to_stop_asks_the_model_no_more(stage: Scene, server: GatedServer) -> None:
    """Its first report after the request says so."""
    queue(stage)

    def perform(run: AttributionRun, *, report: Report) -> None:
        with stage.database.transaction() as session:
            cancel_attribution(session, run)
        perform_attribution(run, database=stage.database, sealer=PlainSealer(), report=report)

    server.gate.set()
    assert Attributor(stage.database, perform, limit=DAY).run_next(QUEUES[0])

    (ended,) = all_attributions(stage.database, stage.deployment.no)
    assert (ended.state, server.counts.rows) == (AttributionState.CANCELLED, 0)


@pytest.mark.parametrize("is_released", [True, False])
def test_a_cancelled_attribution_does_not_go_back_into_the_queue(stage: Scene, *, is_released: bool) -> None:
    """Whether its worker stops, or dies."""
    queue(stage)
    run = claim(stage.database)
    assert run is not None
    with stage.database.transaction() as session:
        cancel_attribution(session, run)
    if is_released:
        with stage.database.transaction() as session:
            release_attribution(session, run)
    else:
        silence_workers(stage.database)

    run_all(stage.database)

    (ended,) = all_attributions(stage.database, stage.deployment.no)
    assert (ended.state, ended.problem, ended.attempts) == (AttributionState.CANCELLED, None, 0 if is_released else 1)


@pytest.mark.parametrize("is_same_question", [True, False])
def test_after_a_take_over_only_the_other_rows_are_asked_about(
    stage: Scene, server: GatedServer, monkeypatch: pytest.MonkeyPatch, *, is_same_question: bool
) -> None:
    """Another version of the monitor may read the answers otherwise, so the model is asked about all rows."""
    monkeypatch.setattr(questions, "MAX_CHUNK_ROWS", 50)
    queue(stage)
    server.gate.set()

    def perform(run: AttributionRun, *, report: Report) -> None:
        def die_in_the_second_part(progress: Progress) -> None:
            report(progress)
            if progress.done >= 100 and run.attempts == 1:
                raise LeaseLost("the worker died")

        perform_attribution(run, database=stage.database, sealer=PlainSealer(), report=die_in_the_second_part)

    worker = Attributor(stage.database, perform, limit=DAY)
    with pytest.raises(LeaseLost):
        worker.run_next(QUEUES[0])
    kept = stage.count("attribution_answers")
    server.counts.clear()
    silence_workers(stage.database)
    if not is_same_question:
        stage.watch(replace(stage.monitor(), min_records=7))
    worker.run_next(QUEUES[0])
    worker.run_next(QUEUES[0])

    (ended,) = all_attributions(stage.database, stage.deployment.no)
    assert (ended.state, ended.attempts, ended.asked_rows) == (AttributionState.DONE, 2, 220)
    assert ended.result is not None
    assert (kept, server.counts.rows) == (1, 170 if is_same_question else 220)
    assert stage.count("attribution_answers") == 0


def test_a_deployment_with_attributions_can_be_deleted(stage: Scene) -> None:
    queue(stage)
    with stage.database.transaction() as session:
        session.execute(text("DELETE FROM deployments"))

    assert stage.count("attributions") == 0
