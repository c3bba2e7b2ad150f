"""`evenhand migrate`."""

import typer

from .database import command_settings, open_database
from .database import migrate as bring_up_to_date

command = typer.Typer(add_completion=False)


@command.command()
def migrate() -> None:
    """Update the database's schema to this version. `evenhand serve` does it too; if both run at once, one
    waits.
    """
    with open_database(command_settings()) as database, database.refusals_named():
        bring_up_to_date(database)
        typer.echo("The database is up to date.")
