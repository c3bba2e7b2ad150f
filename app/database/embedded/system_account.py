"""Account that the server runs as, the paths it can reach, and commands that end with us, by `launch.py`.

Changes no permissions.
"""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog

from ...base.errors import SetupError
from ...base.values import frozen

OWN_NAME = "evenhand"
ACCOUNT_NAMES = (OWN_NAME, "postgres")

NOBODY = "nobody"
"""Never runs the server: several programs run as it, and each could read the others' data."""

LAUNCHER = Path(__file__).with_name("launch.py")

log = structlog.get_logger()


@frozen
class Account:
    uid: int
    gid: int

    @property
    def name(self) -> str:
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)

    def can_reach(self, path: Path) -> bool:
        return all(self._grants(parent, stat.S_IXUSR) for parent in path.parents)

    def can_use(self, path: Path) -> bool:
        mode = stat.S_IRUSR | (stat.S_IXUSR if path.is_dir() or path.parent.name == "bin" else 0)
        return self.can_reach(path) and self._grants(path, mode)

    def _grants(self, path: Path, mode: int) -> bool:
        status = path.stat()
        if status.st_uid == self.uid:
            shift = 0
        elif status.st_gid == self.gid:
            shift = 3
        else:
            shift = 6
        return status.st_mode & (mode >> shift) == mode >> shift


def read_current_account() -> Account:
    return Account(os.geteuid(), os.getegid())


def find_unprivileged_account() -> Account:
    existing = next((account for account in map(_find_account, ACCOUNT_NAMES) if account is not None), None)
    if existing is not None:
        return existing

    reason = "there is no useradd"
    program = shutil.which("useradd")
    if program is not None:
        command = [
            program,
            "--system",
            "--user-group",
            "--no-create-home",
            "--home-dir=/nonexistent",
            "--shell=/usr/sbin/nologin",
            OWN_NAME,
        ]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own arguments
        reason = ended.stderr.strip()

    # Another process may have created it in this moment.
    created = _find_account(OWN_NAME)
    if created is None:
        raise SetupError(
            f"Postgres does not run as root, and no account for it could be created: {reason}. Create one "
            f"named {OWN_NAME}, or run as an ordinary user."
        )
    log.warning("account_created", account=OWN_NAME, reason="Postgres does not run as root")
    return created


def is_nobody(account: Account) -> bool:
    shared = _find_account(NOBODY)
    return shared is not None and account.uid == shared.uid


def _find_account(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_uid, entry.pw_gid)


def build_tied_command(
    command: Sequence[str], death_signal: signal.Signals, account: Account | None = None
) -> list[str]:
    """Builds a command whose process gets `death_signal` when the starting thread ends.

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
