"""`evenhand example`: the whole service, a model beside it, and a story told about the two."""

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

import typer
from rich.console import Console

from app.cli.children import ChildSpec
from app.cli.service import run_service
from app.cli.startup import python_module, service_settings, stop_signal
from app.errors import EvenhandError, SetupError
from app.example.client import Stopped
from app.example.keys import fresh_key
from app.example.model_server import model_listener
from app.example.performance import Performance
from app.settings import Settings

LOG_FILE = "example.log"
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - looked up, not bound

command = typer.Typer(add_completion=False)


@command.command()
def example(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Show the results, stop everything and end; status 1 if it did not come to that.")
    ] = False,
    hours: Annotated[int, typer.Option(min=1, max=168, help="How many hours of history to make.")] = 72,
) -> None:
    """Run the service with a credit-risk model, its traffic and its checks. Ctrl-C stops everything; the next run goes on from there."""
    settings = service_settings()
    stop = stop_signal()
    console = Console(highlight=False)
    with _log_file(settings.data_dir) as log, model_listener(settings.data_dir) as listener:
        model_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        performance = Performance(console, stop, service_url=_service_url(settings), model_url=model_url, log=log)
        try:
            told = _run(settings, stop, performance, listener, hours=hours, once=once)
        except EvenhandError:
            console.print(f"It did not work out. The log is {log}.")
            raise
    console.print("Everything has stopped.")
    raise typer.Exit(1 if once and not told else 0)


def _run(settings: Settings, stop: threading.Event, performance: Performance, listener: socket.socket, *, hours: int, once: bool) -> bool:
    """Runs everything until it is stopped; whether the story was told to its end."""
    keys: queue.SimpleQueue[str] = queue.SimpleQueue()
    model = ChildSpec(
        name="model",
        command=python_module("app.example.model_server", str(listener.fileno())),
        inherited_files=(listener.fileno(),),
    )
    # The story is told from a thread: what the supervisor starts ends with the thread that starts it, so that must be the main one.
    with ThreadPoolExecutor(max_workers=1) as pool:
        told = pool.submit(performance.run, keys, hours, once=once)
        told.add_done_callback(lambda _: stop.set())
        try:
            run_service(settings, stop, companions=lambda _url: [model], say=lambda database: keys.put(fresh_key(database)))
        finally:
            stop.set()
            listener.close()  # whoever still waits to be let in is told that nobody will come
    try:
        told.result()
    except Stopped:
        return False
    return True


@contextlib.contextmanager
def _log_file(folder: Path) -> Iterator[Path]:
    """Everything that is logged, here and in child processes, goes into a file: the terminal is for the story."""
    path = folder / LOG_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        log = path.open("ab")
    except OSError as error:
        raise SetupError(f"The data folder {folder} cannot be used: {error}. Set EVENHAND_DATA_DIR to another one.") from error
    terminal = os.dup(sys.stderr.fileno())
    try:
        with log:
            os.dup2(log.fileno(), sys.stderr.fileno())
        yield path
    finally:
        os.dup2(terminal, sys.stderr.fileno())
        os.close(terminal)


def _service_url(settings: Settings) -> str:
    host = EVERYWHERE.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
