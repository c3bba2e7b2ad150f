"""`evenhand example`: the whole service, a model next to it, and a story about the two."""

import contextlib
import os
import queue
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Exit, Option, Typer

from ...base.errors import EvenhandError, SetupError
from ...base.settings import Settings
from ..database import python_module, service_settings, stop_signal
from ..service.children import ChildSpec
from ..service.service import reachable_host, run_service
from .story import Stopped
from .example_key import fresh_key, revoke_keys
from .model_address import SERVER, model_listener
from .performance import Performance

LOG_FILE = "example.log"
MODEL_HOST = "127.0.0.1"

command = Typer(add_completion=False)


@command.command()
def example(
    *,
    once: Annotated[
        bool,
        Option(
            "--once",
            help="Show the results, stop everything and exit, with status 1 if there are no results.",
        ),
    ] = False,
    hours: Annotated[int, Option(min=1, max=168, help="Hours of history to create.")] = 72,
) -> None:
    """Run the service with an example: a credit-risk model, its traffic and its checks. Ctrl-C stops
    everything, the next run continues.
    """
    settings = service_settings()
    stop = stop_signal()
    console = Console(highlight=False)
    host = reachable_host(settings.host)
    service_url = f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
    with _log_to_file(settings.data_dir) as log, model_listener(settings.data_dir) as listener:
        performance = Performance(
            console=console,
            stop=stop,
            service_url=service_url,
            model_url=f"http://{MODEL_HOST}:{listener.getsockname()[1]}",
            log=log,
        )
        try:
            finished = _run_story(settings, stop, performance, listener, hours=hours, once=once)
        except EvenhandError:
            console.print(f"The example failed. The log is {log}.")
            raise
    console.print("Everything has stopped.")
    raise Exit(1 if once and not finished else 0)


def _run_story(
    settings: Settings,
    stop: threading.Event,
    performance: Performance,
    listener: socket.socket,
    *,
    hours: int,
    once: bool,
) -> bool:
    keys = queue.SimpleQueue[str]()
    file = listener.fileno()
    model = ChildSpec(name="model", command=python_module(SERVER, str(file)), inherited_files=(file,))
    # An allow-list, or a service that other machines reach, would refuse loopback.
    must_allow_model = settings.exposed_on is not None or settings.allowed_endpoints
    environment = (
        {"EVENHAND_ENDPOINT_ALLOWLIST": ",".join((*settings.allowed_endpoints, MODEL_HOST))}
        if must_allow_model
        else {}
    )

    # The supervisor's children end with the thread that starts them, so that must be the main one.
    with ThreadPoolExecutor(max_workers=1) as pool:
        finished = pool.submit(performance.run, keys, hours, once=once)
        finished.add_done_callback(lambda _: stop.set())
        try:
            run_service(
                settings,
                stop,
                companions=lambda _url: [model],
                prepare=lambda database: keys.put(fresh_key(database)),
                conclude=revoke_keys,
                environment=environment,
            )
        finally:
            stop.set()
            listener.close()
    try:
        finished.result()
    except Stopped:
        return False
    return True


@contextlib.contextmanager
def _log_to_file(folder: Path) -> Iterator[Path]:
    path = folder / LOG_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        log = path.open("ab")
    except OSError as error:
        raise SetupError(
            f"The data folder {folder} cannot be used: {error}. Set EVENHAND_DATA_DIR to another one."
        ) from error
    with contextlib.ExitStack() as ends:
        terminal = ends.enter_context(
            os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding)
        )
        with log:
            for stream in (sys.stdout, sys.stderr):
                descriptor = os.dup(stream.fileno())
                ends.callback(os.close, descriptor)
                ends.callback(os.dup2, descriptor, stream.fileno())
                os.dup2(log.fileno(), stream.fileno())
        ends.enter_context(contextlib.redirect_stdout(terminal))
        yield path
