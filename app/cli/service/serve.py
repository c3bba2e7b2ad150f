"""`evenhand serve`."""

import contextlib
import shlex
import socket
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import structlog
import typer

from ...access.keys.queries import page_keys
from ...access.secret_box import open_secret_box
from ...base.errors import SetupError
from ...base.settings import Settings
from ...base.telemetry.prometheus import SHARED_FOLDER
from ...database.embedded.embedded_server import EmbeddedPostgres
from ...database.engine import Database
from ...deployments.queries import Deployments
from ...domain.paging import Paging
from ..database import (
    build_module_command,
    build_stop_signal,
    load_service_settings,
    migrate,
    warn_of_foreign_tables,
)
from .supervisor import ChildSpec, Supervisor

MAX_WAITING_CONNECTIONS = 2048
"""Of a socket, while no process accepts them."""

READY_POLL_SECONDS = 0.05

READY_TIMEOUT_SECONDS = 5.0

_LOOPBACK_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - looked up, not bound

_COMMAND_PACKAGE = __package__.rpartition(".")[0]

log = structlog.get_logger()


def run_service(
    settings: Settings,
    stop: threading.Event,
    *,
    with_worker: bool = True,
    companions: Sequence[ChildSpec] = (),
    prepare: Callable[[Database], None] = lambda _database: None,
    conclude: Callable[[Database], None] = lambda _database: None,
    greet: Callable[[], None] = lambda: None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Runs the service until `stop`; then every process that was started has ended. Call it from the main
    thread.

    `prepare` is called with the migrated database before the service starts, `conclude` after it has ended,
    `greet` once it is ready. `companions` are further processes; `environment` is for all processes.
    """
    with (
        open_listeners(settings.host, settings.port, processes=settings.api_processes) as listeners,
        tempfile.TemporaryDirectory(prefix="evenhand-counters-") as counters,
    ):
        postgres = None if settings.database_url else EmbeddedPostgres(settings.data_dir)
        try:
            if postgres is not None:
                url = postgres.start()
            else:
                url = "" if settings.database_url is None else settings.database_url.get_secret_value()
            with contextlib.closing(Database(url, pool_size=1)) as database:
                migrate(database)
                with database.transaction() as session:
                    # The API would find this error, too, but die of it, and be started again and again.
                    Deployments(session, open_secret_box(settings)).verify_sealer()
                warn_of_foreign_tables(database)
                prepare(database)
            environment_of_all = {"DATABASE_URL": url, SHARED_FOLDER: counters, **environment}
            worker_environment = environment_of_all | {"EVENHAND_METRICS_PORT": "0"}
            worker = ChildSpec(
                name="worker",
                command=build_module_command(_COMMAND_PACKAGE, "worker"),
                environment=worker_environment,
            )
            specs = [
                *list_api_specs(listeners, environment=environment_of_all),
                *([worker] if with_worker else []),
                *companions,
            ]
            try:
                with _greet_when_ready(settings, stop, greet):
                    Supervisor(specs, foundation=postgres).run(stop)
            finally:
                with contextlib.closing(Database(url, pool_size=1)) as database:
                    conclude(database)
        finally:
            if postgres:
                postgres.stop()


def list_api_specs(listeners: Sequence[socket.socket], *, environment: Mapping[str, str]) -> list[ChildSpec]:
    return [
        ChildSpec(
            name="api" if len(listeners) == 1 else f"api-{number}",
            command=build_module_command(f"{__package__}.api_process", str(listener.fileno())),
            environment=environment,
            inherited_files=(listener.fileno(),),
        )
        for number, listener in enumerate(listeners, 1)
    ]


@contextlib.contextmanager
def _greet_when_ready(settings: Settings, stop: threading.Event, greet: Callable[[], None]) -> Iterator[None]:
    def wait_and_greet() -> None:
        while not _is_ready(settings):
            if stop.wait(READY_POLL_SECONDS):
                return
        greet()

    thread = threading.Thread(target=wait_and_greet, name="greeting")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _is_ready(settings: Settings) -> bool:
    connection = HTTPConnection(
        find_reachable_host(settings.host), settings.port, timeout=READY_TIMEOUT_SECONDS
    )
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def find_reachable_host(host: str) -> str:
    return _LOOPBACK_HOSTS.get(host, host)


@contextlib.contextmanager
def open_listeners(host: str, port: int, *, processes: int) -> Iterator[list[socket.socket]]:
    """Yields a socket for each of the processes, all on one address, among which the system spreads
    connections. `::` is IPv4 as well.

    The supervisor opens them, so that a taken port is reported at once, and callers wait while a process
    starts again.
    """
    with contextlib.ExitStack() as stack:
        try:
            family, _, _, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            is_dual = host == "::" and socket.has_dualstack_ipv6()
            listen = partial(
                socket.create_server, family=family, backlog=MAX_WAITING_CONNECTIONS, dualstack_ipv6=is_dual
            )
            first = stack.enter_context(listen(address[:2]))
            listeners = [first]
            if processes > 1:
                # The first socket shows that the address is free: these sockets could share it with another
                # service of several processes.
                address = first.getsockname()
                first.close()
                listeners = [
                    stack.enter_context(listen(address[:2], reuse_port=True)) for _ in range(processes)
                ]
        except OSError as error:
            raise SetupError(
                f"Cannot listen on {host}:{port}: {error.strerror}. Set EVENHAND_HOST or EVENHAND_PORT."
            ) from error
        yield listeners


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
    settings = load_service_settings()
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
        build_stop_signal(),
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
    condition = ", with the same DATABASE_URL"
    if settings.database_url is None:
        condition = ""
        command_line = f"EVENHAND_DATA_DIR={shlex.quote(str(settings.data_dir.absolute()))} {command_line}"
    return [f"There is no API key yet. Create one in another terminal{condition}:", f"    {command_line}"]
