"""`evenhand doctor`."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

import typer
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from ..access.secret_box import KEY_FILE, find_secret_box
from ..base.clock import utc_now
from ..base.errors import EvenhandError
from ..base.settings import Settings
from ..base.values import frozen, join_first
from ..calls.egress_policy import check_url, read_policy
from ..calls.model_uris import check_model
from ..checks.days.day_queries import count_waiting_days
from ..database.engine import current_time, describe_cause, name_address
from ..database.migrations import (
    OLDEST_COMMIT,
    find_faults,
    find_newest_revision,
    is_newer,
    is_too_old,
    read_revision,
)
from ..database.partitions import count_months_ahead
from ..database.reseal import find_unreadable
from .database import load_command_settings, open_database

command = typer.Typer(add_completion=False)

MAX_SKEW = timedelta(seconds=5)
"""Of this machine's clock and the database's."""

MAX_SILENCE = timedelta(seconds=45)

MIN_FREE_BYTES = 2 * 2**30

MIN_MONTHS_AHEAD = 1

MAX_DAY_WAIT = timedelta(days=1)
"""Time after which an ended day of checks that is not added up is reported."""


class ExamResult(StrEnum):
    """Result of one look; a fault ends the command with 1."""

    GOOD = "ok"
    WARNING = "warning"
    FAULT = "fault"


GOOD, WARNING, FAULT = ExamResult


@frozen
class Finding:
    """Line of the command's output."""

    subject: str
    result: ExamResult
    words: str


ExamOutcome = tuple[ExamResult, str]


@command.command()
def doctor() -> None:
    """Look at everything that an installation needs, one line each. Changes nothing. Ends with 1 if there
    is a fault.
    """
    settings = load_command_settings()
    has_fault = False
    for finding in examine(settings):
        typer.echo(f"{finding.result.value:<8} {finding.subject:<10} {finding.words}")
        has_fault |= finding.result is FAULT
    raise typer.Exit(int(has_fault))


def examine(settings: Settings) -> Iterator[Finding]:
    """Yields the findings on disk, keys and database; ends at a schema or a database that cannot be used."""
    yield Finding("disk", *look_at_disk(settings.data_dir))
    yield Finding("secret key", *look_at_secrets(settings))
    try:
        with open_database(settings) as database:
            with database.operator_connection() as connection:
                connection.exec_driver_sql("SELECT 1")
            yield Finding("database", GOOD, f"{name_address(database.url)} answers.")
            yield from (Finding("database", FAULT, fault.words) for fault in find_faults(database))
            with database.transaction() as session:
                result, words = look_at_schema(session)
                yield Finding("schema", result, words)
                if result is FAULT:
                    return
                for subject, look in _DATABASE_EXAMS.items():
                    yield Finding(subject, *look(session))
                yield Finding("secrets", *look_at_stored_secrets(settings, session))
                yield from look_at_endpoints(settings, session)
    except DBAPIError as error:
        yield Finding("database", FAULT, f"refused a statement: {describe_cause(error)}. Look at its log.")
    except EvenhandError as error:
        yield Finding("database", FAULT, str(error))


def look_at_disk(folder: Path) -> ExamOutcome:
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    sentence = f"{free / 2**30:.1f} GiB are free at {existing}."
    if free < MIN_FREE_BYTES:
        return WARNING, f"{sentence} Make room: on a full disk nothing more is stored."
    return GOOD, sentence


def look_at_secrets(settings: Settings) -> ExamOutcome:
    if settings.secret_key is not None:
        return GOOD, "is set by EVENHAND_SECRET_KEY."
    file = settings.data_dir.absolute() / KEY_FILE
    if file.exists():
        return GOOD, f"is in {file}. Keep a copy of it elsewhere."
    return WARNING, f"is neither set nor in {file}. The service makes one at its start; keep a copy."


def look_at_schema(session: Session) -> ExamOutcome:
    revision = read_revision(session.connection())
    newest_revision = find_newest_revision()
    if revision is None:
        return FAULT, "The database holds no Evenhand. Run evenhand migrate, or correct DATABASE_URL."
    if revision == newest_revision:
        return GOOD, f"{revision} is that of this version."
    if is_newer(revision):
        return (
            WARNING,
            f"{revision} is of a newer version. Finish the upgrade: start that version here, too.",
        )
    commands = (
        f"evenhand migrate of commit {OLDEST_COMMIT}, then that of this version"
        if is_too_old(revision)
        else "evenhand migrate"
    )
    return FAULT, f"{revision} is older than {newest_revision}, which this version needs. Run {commands}."


def look_at_clock(session: Session) -> ExamOutcome:
    before = utc_now()
    database_time = session.scalar(text("SELECT clock_timestamp()"))
    skew = database_time - before - (utc_now() - before) / 2
    sentence = f"The clock of this machine differs from the database's by {abs(skew.total_seconds()):.1f} s."
    if abs(skew) > MAX_SKEW:
        return WARNING, f"{sentence} Synchronise both with NTP."
    return GOOD, sentence


def look_at_worker(session: Session) -> ExamOutcome:
    silence = session.scalar(text("SELECT now() - max(beat_at) FROM workers"))
    if silence is None:
        return (
            FAULT,
            "No worker has ever answered. Start evenhand worker, or evenhand serve without --without-worker.",
        )
    sentence = f"The newest heartbeat is {silence.total_seconds():.0f} s old."
    if silence > MAX_SILENCE:
        return FAULT, f"{sentence} Nothing is checked: see the runbook, No worker answers."
    return GOOD, sentence


def look_at_keys(session: Session) -> ExamOutcome:
    keys = session.scalar(text("SELECT count(*) FROM api_keys WHERE role = 'admin' AND revoked_at IS NULL"))
    people = session.scalar(text("SELECT count(*) FROM users WHERE role = 'admin' AND disabled_at IS NULL"))
    if keys + people == 0:
        return WARNING, "No key and no user may administer. Run evenhand keys create --role admin."
    return GOOD, f"{keys} admin keys and {people} admin users are in use."


def look_at_months(session: Session) -> ExamOutcome:
    months = count_months_ahead(session, current_time(session))
    sentence = f"Records can be stored {months} months ahead."
    if months < MIN_MONTHS_AHEAD:
        return WARNING, f"{sentence} A worker makes them every minute: look at its log for tick_failed."
    return GOOD, sentence


def look_at_days(session: Session) -> ExamOutcome:
    now = current_time(session)
    waiting = count_waiting_days(session, today=now)
    if waiting.since is None:
        return GOOD, "All ended days of checks are added up."
    sentence = (
        f"Ended days of checks that are not added up: {waiting.days:,} of {waiting.deployments:,} "
        f"deployments, the oldest changed at {waiting.changed_at:%Y-%m-%d %H:%M} UTC."
    )
    if now - waiting.since > MAX_DAY_WAIT:
        advice = (
            "Series of a year are slow until then. A worker adds up 300 a minute: look at its log for "
            "days_delayed."
        )
        return WARNING, f"{sentence} {advice}"
    return GOOD, sentence


_DATABASE_EXAMS = {
    "clock": look_at_clock,
    "worker": look_at_worker,
    "keys": look_at_keys,
    "months": look_at_months,
    "days": look_at_days,
}


def look_at_stored_secrets(settings: Settings, session: Session) -> ExamOutcome:
    unreadable = find_unreadable(session, find_secret_box(settings))
    if unreadable:
        sentence = f"This key cannot read the stored secret of {join_first(unreadable)}."
        return FAULT, f"{sentence} Set EVENHAND_SECRET_KEY to the key that it was encrypted with."
    return GOOD, "All stored secrets can be read."


def look_at_endpoints(settings: Settings, session: Session) -> Iterator[Finding]:
    policy = read_policy(settings)
    rows = session.execute(
        text(
            """
            SELECT d.id, d.endpoint->>'url' AS url, d.endpoint->>'uri' AS uri, f.failures, f.reason
            FROM deployments d
            LEFT JOIN endpoint_failures f ON f.deployment_no = d.no
            WHERE d.endpoint IS NOT NULL
            ORDER BY d.no"""
        )
    )
    for row in rows:
        try:
            if row.uri:
                check_model(row.uri, policy.model_prefixes)
            else:
                check_url(row.url, policy)
        except EvenhandError as error:
            yield Finding("endpoint", FAULT, f"{row.id}: {error}")
        else:
            if row.failures:
                yield Finding(
                    "endpoint",
                    WARNING,
                    f"{row.id}: did not answer {row.failures} checks in a row. {row.reason}",
                )
            else:
                yield Finding(
                    "endpoint",
                    GOOD,
                    f"{row.id}: may be called; the last check had an answer, or there was none.",
                )
