"""`evenhand restore`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer, echo

from ..access.secret_box import KEY_FILE, find_secret_box
from ..base.errors import Conflict, SetupError
from ..base.values import join_first
from ..database.embedded.dumps import list_dumped_tables, load_dump, read_dumped_rows
from ..database.engine import name_address
from ..database.migrations import OLDEST_COMMIT, is_newer, is_too_old
from ..database.reseal import find_unreadable
from ..database.restore import count_other_connections, is_empty, write_statements_before_restore
from .database import load_command_settings, migrate, open_database

command = Typer(add_completion=False)


@command.command()
def restore(
    file: Annotated[Path, Argument(metavar="FILE", help="File that `evenhand backup` wrote.")],
    replace: Annotated[  # noqa: FBT002 - typer's way to declare a flag
        bool, Option("--replace", help="Delete everything in the database first. It cannot be recovered.")
    ] = False,
) -> None:
    """Load a backup into an empty database, completely or not at all. Stop the service and its workers
    first.
    """
    settings = load_command_settings()
    _require_backup(file)
    with open_database(settings, creates=True) as database:
        with database.operator_connection() as connection:
            is_database_empty = is_empty(connection)
            connections = count_other_connections(connection)
        address = name_address(database.url)
        if not (is_database_empty or replace):
            raise Conflict(
                f"The database {address} is not empty. Restore into another one, or delete what it holds "
                "with --replace."
            )
        if connections:
            raise Conflict(
                f"{connections} other connections use the database {address}. Stop the service and every "
                "worker, then restore."
            )

        load_dump(file, database.url, first=write_statements_before_restore(clears=replace))
        migrate(database)
        with database.transaction() as session:
            unreadable = find_unreadable(session, find_secret_box(settings))
    echo(f"{file} is restored, and the database is up to date.")
    if unreadable:
        echo(
            f"This installation's secret key cannot read the stored secret of {join_first(unreadable)}. "
            "Before you start the service, set EVENHAND_SECRET_KEY to the key of the installation that was "
            f"backed up, or put its {KEY_FILE} at {settings.data_dir.absolute() / KEY_FILE}.",
            err=True,
        )


def _require_backup(file: Path) -> None:
    if not file.is_file():
        raise SetupError(f"There is no file {file}.")
    if "alembic_version" not in list_dumped_tables(file):
        raise SetupError(
            f"{file} is not a backup of Evenhand: it is a dump of another database. Name a file that "
            "evenhand backup wrote."
        )
    for revision in read_dumped_rows(file, "alembic_version"):
        if is_newer(revision):
            raise SetupError(
                f"{file} has the schema {revision}, of a newer version of Evenhand. Restore it with that "
                "one; nothing was changed."
            )
        if is_too_old(revision):
            raise SetupError(
                f"{file} has the schema {revision}, of an early version of Evenhand. Restore it with commit "
                f"{OLDEST_COMMIT} and make a new backup; nothing was changed."
            )
