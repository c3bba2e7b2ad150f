"""Command lines that tie a program's life to ours. The work is done by `launch.py`, in the new process."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from app.embedded.account import Account

LAUNCHER = Path(__file__).with_name("launch.py")


def tied_command(command: Sequence[str], death_signal: signal.Signals, account: Account | None = None) -> list[str]:
    """The command line of `command` (its first item a path) that gets `death_signal` when the starting thread ends.

    As another `account` where one is given, which only root may ask for. The program takes over the process, so its id and
    exit status are the program's own.
    """
    who = "-" if account is None else f"{account.uid}:{account.gid}"
    return [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), str(int(death_signal)), who, *command]
