"""`evenhand serve`."""

import shlex
import sysconfig
from pathlib import Path
from typing import Annotated

import typer

from ...access.keys.queries import page_keys
from ...base.settings import Settings
from ...database.engine import Database
from ...domain.paging import Paging
from ..database import service_settings, stop_signal
from .service import run_service

command = typer.Typer(add_completion=False)


@command.command()
def serve(
    *,
    without_worker: Annotated[
        bool, typer.Option("--without-worker", help="Run no checks here: start `evenhand worker` elsewhere.")
    ] = False,
) -> None:
    """Run the service with its scheduler and a worker. Without DATABASE_URL, also run a Postgres of its
    own in the data folder.
    """
    settings = service_settings()
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    data = "" if settings.database_url is not None else f" Its data folder is {settings.data_dir.absolute()}."
    greeting = [
        (
            f"Evenhand listens on http://{host}:{settings.port} (API documentation: /docs).{data} Ctrl-C stops "
            "it."
        )
    ]
    run_service(
        settings,
        stop_signal(),
        with_worker=not without_worker,
        prepare=lambda database: greeting.extend(_explain_first_key(settings, database)),
        greet=lambda: typer.echo("\n".join(greeting)),
    )


def _explain_first_key(settings: Settings, database: Database) -> list[str]:
    with database.transaction() as session:
        if page_keys(session, Paging(1)):
            return []
    launcher = Path(sysconfig.get_path("scripts"), "evenhand")
    command_line = (
        f"{shlex.quote(str(launcher)) if launcher.exists() else 'evenhand'} keys create --role admin"
    )
    if settings.database_url is not None:
        return [
            "There is no API key yet. Create one in another terminal, with the same DATABASE_URL:",
            f"    {command_line}",
        ]
    data_dir = shlex.quote(str(settings.data_dir.absolute()))
    return [
        "There is no API key yet. Create one in another terminal:",
        f"    EVENHAND_DATA_DIR={data_dir} {command_line}",
    ]
