"""The operating-system account that the server runs as, and what that account can reach. Changes no permissions."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from app.errors import SetupError

PREFERRED_NAMES = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """A user and its main group; the server keeps no other groups."""

    uid: int
    gid: int

    @property
    def name(self) -> str:
        """The account's name, or its number where it has none."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)

    def can_reach(self, path: Path) -> bool:
        """Whether every folder above `path` (which exists or not) lets the account pass."""
        return all(self._allowed(parent, stat.S_IXUSR) for parent in path.parents)

    def can_use(self, path: Path) -> bool:
        """Whether the account can reach `path`, read it and, for a folder or program, enter or run it."""
        wanted = stat.S_IRUSR | (stat.S_IXUSR if path.is_dir() or path.parent.name == "bin" else 0)
        return self.can_reach(path) and self._allowed(path, wanted)

    def _allowed(self, path: Path, wanted: int) -> bool:
        status = path.stat()
        if status.st_uid == self.uid:
            shift = 0
        elif status.st_gid == self.gid:
            shift = 3
        else:
            shift = 6
        return status.st_mode & (wanted >> shift) == wanted >> shift


def current_account() -> Account:
    """The account of this process."""
    return Account(os.geteuid(), os.getegid())


def unprivileged_account() -> Account:
    """The account that stands in for root, whom Postgres refuses: `postgres` where there is one, else `nobody`.

    Raises:
        SetupError: the machine has neither.
    """
    for name in PREFERRED_NAMES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise SetupError("Postgres does not run as root, and there is no account named postgres or nobody. Run as an ordinary user.")
