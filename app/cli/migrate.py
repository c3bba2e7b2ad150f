"""`evenhand migrate`: the database's schema, before a new version starts."""

import typer

from app.cli.database import ready_database
from app.cli.startup import command_settings

command = typer.Typer(add_completion=False)


@command.command()
def migrate() -> None:
    """Bring the database to this version's schema. `serve` does it too; two at once wait for each other."""
    with ready_database(command_settings()):
        typer.echo("The database is up to date.")
