"""Command lines that tie a program's life to ours, by `launch.py`."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from .system_account import Account

LAUNCHER = Path(__file__).with_name("launch.py")


def tied_command(
    command: Sequence[str], death_signal: signal.Signals, account: Account | None = None
) -> list[str]:
    """Sends `death_signal` when the starting thread ends.

    Only root may request an `account`. Process id and exit status are the program's own.
    """
    return [
        sys.executable,
        "-I",
        "-S",
        str(LAUNCHER),
        str(os.getpid()),
        str(int(death_signal)),
        "-" if account is None else f"{account.uid}:{account.gid}",
        *command,
    ]
