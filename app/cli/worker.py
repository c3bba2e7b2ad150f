"""`evenhand worker`: checks, in a process of their own; any number of them may run beside each other."""

import typer

from app.cli.startup import service_settings, stop_signal
from app.errors import SetupError
from app.schedule.worker import run_worker

command = typer.Typer(add_completion=False)


@command.command()
def worker() -> None:
    """Run checks for the service of the same DATABASE_URL."""
    settings = service_settings()
    if settings.database_url is None:
        raise SetupError("A worker of its own needs DATABASE_URL. On one machine `evenhand serve` runs one already.")
    run_worker(settings, stop_signal())
