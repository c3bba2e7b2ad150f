"""What every command does first: read the settings, set up the log, mind the signals."""

import signal
import sys
import threading

from app.settings import Settings, load_settings
from app.telemetry.logs import configure_logging


def service_settings() -> Settings:
    """The settings of a process that runs for long, with its log set up.

    Raises:
        InvalidInput: a variable has a value that cannot be used.
    """
    settings = load_settings()
    configure_logging(settings.log_level)
    return settings


def command_settings() -> Settings:
    """The settings of a command that answers and ends: only warnings are logged, as its answer is its output.

    Raises:
        InvalidInput: a variable has a value that cannot be used.
    """
    settings = load_settings()
    configure_logging("WARNING")
    return settings


def stop_signal() -> threading.Event:
    """Set by Ctrl-C, by SIGTERM and by the end of the terminal. Call it from the main thread."""
    stop = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda _number, _frame: stop.set())
    return stop


def python_module(name: str, *arguments: str) -> tuple[str, ...]:
    """The command line that runs a module with this Python, seeing the same import path as we do."""
    return (sys.executable, *(["-P"] if sys.flags.safe_path else []), "-m", name, *arguments)
