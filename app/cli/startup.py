"""The first steps of every command: settings, log, signals."""

import gc
import os
import signal
import sys
import threading
from queue import SimpleQueue

from ..settings import Settings, load_settings
from ..telemetry.logs import configure_logging

NICENESS = 5


def service_settings() -> Settings:
    settings = load_settings()
    configure_logging(settings.log_level)
    return settings


def command_settings() -> Settings:
    settings = load_settings()
    configure_logging("WARNING")
    return settings


def lower_priority() -> None:
    os.nice(NICENESS)


def spare_loaded_objects() -> None:
    """Exempts the objects loaded by now from garbage collection: scanning them causes most of the slowest answers."""
    gc.freeze()


def stop_signal() -> threading.Event:
    """Returns an event that Ctrl-C, SIGTERM and the end of the terminal set. Call it from the main thread."""
    stop, received = threading.Event(), SimpleQueue[int]()

    def wait_for_signal() -> None:
        received.get()
        stop.set()

    # A handler interrupts the main thread anywhere, also where it holds the lock of `stop`: setting it there would never return.
    threading.Thread(target=wait_for_signal, name="signals", daemon=True).start()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda number, _frame: received.put(number))
    return stop


def python_module(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, *(["-P"] if sys.flags.safe_path else []), "-m", name, *arguments)
