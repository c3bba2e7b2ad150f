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
from ..base.frozen import frozen
from ..base.settings import Settings
from ..calls.egress_policy import check_url, read_policy
from ..calls.model_uris import check_model
from ..checks.days.day_queries import waiting_days
from ..database.engine import current_time, describe_cause, public_address
from ..database.migrations import (
    OLDEST_COMMIT,
    find_faults,
    is_newer,
    is_too_old,
    newest_revision,
    read_revision,
)
from ..database.partitions import months_ahead
from ..database.reseal import find_unreadable, name_first
from .database import command_settings, open_database

command = typer.Typer(add_completion=False)

MAX_SKEW = timedelta(seconds=5)

MIN_FREE_BYTES = 2 * 2**30

MIN_MONTHS_AHEAD = 1

MAX_DAY_WAIT = timedelta(days=1)
"""Time after which an ended day of checks that is not added up is reported."""


class ExamResult(StrEnum):
    GOOD = "ok"
    WARNING = "warning"
    FAULT = "fault"


GOOD, WARNING, FAULT = ExamResult


@frozen
class Finding:
    subject: str
    verdict: ExamResult
    words: str


@command.command()
def doctor() -> None:
    """Look at everything that an installation needs, one line each. Changes nothing. Ends with 1 if there
    is a fault.
    """
    settings = command_settings()
    has_fault = False
    for finding in examine(settings):
        typer.echo(f"{finding.verdict.value:<8} {finding.subject:<10} {finding.words}")
        has_fault |= finding.verdict is FAULT
    raise typer.Exit(int(has_fault))


def examine(settings: Settings) -> Iterator[Finding]:
    """Yields a finding for each thing; after a database that does not answer, only for those without it."""
    yield look_at_disk(settings.data_dir)
    yield look_at_secrets(settings)
    try:
        with open_database(settings) as database:
            with database.operator_connection() as connection:
                connection.exec_driver_sql("SELECT 1")
            yield Finding("database", GOOD, f"{public_address(database.url)} answers.")
            yield from (Finding("database", FAULT, fault.words) for fault in find_faults(database))
            with database.transaction() as session:
                schema = look_at_schema(session)
                yield schema
                if schema.verdict is FAULT:
                    return
                yield look_at_clock(session)
                yield look_at_worker(session)
                yield look_at_keys(session)
                yield look_at_months(session)
                yield look_at_days(session)
                yield look_at_stored_secrets(settings, session)
                yield from look_at_endpoints(settings, session)
    except DBAPIError as error:
        yield Finding("database", FAULT, f"refused a statement: {describe_cause(error)}. Look at its log.")
    except EvenhandError as error:
        yield Finding("database", FAULT, str(error))


def look_at_disk(folder: Path) -> Finding:
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    sentence = f"{free / 2**30:.1f} GiB are free at {existing}."
    if free < MIN_FREE_BYTES:
        return Finding("disk", WARNING, f"{sentence} Make room: on a full disk nothing more is stored.")
    return Finding("disk", GOOD, sentence)


def look_at_secrets(settings: Settings) -> Finding:
    if settings.secret_key is not None:
        return Finding("secret key", GOOD, "is set by EVENHAND_SECRET_KEY.")
    file = settings.data_dir.absolute() / KEY_FILE
    if file.exists():
        return Finding("secret key", GOOD, f"is in {file}. Keep a copy of it elsewhere.")
    return Finding(
        "secret key",
        WARNING,
        f"is neither set nor in {file}. The service makes one at its start; keep a copy.",
    )


def look_at_schema(session: Session) -> Finding:
    revision, head = read_revision(session.connection()), newest_revision()
    if revision is None:
        return Finding(
            "schema", FAULT, "The database holds no Evenhand. Run evenhand migrate, or correct DATABASE_URL."
        )
    if revision == head:
        return Finding("schema", GOOD, f"{revision} is that of this version.")
    if is_newer(revision):
        return Finding(
            "schema",
            WARNING,
            f"{revision} is of a newer version. Finish the upgrade: start that version here, too.",
        )
    first = (
        f"evenhand migrate of commit {OLDEST_COMMIT}, then that of this version"
        if is_too_old(revision)
        else "evenhand migrate"
    )
    return Finding(
        "schema", FAULT, f"{revision} is older than {head}, which this version needs. Run {first}."
    )


def look_at_clock(session: Session) -> Finding:
    before = utc_now()
    theirs = session.scalar(text("SELECT clock_timestamp()"))
    skew = theirs - before - (utc_now() - before) / 2
    sentence = f"The clock of this machine differs from the database's by {abs(skew.total_seconds()):.1f} s."
    if abs(skew) > MAX_SKEW:
        return Finding("clock", WARNING, f"{sentence} Synchronise both with NTP.")
    return Finding("clock", GOOD, sentence)


def look_at_worker(session: Session) -> Finding:
    silent = session.scalar(text("SELECT now() - max(beat_at) FROM workers"))
    if silent is None:
        return Finding(
            "worker",
            FAULT,
            "No worker has ever answered. Start evenhand worker, or evenhand serve without --without-worker.",
        )
    sentence = f"The newest heartbeat is {silent.total_seconds():.0f} s old."
    if silent > timedelta(seconds=45):
        return Finding("worker", FAULT, f"{sentence} Nothing is checked: see the runbook, No worker answers.")
    return Finding("worker", GOOD, sentence)


def look_at_keys(session: Session) -> Finding:
    admins = session.scalar(text("SELECT count(*) FROM api_keys WHERE role = 'admin' AND revoked_at IS NULL"))
    people = session.scalar(text("SELECT count(*) FROM users WHERE role = 'admin' AND disabled_at IS NULL"))
    if admins + people == 0:
        return Finding(
            "keys", WARNING, "No key and no user may administer. Run evenhand keys create --role admin."
        )
    return Finding("keys", GOOD, f"{admins} admin keys and {people} admin users are in use.")


def look_at_months(session: Session) -> Finding:
    months = months_ahead(session, current_time(session))
    sentence = f"Records can be stored {months} months ahead."
    if months < MIN_MONTHS_AHEAD:
        return Finding(
            "months",
            WARNING,
            f"{sentence} A worker makes them every minute: look at its log for tick_failed.",
        )
    return Finding("months", GOOD, sentence)


def look_at_days(session: Session) -> Finding:
    """Returns how many ended days of checks are not added up."""
    now = current_time(session)
    waiting = waiting_days(session, today=now)
    if waiting.since is None:
        return Finding("days", GOOD, "All ended days of checks are added up.")
    sentence = (
        f"Ended days of checks that are not added up: {waiting.days:,} of {waiting.deployments:,} "
        "deployments,"
        f" the oldest changed at {waiting.changed_at:%Y-%m-%d %H:%M} UTC."
    )
    if now - waiting.since > MAX_DAY_WAIT:
        advice = (
            "Series of a year are slow until then. A worker adds up 300 a minute: look at its log for "
            "days_delayed."
        )
        return Finding("days", WARNING, f"{sentence} {advice}")
    return Finding("days", GOOD, sentence)


def look_at_stored_secrets(settings: Settings, session: Session) -> Finding:
    unreadable = find_unreadable(session, find_secret_box(settings))
    if unreadable:
        sentence = f"This key cannot read the stored secret of {name_first(unreadable)}."
        return Finding(
            "secrets", FAULT, f"{sentence} Set EVENHAND_SECRET_KEY to the key that it was encrypted with."
        )
    return Finding("secrets", GOOD, "All stored secrets can be read.")


def look_at_endpoints(settings: Settings, session: Session) -> Iterator[Finding]:
    policy = read_policy(settings)
    rows = session.execute(
        text(
            """SELECT d.id, d.endpoint->>'url' AS url, d.endpoint->>'uri' AS uri, f.failures, f.reason FROM deployments d
               LEFT JOIN endpoint_failures f ON f.deployment_no = d.no WHERE d.endpoint IS NOT NULL
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
