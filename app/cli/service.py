"""The whole service under one supervisor: database, API, worker and whatever a caller adds (the worked example does)."""

import contextlib
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence

import structlog

from app.cli.children import ChildSpec
from app.cli.database import migrate
from app.cli.startup import python_module
from app.cli.supervisor import Supervisor
from app.embedded import EmbeddedPostgres
from app.errors import SetupError
from app.security.secrets import open_secret_box
from app.settings import Settings
from app.store.deployments import Deployments
from app.store.engine import Database
from app.telemetry.metrics import SHARED_FOLDER

BACKLOG = 2048

log = structlog.get_logger()


def run_service(
    settings: Settings,
    stop: threading.Event,
    *,
    with_worker: bool = True,
    companions: Callable[[str], Sequence[ChildSpec]] = lambda _url: (),
    say: Callable[[Database], None] = lambda _database: None,
) -> None:
    """Run until `stop` is set; then nothing that was started is left.

    `say` is called with the migrated database before anything serves; `companions` gives, for the database's URL, further
    processes to run beside the service. Call it from the main thread.

    Raises:
        SetupError: the address is taken, the database does not start, or stored secrets were encrypted with another key.
        Unavailable: the database of DATABASE_URL does not answer.
    """
    with _listening(settings.host, settings.port) as listener, tempfile.TemporaryDirectory(prefix="evenhand-counters-") as counters:
        postgres = None if settings.database_url else EmbeddedPostgres(settings.data_dir)
        try:
            url = _url(settings, postgres)
            _prepare(url, settings, say)
            shared = {"DATABASE_URL": url, SHARED_FOLDER: counters}
            specs = [
                ChildSpec(
                    name="api",
                    command=python_module("app.cli.api_process", str(listener.fileno())),
                    environment=shared,
                    inherited_files=(listener.fileno(),),
                ),
                *([ChildSpec(name="worker", command=python_module("app.cli", "worker"), environment=shared)] if with_worker else []),
                *companions(url),
            ]
            Supervisor(specs, foundation=postgres).run(stop)
        finally:
            if postgres is not None:
                postgres.stop()


def _url(settings: Settings, postgres: EmbeddedPostgres | None) -> str:
    if postgres is not None:
        return postgres.start()
    return settings.database_url.get_secret_value() if settings.database_url else ""


def _prepare(url: str, settings: Settings, say: Callable[[Database], None]) -> None:
    database = Database(url, pool_size=1)
    try:
        migrate(database)
        with database.transaction() as session:
            # Now, and once: the API would find it out too, but only to die and be started again for ever.
            Deployments(session, open_secret_box(settings)).verify_sealer()
        say(database)
    finally:
        database.close()


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Ours rather than the API's: a taken port is told at once, and callers wait in the queue while the API starts again."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise SetupError(f"Cannot listen on {host}:{port}: {error.strerror}. Set EVENHAND_HOST or EVENHAND_PORT.") from error
    with listener:
        yield listener
