"""`evenhand archives`: moves months of records to Parquet files and back, and lists them."""

from pathlib import Path
from typing import Annotated

import typer

from ..domain.archives import ArchiveState, CalendarMonth, MonthArchive
from ..errors import InvalidInput, NotFound
from ..retention.archiving import bring_back as bring_month_back
from ..retention.archiving import drop_emptied, store_month
from ..store.checks.checks import current_time
from ..store.database.engine import Database
from ..store.retention.archives import MonthPlace, alone, deployments_with_month, find_archives, months_past_retention
from ..store.retention.warmth import find_shortage
from .database import ready_database
from .keys import deployment_no
from .startup import command_settings, lower_priority

command = typer.Typer(no_args_is_help=True, add_completion=False, help="Move months of records to files and back.")

_Month = Annotated[str, typer.Option("--month", help="The month in UTC, such as 2026-03.")]
_Deployment = Annotated[str | None, typer.Option("--deployment", help="Id of one deployment; left out for all.")]


@command.command()
def store(
    month: _Month,
    to: Annotated[Path, typer.Option("--to", help="Folder for the files, which must be in your backups.")],
    deployment: _Deployment = None,
) -> None:
    """Move a month of records, their labels and stored answers from the database to files. Again, it goes on where it ended."""
    wanted = _read_month(month)
    with ready_database(command_settings()) as database, alone(database):
        lower_priority()
        with database.transaction() as session:
            names = deployments_with_month(session, wanted) if deployment is None else [deployment]
            away = {one.deployment_id for one in find_archives(session, wanted) if one.state is ArchiveState.STORED}
            numbers = {name: deployment_no(session, name) for name in names}
        if not names and not away:
            raise NotFound("record in the database of", month)
        for name in sorted(set(names) | (away if deployment is None else set())):
            if name in away:
                typer.echo(f"{month} of {name} lies in files already. Late records of it stay in the database until it is brought back.")
            else:
                _store_one(database, MonthPlace(numbers[name], wanted), to)
        if not drop_emptied(database, wanted):
            _say_not_dropped(database, wanted)


@command.command(name="bring-back")
def bring_back(
    month: _Month,
    source: Annotated[Path | None, typer.Option("--from", help="The folder of --to, if it is in another place now.")] = None,
    deployment: _Deployment = None,
) -> None:
    """Move a month from its files back into the database. The files stay; delete them afterwards."""
    wanted = _read_month(month)
    with ready_database(command_settings()) as database, alone(database):
        lower_priority()
        with database.transaction() as session:
            no = None if deployment is None else deployment_no(session, deployment)
            found = find_archives(session, wanted, deployment_no=no)
        if not found:
            raise NotFound("stored month", f"{month}; evenhand archives list names those that there are")
        for archive in found:
            if archive.state is not ArchiveState.STORED:
                typer.echo(f"{month} of {archive.deployment_id} is in the database already.")
                continue
            back = bring_month_back(database, MonthPlace(archive.deployment_no, wanted), source)
            left_out = f" Records and labels of erased people that were left out: {back.erased:,}." if back.erased else ""
            again = f" Labels that were sent again meanwhile, of which the first counts: {back.sent_again:,}." if back.sent_again else ""
            typer.echo(f"{_describe(back.archive)}{left_out}{again} Nothing reads the files any more: delete them.")


@command.command(name="list")
def list_archives() -> None:
    """Print each month that is in files, or was: its state, counts and folder, oldest first."""
    with ready_database(command_settings()) as database, database.transaction() as session:
        aged = {(one.month, one.deployment_id) for one in months_past_retention(session, current_time(session))}
        for archive in find_archives(session):
            past = " Past its retention: bring it back, run evenhand retention run, delete the files."
            typer.echo(_describe(archive) + (past if (archive.month, archive.deployment_id) in aged else ""))


def _store_one(database: Database, place: MonthPlace, folder: Path) -> None:
    stored = store_month(database, place, folder)
    typer.echo(_describe(stored))
    with database.transaction() as session:
        shortage = find_shortage(session, place, has_labels=stored.count("feedback_records") > 0)
    if shortage is not None:
        typer.echo(
            f"Only {shortage}. Checks of {stored.deployment_id} that look for earlier ones fail until more have come or the month is back.",
            err=True,
        )


def _describe(archive: MonthArchive) -> str:
    states = {
        ArchiveState.STORING: "is in the database, and its files are not complete: run evenhand archives store again; begun",
        ArchiveState.STORED: "lies in files since",
        ArchiveState.BACK: "is in the database again since",
    }
    counts = {"records": "payload_records", "labels": "feedback_records", "answers": "counterfactuals"}
    rows = ", ".join(f"{archive.count(table):,} {words}" for words, table in counts.items())
    since = f"{archive.changed_at:%Y-%m-%d %H:%M} UTC"
    held = f": {rows}" if archive.tables and archive.state is not ArchiveState.STORING else ""
    where = "from" if archive.state is ArchiveState.BACK else "in"
    return f"{archive.month} of {archive.deployment_id} {states[archive.state]} {since}{held}, {where} {archive.folder}."


def _say_not_dropped(database: Database, month: CalendarMonth) -> None:
    with database.transaction() as session:
        left = deployments_with_month(session, month)
    if left:
        typer.echo(f"The database still holds records of {month} of {', '.join(left)}.")
    else:
        typer.echo(
            f"The emptied partition of {month} could not be dropped, because the log was in use all the time. Run the command again"
            " when less is read; nothing else is left to do.",
            err=True,
        )


def _read_month(text: str) -> CalendarMonth:
    month = CalendarMonth.read(text)
    if month is None:
        raise InvalidInput.of("--month", f"must be a year and a month such as 2026-03, found {text!r:.40}")
    return month
