"""What is killed, and how: the API process, a worker in the middle of a check, Postgres, and everything at once."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import psycopg

from app.checks.lease_queries import CHECK_POLICY
from tests.crashes.processes import lives, processes_about
from tests.crashes.report import Report
from tests.crashes.stage import Stage
from tests.progress import wait_until

LONGEST_WAIT_SECONDS = 2.0
"""Between "it works again" and the next kill; the moment within is by chance."""

CHECK_SECONDS = 1.2
"""A little less than the model needs for a check."""

SETTLE_SECONDS = 0.3
"""For Postgres to notice that a worker is gone; a new one takes longer to start."""

MISSED_PROGRESS_SECONDS = 4.0
"""A check that is being scored reports about once a second. A busy one that is taken for interrupted only counts an attempt more."""


_SCORING = (
    "SELECT count(*), max(attempts) FROM checks"
    " WHERE state = 'running' AND progress ->> 'step' LIKE 'asking%%' AND lease_until > now() + %s - interval '2 seconds'"
)
"""Checks whose worker gave a sign of life in the last two seconds: those of a dead one look as if they ran."""

_STORING = (
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'evenhand' AND wait_event_type = 'Lock'"
    " AND query LIKE 'INSERT INTO measurements%%'"
)


def api_killed(stage: Stage, kills: int) -> Report:
    """The process that answers HTTP dies under load."""
    seconds = []
    with stage.logging():
        for _ in stage.pauses(kills):
            stage.seconds_until_answer(time.monotonic())
            _wait_by_chance(stage)
            seconds.append(stage.seconds_until_answer(_kill(stage, stage.service.api_pid)))
    report = Report(f"A. kill -9 of the API process under load ({kills} kills)")
    report.add_seconds("work resumed after a kill", seconds)
    return stage.tell(report)


def worker_killed(stage: Stage, kills: int) -> Report:
    """The worker dies while it asks the model, or in the middle of the transaction that stores a result."""
    interrupted: set[tuple[str, int]] = set()
    resumed, while_storing = [], 0
    with stage.checking() as asker:
        for no in stage.pauses(kills):
            storing = no % 3 == 1
            while_storing += storing
            with _storing(stage) if storing else _asking(stage):
                moment = _kill(stage, stage.service.worker_pid)
            stage.watch.look()
            time.sleep(SETTLE_SECONDS)
            interrupted |= {(check.id, check.attempts) for check in stage.watch.look().in_state("running")}
            if stage.hurried:
                stage.let_leases_run_out()
            asker.forget_interrupted()
            resumed.append(_seconds_until_claim(stage, moment))
    report = Report(f"B. kill -9 of the worker in the middle of checks ({kills} kills)")
    report.add("kills while asking the model / while storing", f"{kills - while_storing} / {while_storing}")
    report.add("checks interrupted by a kill", f"{len(interrupted)} times ({len(dict(interrupted))} checks)")
    report.add_seconds("a worker claimed again after a kill", resumed)
    stage.tell(report)
    times = Counter(check_id for check_id, _ in interrupted)
    for check in stage.watch.look().checks:
        if check.attempts != 1 + times[check.id]:
            report.violations.append(f"check {check.id} counts {check.attempts} attempts, interrupted {times[check.id]} times")
    return report


def postgres_killed(stage: Stage, kills: int) -> Report:
    """The head of Postgres dies, or the server process of one connection, under logging and checks together."""
    seconds, backends, while_storing = [], 0, 0
    with stage.logging(), stage.checking() as asker:
        for no in stage.pauses(kills):
            stage.seconds_until_answer(time.monotonic())
            storing, backend = no % 4 == 1, no % 4 == 3
            with _storing(stage) if storing else _asking(stage):
                moment = _kill(stage, stage.backend if backend else stage.service.postmaster_pid)
            while_storing, backends = while_storing + storing, backends + backend
            seconds.append(stage.seconds_until_answer(moment))
            asker.forget_interrupted()
            stage.watch.look()
    report = Report(f"C. kill -9 of Postgres under load and checks ({kills} kills)")
    report.add("kills of the head / of a connection's process", f"{kills - backends} / {backends}")
    report.add("kills while asking the model / while storing", f"{kills - while_storing} / {while_storing}")
    report.add_seconds("work resumed after a kill", seconds)
    return stage.tell(report, silent_seconds=MISSED_PROGRESS_SECONDS)


def everything_killed(stage: Stage, kills: int) -> Report:
    """The supervisor and all its processes die, or the supervisor alone and the others with it; it is started again by hand."""
    died, seconds = [], []
    with stage.logging(), stage.checking() as asker:
        for no in range(kills):
            stage.seconds_until_answer(time.monotonic())
            with _asking(stage):
                pids, moment = stage.service.pids(), time.monotonic()
                stage.service.kill(pids if no % 2 else {stage.service.pid})
            wait_until(partial(_nothing_runs, stage, pids), "nothing is left running")
            died.append(time.monotonic() - moment)
            stage.service.start()
            if stage.hurried:
                stage.let_leases_run_out(silent_seconds=1.0)
            asker.forget_interrupted()
            seconds.append(stage.seconds_until_answer(moment) - died[-1])
            stage.watch.look()
    report = Report(f"D. kill -9 of the supervisor and everything it started ({kills} times)")
    report.add("all killed / the supervisor alone", f"{kills // 2} / {kills - kills // 2}")
    report.add_seconds("until nothing was left running", died)
    report.add_seconds("work resumed after the next start", seconds)
    return stage.tell(report)


def _nothing_runs(stage: Stage, pids: set[int]) -> bool:
    return not processes_about(stage.home) and not any(map(lives, pids))


def _kill(stage: Stage, victim: Callable[[], int | None]) -> float:
    """Kills it; when that was."""
    wait_until(victim, "what is to be killed runs")
    moment = time.monotonic()
    stage.service.kill({victim() or 0} - {0})
    return moment


@contextmanager
def _asking(stage: Stage) -> Iterator[None]:
    """Begins in a moment, by chance, in which the model is being asked for a check."""
    _wait_for_scoring(stage)
    _wait_by_chance(stage, CHECK_SECONDS)
    _wait_for_scoring(stage)
    yield


@contextmanager
def _storing(stage: Stage) -> Iterator[None]:
    """While a worker is held in its last transaction: the run's end and its tables are written, the rest is not."""
    _wait_for_scoring(stage)
    with suppress(psycopg.OperationalError), stage.service.connect() as blocker, blocker.transaction():
        blocker.execute("LOCK TABLE measurements IN SHARE MODE")
        wait_until(lambda: stage.query(_STORING)[0][0], "a worker is storing a result")
        yield


def _wait_for_scoring(stage: Stage) -> None:
    """Returns while a check is being scored, and none is at its last attempt: that one must be let through."""

    def is_time() -> bool:
        scoring, attempts = stage.query(_SCORING, [CHECK_POLICY.lease])[0]
        return bool(scoring) and int(attempts) < CHECK_POLICY.max_attempts

    wait_until(is_time, "a check is being scored")


def _seconds_until_claim(stage: Stage, moment: float) -> float:
    """From the kill until a worker has begun a check again."""
    passed = time.monotonic() - moment
    begun = "SELECT count(*) FROM checks WHERE started_at > now() - make_interval(secs => %s)"
    wait_until(lambda: stage.query(begun, [time.monotonic() - moment - passed])[0][0], "a worker begins a check")
    return time.monotonic() - moment


def _wait_by_chance(stage: Stage, longest: float = LONGEST_WAIT_SECONDS) -> None:
    time.sleep(stage.chance.uniform(0, longest))
