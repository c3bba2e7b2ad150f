"""A check of records in files that ends early stores no half of itself, and its successor asks only for answers that never came."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.base.errors import CheckCancelled
from app.database.engine import Database
from app.domain.check import CheckState, Failure, Progress, Span
from app.domain.deployment import Endpoint
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.checking_process import QueuedCheck, checking_process
from tests.builders.lakes import Lake, lake_of
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, Reply, running
from tests.progress import wait_until
from tests.scenes import HOUR, NOON, Result, scene

PAGE = 10
STORED = ("check_tables", "measurements", "copy_targets", "counterfactuals")
COPIES = 180
"""Copies of sixty people: one with the other sex and two with ages of the other group."""
NEEDED = COPIES + 8
"""With four people who are asked twice unchanged. A check that follows one that ended early needs fewer, for it asks for fewer copies."""


class StoppingServer(ModelServer):
    """The rule, which answers so many pages, and those after them once the gate is open; a failing one answers those without sense."""

    def __init__(self) -> None:
        self.pages, self.fails = 1000, False
        self.gate = threading.Event()
        self.waiting = threading.Event()
        super().__init__(RuleScorer())

    def answer(self, path: str, body: bytes) -> Reply:
        with self.lock:
            self.pages -= 1
            is_late = self.pages < 0
        if is_late and self.fails:
            return Reply(200, b"not JSON")
        if is_late:
            self.waiting.set()
            self.gate.wait()
        return super().answer(path, body)


@pytest.fixture
def server() -> Iterator[StoppingServer]:
    with ExitStack() as stack:
        found = StoppingServer()
        stack.enter_context(running(found))
        stack.callback(found.gate.set)
        yield found


@pytest.fixture
def lake(database: Database, server: StoppingServer, tmp_path: Path) -> Lake:
    """Sixty people, whose copies are asked about one page after the other."""
    endpoint = Endpoint(url=server.url, page_size=PAGE, concurrency=1)
    lake = lake_of(scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=endpoint), tmp_path)
    lake.write(applicants(30, 30, 10), NOON)
    return lake


def figures(result: Result) -> list[object]:
    return sorted((m.metric, m.data, m.scope, str(m.comparison), str(m.group), m.value, m.lower, m.upper, m.n) for m in result.measurements)


def expected_figures(lake: Lake, server: StoppingServer, folder: Path) -> list[object]:
    """Those of an undisturbed check of the same records."""
    other = lake_of(lake.stage, folder, deployment_id="undisturbed")
    other.write(applicants(30, 30, 10), NOON)
    server.counts.clear()
    found = figures(other.check(NOON))
    assert server.counts.rows == NEEDED
    server.counts.clear()
    return found


@pytest.mark.nightly
def test_a_cancelled_check_stores_nothing_and_the_next_one_asks_for_the_rest(lake: Lake, server: StoppingServer, tmp_path: Path) -> None:
    expected = expected_figures(lake, server, tmp_path / "other")
    before = [lake.stage.count(table) for table in STORED]

    def cancel(progress: Progress) -> None:
        if progress.step.startswith("asking") and progress.done >= 3 * PAGE:
            raise CheckCancelled("stop")

    lake.stage.report = cancel
    with pytest.raises(CheckCancelled):
        lake.check(NOON)
    assert [lake.stage.count(table) for table in STORED] == before
    assert server.counts.rows == 3 * PAGE
    lake.stage.stop_running()

    lake.stage.report = None
    found = lake.check(NOON)
    assert server.counts.rows == COPIES + 6
    assert figures(found) == expected
    lake.check(NOON)
    assert server.counts.rows == COPIES + 6


def test_answers_before_a_failure_of_the_model_are_kept(lake: Lake, server: StoppingServer) -> None:
    server.pages, server.fails = 5, True
    without = lake.check(NOON)
    assert without.run.failure is Failure.SCORING_FAILED
    assert server.counts.rows == 5 * PAGE

    server.fails = False
    server.gate.set()
    assert lake.check(NOON).run.state is CheckState.SUCCEEDED
    # One row tries whether an endpoint that failed is back.
    assert server.counts.rows == 1 + COPIES + 7


@pytest.mark.nightly
def test_of_a_killed_worker_only_the_page_under_way_is_asked_again(
    lake: Lake, server: StoppingServer, database_url: str, tmp_path: Path
) -> None:
    expected = expected_figures(lake, server, tmp_path / "other")
    before = [lake.stage.count(table) for table in STORED]
    run = lake.stage.queue(Span(start=NOON, end=NOON + HOUR))
    server.pages = 4
    with checking_process(QueuedCheck(run, database_url, tmp_path)) as process:
        wait_until(server.waiting.is_set, "the model has answered four pages and is asked for the fifth")
        process.kill()
        process.join()
    assert lake.stage.result(run).run.state is CheckState.RUNNING
    assert [lake.stage.count(table) for table in STORED] == before
    assert server.counts.rows == 4 * PAGE
    server.gate.set()

    lake.stage.perform(run)
    found = lake.stage.result(run)
    assert found.run.state is CheckState.SUCCEEDED
    assert figures(found) == expected
    # The killed worker's fifth page may be answered now, to nobody.
    wait_until(lambda: server.counts.rows >= COPIES + PAGE)
    assert server.counts.rows == COPIES + 6 + PAGE


@pytest.mark.thorough
def test_pages_of_answers_are_put_together_in_one_file(lake: Lake, tmp_path: Path) -> None:
    lake.check(NOON)
    folders = [folder for folder in (tmp_path / "payload" / "_evenhand").iterdir() if folder.is_dir()]
    assert folders
    assert [len(list(folder.iterdir())) for folder in folders] == [1] * len(folders)
