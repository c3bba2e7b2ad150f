"""Decides where the server's data, socket and log are, and which account runs it."""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

import structlog

from ...base.errors import SetupError
from ...base.values import frozen
from .system_account import Account, find_unprivileged_account, is_nobody, read_current_account

PORT = 5432  # only in the socket's name: there is no address
MAX_SOCKET_PATH_BYTES = 103  # bytes: macOS allows 104 with the closing zero, Linux 108
POINTER_FILE = "postgres.location"

log = structlog.get_logger()


@frozen
class ServerPlace:
    """Account and folders of the embedded server."""

    account: Account
    data: Path
    socket_dir: Path
    log: Path

    @property
    def other_account(self) -> Account | None:
        return None if self.account.uid == read_current_account().uid else self.account


def make_folder(data_dir: Path) -> None:
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _build_error(data_dir, error) from error


def has_data(data_dir: Path) -> bool:
    try:
        return data_dir.exists() and _read_location(data_dir.resolve()).exists()
    except OSError as error:
        raise _build_error(data_dir, error) from error


def choose_place(data_dir: Path, system_dir: Path) -> ServerPlace:
    """Raises SetupError."""
    try:
        home = data_dir.resolve()
        pointer = home / POINTER_FILE
        data = _read_location(home)
        if pointer.exists() and not data.parent.exists():
            raise SetupError(
                f"The database of {home} was in {data}, which is gone. Bring it back, or delete {pointer} "
                "to start with an empty one."
            )
        account = _choose_account(data)
        if not account.can_reach(data):
            if data.exists():
                raise SetupError(
                    f"The account {account.name}, which runs the server of {data}, cannot reach it: a folder "
                    "above it is closed to that account."
                )
            data = _create_elsewhere(home, system_dir, account)
        return ServerPlace(account, data, _choose_socket_dir(data, account), home / "postgres.log")
    except OSError as error:
        raise _build_error(data_dir, error) from error


def _build_error(data_dir: Path, error: OSError) -> SetupError:
    return SetupError(
        f"The data folder {data_dir} cannot be used: {error}. Set EVENHAND_DATA_DIR to another one."
    )


def _read_location(home: Path) -> Path:
    pointer = home / POINTER_FILE
    return Path(pointer.read_text(encoding="utf-8").strip()) if pointer.exists() else home / "postgres"


def _choose_account(data: Path) -> Account:
    own_account = read_current_account()
    if not data.exists():
        return own_account if own_account.uid != 0 else find_unprivileged_account()
    status = data.stat()
    owner = Account(status.st_uid, status.st_gid)
    if own_account.uid not in {0, owner.uid}:
        raise SetupError(
            f"{data} belongs to {owner.name}; run as that user or as root, or set EVENHAND_DATA_DIR to "
            "another folder."
        )
    if own_account.uid == 0 and (owner.uid == 0 or is_nobody(owner)):
        return find_unprivileged_account()
    return owner


def _create_elsewhere(home: Path, system_dir: Path, account: Account) -> Path:
    # A new name each time: a user who deletes `home` must not find the old rows again.
    system_dir.mkdir(parents=True, exist_ok=True, mode=0o755)
    folder = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=system_dir))
    folder.chmod(0o755)
    (folder / "belongs-to").write_text(f"{home}\n", encoding="utf-8")
    data = folder / "postgres"
    if not account.can_reach(data):
        raise SetupError(
            f"The account {account.name} can reach neither {home} nor {system_dir}. Set EVENHAND_DATA_DIR "
            "to a folder it can reach."
        )
    (home / POINTER_FILE).write_text(f"{data}\n", encoding="utf-8")
    log.warning("postgres_data_elsewhere", reason=f"{account.name} cannot reach {home}", data=str(data))
    return data


def _choose_socket_dir(data: Path, account: Account) -> Path:
    # A comma in a connection string cannot be escaped.
    if len(os.fsencode(data / f".s.PGSQL.{PORT}")) <= MAX_SOCKET_PATH_BYTES and "," not in str(data):
        return data
    name = f"evenhand-{hashlib.sha256(os.fsencode(data)).hexdigest()[:16]}"
    short_folders = [
        Path(base).resolve()
        for base in (tempfile.gettempdir(), "/tmp")  # noqa: S108 - the folder in it is private
        if len(os.fsencode(base)) <= MAX_SOCKET_PATH_BYTES // 2
    ]
    folder = next(base for base in short_folders if account.can_reach(base / name)) / name
    try:
        folder.mkdir(mode=0o700)
        os.chown(folder, account.uid, account.gid)
    except FileExistsError:
        # Others may write in the temp folder, so it must be ours and closed, or it is a trap.
        status = folder.lstat()
        if (
            not stat.S_ISDIR(status.st_mode)
            or status.st_uid != account.uid
            or stat.S_IMODE(status.st_mode) != stat.S_IRWXU
        ):
            raise SetupError(
                f"{folder}, where the database's socket belongs, is not a private folder of {account.name}. "
                "Remove it."
            ) from None
    return folder
