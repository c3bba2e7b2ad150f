"""What is killed loses nothing that was acknowledged, and leaves nothing half done. In short; `scripts/trial crash` does it at length."""

import sys
from collections.abc import Iterator

import pytest

from tests.crashes.report import Report
from tests.crashes.stage import Stage, stage
from tests.crashes.stories import api_killed, everything_killed, postgres_killed, worker_killed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds the processes to kill through /proc")


@pytest.fixture(scope="module")
def running() -> Iterator[Stage]:
    """One service that is killed in one way after the other."""
    with stage(hurried=True) as made:
        yield made


def test_records_survive_a_kill_of_the_api_process(running: Stage) -> None:
    assert_nothing_lost(api_killed(running, 2))


@pytest.mark.nightly
def test_a_check_whose_worker_was_killed_is_done_once_by_the_next(running: Stage) -> None:
    assert_nothing_lost(worker_killed(running, 2))


@pytest.mark.nightly
def test_records_and_checks_survive_a_kill_of_postgres(running: Stage) -> None:
    assert_nothing_lost(postgres_killed(running, 1))


@pytest.mark.nightly
def test_records_and_checks_survive_a_kill_of_everything(running: Stage) -> None:
    assert_nothing_lost(everything_killed(running, 1))


def assert_nothing_lost(report: Report) -> None:
    assert report.violations == [], report.text()
