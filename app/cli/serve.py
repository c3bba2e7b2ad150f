"""`evenhand serve`: everything in one command."""

from typing import Annotated

import typer

from app.cli.service import run_service
from app.cli.startup import service_settings, stop_signal
from app.settings import Settings
from app.store.api_keys import ApiKeys
from app.store.engine import Database

command = typer.Typer(add_completion=False)


@command.command()
def serve(
    *,
    without_worker: Annotated[bool, typer.Option("--without-worker", help="Run no checks here; run `evenhand worker` elsewhere.")] = False,
) -> None:
    """Run the service, its scheduler and its worker; without DATABASE_URL also a Postgres of its own in the data folder."""
    settings = service_settings()
    run_service(
        settings,
        stop_signal(),
        with_worker=not without_worker,
        say=lambda database: _greet(settings, database),
    )


def _greet(settings: Settings, database: Database) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    typer.echo(f"Evenhand listens on http://{host}:{settings.port} (API documentation: /docs). Ctrl-C stops it.")
    with database.transaction() as session:
        has_keys = bool(ApiKeys(session).page(after_no=0, limit=1))
    if not has_keys:
        typer.echo("There is no API key yet. Make one in another terminal: evenhand keys create --role admin")
