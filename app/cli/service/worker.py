"""`evenhand worker`."""

import typer

from ... import VERSION
from ...base.errors import SetupError
from ...base.telemetry.prometheus import serve_counters
from ...base.telemetry.traces import tracing
from ...calls.egress_policy import read_policy
from ...database.migrations import require_no_months_in_files, require_suitable
from ...worker.worker import run_worker
from ..database import (
    build_stop_signal,
    load_service_settings,
    lower_priority,
    open_database,
    spare_loaded_objects,
)

command = typer.Typer(add_completion=False)


@command.command()
def worker() -> None:
    """Run checks, and send alerts, for the service with the same DATABASE_URL."""
    settings = load_service_settings()
    if settings.database_url is None:
        raise SetupError(
            "`evenhand worker` needs DATABASE_URL. On one machine `evenhand serve` already runs a worker."
        )
    # A wrong address is reported at the start; a database that goes away later is waited for.
    with open_database(settings) as database:
        require_suitable(database)
        with database.operator_connection() as connection:
            require_no_months_in_files(connection)
    lower_priority()
    spare_loaded_objects()
    traces = tracing("worker", version=VERSION, is_own=read_policy(settings).is_own)
    with serve_counters(settings.metrics_host, settings.metrics_port), traces:
        run_worker(settings, build_stop_signal())
