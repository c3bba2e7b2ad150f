"""The first steps of every command: settings, log, signals, and the database, maybe embedded."""

import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from queue import SimpleQueue

import structlog
from sqlalchemy.orm import Session

from ..base.clock import utc_now
from ..base.errors import SetupError
from ..base.settings import Settings, load_settings
from ..base.telemetry.json_logs import configure_logging
from ..database.embedded.embedded_server import embedded_postgres
from ..database.engine import Database, name_address
from ..database.migrations import read_revision, upgrade
from ..database.partitions import ensure_coming_months
from ..deployments.listed_file_queries import find_deployments_with_jdbc_tables
from ..domain.deployment import NOT_READ

NICENESS = 5
"""Of a worker, so that the API comes first."""

log = structlog.get_logger(__name__)


def load_service_settings() -> Settings:
    settings = load_settings()
    configure_logging(settings.log_level)
    return settings


def load_command_settings() -> Settings:
    settings = load_settings()
    configure_logging("WARNING")
    return settings


def lower_priority() -> None:
    os.nice(NICENESS)


def spare_loaded_objects() -> None:
    """Scanning all that is loaded for garbage causes most of the slowest answers."""
    gc.freeze()


def build_stop_signal() -> threading.Event:
    """Ctrl-C, SIGTERM and the end of the terminal set it. Call it from the main thread."""
    stop = threading.Event()
    received = SimpleQueue[int]()

    def wait_for_signal() -> None:
        received.get()
        stop.set()

    # A handler interrupts the main thread anywhere, also where it holds the lock of `stop`: setting it there
    # would never return.
    threading.Thread(target=wait_for_signal, name="signals", daemon=True).start()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda number, _frame: received.put(number))
    return stop


def build_module_command(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, *(["-P"] if sys.flags.safe_path else []), "-m", name, *arguments)


@contextlib.contextmanager
def open_ready_database(settings: Settings) -> Iterator[Database]:
    """Opens the database, migrated. An embedded one that does not run is started and, after the block,
    stopped.

    Raises SetupError.
    """
    with open_database(settings) as database, database.refusals_named():
        require_tables(database)
        migrate(database)
        yield database


@contextlib.contextmanager
def open_ready_session() -> Iterator[Session]:
    with open_ready_database(load_command_settings()) as database, database.transaction() as session:
        yield session


@contextlib.contextmanager
def open_database(settings: Settings, *, creates: bool = False) -> Iterator[Database]:
    """An embedded one is created only if the command `creates` one."""
    with contextlib.ExitStack() as stack:
        if settings.database_url is not None:
            url = settings.database_url.get_secret_value()
        else:
            url = stack.enter_context(embedded_postgres(settings.data_dir, creates=creates))
        # The stack closes it before it stops an embedded server.
        database = stack.enter_context(contextlib.closing(Database(url, pool_size=1)))
        yield database


def require_tables(database: Database) -> None:
    """Raises SetupError without tables: most likely the command was meant for another database."""
    with database.operator_connection() as connection:
        if read_revision(connection) is None:
            raise SetupError(
                f"The database {name_address(database.url)} holds no Evenhand yet. Name the one of the "
                "service in DATABASE_URL, or make the tables with evenhand migrate (evenhand serve does it "
                "too)."
            )


def migrate(database: Database) -> None:
    upgrade(database)
    with database.transaction() as session:
        ensure_coming_months(session, utc_now())


def warn_of_foreign_tables(database: Database) -> None:
    with database.transaction() as session:
        deployment_ids = find_deployments_with_jdbc_tables(session)
    if deployment_ids:
        log.warning(
            "deployments_not_checked",
            deployments=deployment_ids,
            reason=f"the payload or feedback of each {NOT_READ}",
        )
