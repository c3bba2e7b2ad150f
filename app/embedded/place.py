"""Decides where the server's data, socket and log lie, and as whom it runs. Starts nothing."""

import hashlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

import structlog

from app.embedded.account import Account, current_account, unprivileged_account
from app.errors import SetupError

PORT = 5432  # only part of the socket's name: the server listens on no address
LONGEST_SOCKET_PATH = 103  # bytes: macOS allows 104 with the closing zero, Linux 108
POINTER = "postgres.location"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Place:
    """Where one server lives. `data` and `socket_dir` belong to `account`; `log` belongs to whoever starts the server."""

    account: Account
    data: Path
    socket_dir: Path
    log: Path

    @property
    def other_account(self) -> Account | None:
        """The account to change to, or None where it is the one we run as."""
        return None if self.account.uid == current_account().uid else self.account

    @property
    def is_initialised(self) -> bool:
        """Whether a database cluster is there."""
        return (self.data / "PG_VERSION").exists()


def make_folder(data_dir: Path) -> None:
    """The data folder is there.

    Raises:
        SetupError: it cannot be made; the message says what to change.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(data_dir, error) from error


def settle(data_dir: Path, system_dir: Path) -> Place:
    """The place of the server of `data_dir`, an existing folder; the same answer at every start.

    As root the server runs as another account. If that one cannot reach `data_dir`, the data lies in a new folder under
    `system_dir`, and a pointer file in `data_dir` says where.

    Raises:
        SetupError: the folder cannot be used; the message says what to change.
    """
    try:
        home = data_dir.resolve()
        data, account = _data_of(home, system_dir)
        return Place(account, data, _socket_dir_of(data, account), home / "postgres.log")
    except OSError as error:
        raise _unusable(data_dir, error) from error


def _unusable(data_dir: Path, error: OSError) -> SetupError:
    return SetupError(f"The data folder {data_dir} cannot be used: {error}. Set EVENHAND_DATA_DIR to another one.")


def _data_of(home: Path, system_dir: Path) -> tuple[Path, Account]:
    pointer = home / POINTER
    data = Path(pointer.read_text(encoding="utf-8").strip()) if pointer.exists() else home / "postgres"
    if pointer.exists() and not data.parent.exists():
        raise SetupError(
            f"The database of {home} was in {data}, which is gone. Bring it back, or delete {pointer} to start with an empty one."
        )
    account = _account_for(data)
    if account.can_reach(data):
        return data, account
    if data.exists():
        raise SetupError(f"The account {account.name}, which owns {data}, cannot reach it: a folder above it is closed to that account.")
    return _elsewhere(home, system_dir, account), account


def _account_for(data: Path) -> Account:
    """Whoever owns the data; that is how the choice made at the first start stays made."""
    me = current_account()
    if not data.exists():
        return me if me.uid != 0 else unprivileged_account()
    status = data.stat()
    owner = Account(status.st_uid, status.st_gid)
    if me.uid not in {0, owner.uid}:
        raise SetupError(f"{data} belongs to {owner.name}; run as that user or as root, or set EVENHAND_DATA_DIR to another folder.")
    return owner if owner.uid != 0 else unprivileged_account()


def _elsewhere(home: Path, system_dir: Path, account: Account) -> Path:
    # A new name each time: whoever deletes `home` to begin afresh must not find the old rows again.
    system_dir.mkdir(parents=True, exist_ok=True, mode=0o755)
    folder = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=system_dir))
    folder.chmod(0o755)
    (folder / "belongs-to").write_text(f"{home}\n", encoding="utf-8")
    data = folder / "postgres"
    if not account.can_reach(data):
        raise SetupError(
            f"The account {account.name} can reach neither {home} nor {system_dir}. Set EVENHAND_DATA_DIR to a folder it can reach."
        )
    (home / POINTER).write_text(f"{data}\n", encoding="utf-8")
    log.warning("postgres_data_elsewhere", reason=f"{account.name} cannot reach {home}", data=str(data))
    return data


def _socket_dir_of(data: Path, account: Account) -> Path:
    # A comma parts host names in a connection string and cannot be escaped there.
    if len(os.fsencode(data / f".s.PGSQL.{PORT}")) <= LONGEST_SOCKET_PATH and "," not in str(data):
        return data
    name = f"evenhand-{hashlib.sha256(os.fsencode(data)).hexdigest()[:16]}"
    roomy = [Path(base).resolve() for base in (tempfile.gettempdir(), "/tmp") if len(os.fsencode(base)) <= LONGEST_SOCKET_PATH // 2]  # noqa: S108 - the folder in it is private
    folder = next(base for base in roomy if account.can_reach(base / name)) / name
    try:
        folder.mkdir(mode=0o700)
        os.chown(folder, account.uid, account.gid)
    except FileExistsError:
        _refuse_foreign(folder, account)
    return folder


def _refuse_foreign(folder: Path, account: Account) -> None:
    """Others may write in the temp folder too: what we find there must be ours and closed, or it is a trap."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != account.uid or stat.S_IMODE(status.st_mode) != stat.S_IRWXU:
        raise SetupError(f"{folder}, where the database's socket belongs, is not a private folder of {account.name}. Remove it.")
