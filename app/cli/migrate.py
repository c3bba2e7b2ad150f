"""`evenhand migrate`."""

import typer

from . import database as commands

command = typer.Typer(add_completion=False)


@command.command()
def migrate() -> None:
    """Update the database's schema to this version. `evenhand serve` does it too; if both run at once, one
    waits.
    """
    settings = commands.load_command_settings()
    with commands.open_database(settings) as database, database.refusals_named():
        commands.migrate(database)
        typer.echo("The database is up to date.")
