"""Databases and addresses of the field that have no program: each test is written after the README of its folder."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from app.cli.service.serve import open_listeners
from app.database.embedded.system_account import find_unprivileged_account
from app.database.engine import Database
from tests.crashes.service import Service
from tests.crashes.service import folder as service_folder
from tests.databases import address_of, execute, libpq
from tests.field.cases import FIELD, field_case, marks_of
from tests.field.commands import Ended, evenhand
from tests.field.programs import run_program
from tests.ports import free_port
from tests.progress import wait_until

POOLER = """
import os, runpy, socket, sys
def connect(_):
    host = os.environ["DATABASE_HOST"]
    if not host.startswith("/"):
        return real((host, int(os.environ["DATABASE_PORT"])))
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(f"{host}/.s.PGSQL.{os.environ['DATABASE_PORT']}")
    return connection
real, socket.create_connection = socket.create_connection, connect
runpy.run_path(sys.argv.pop(1))
"""
"""Runs the pooler of the field in front of a database that listens on a socket file, which it cannot call itself."""


@contextmanager
def _database(postgres_url: str, options: str = "", *settings: str) -> Iterator[str]:
    """A new database without tables."""
    name = f"field_{uuid4().hex}"
    execute(postgres_url, f"CREATE DATABASE {name} {options}")
    try:
        for setting in settings:
            execute(postgres_url, f"ALTER DATABASE {name} SET {setting}")
        yield address_of(postgres_url, name)
    finally:
        execute(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


def _run(url: str, folder: Path, *arguments: str) -> Ended:
    return evenhand(*arguments, DATABASE_URL=libpq(url), EVENHAND_DATA_DIR=str(folder))


@contextmanager
def _pooler(url: str) -> Iterator[str]:
    """The address of the database through a pooler in session mode."""
    port = free_port()
    with psycopg.connect(libpq(url)) as connection:
        server = {"DATABASE_HOST": connection.info.host, "DATABASE_PORT": str(connection.info.port)}
    command = [sys.executable, "-c", POOLER, str(FIELD / "31-pooler/pooler.py"), str(port), "0"]
    with subprocess.Popen(command, env={**os.environ, **server}) as process:
        try:
            wait_until(lambda: _answers("127.0.0.1", port), "the pooler listens")
            parts = make_url(url)
            yield f"postgresql://{parts.username}:x@127.0.0.1:{port}/{parts.database}"
        finally:
            process.kill()


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port)).close()
    except OSError:
        return False
    return True


@pytest.mark.nightly
@field_case("31-pooler: session mode")
def test_a_pooler_in_session_mode_works(postgres_url: str, tmp_path: Path) -> None:
    with _database(postgres_url) as url, _pooler(url) as pooled:
        ended = _run(pooled, tmp_path, "migrate")

    assert ended.status == 0, ended.text


@contextmanager
def _pgbouncer(url: str, mode: str) -> Iterator[str]:
    """The address of the database through PgBouncer with its default configuration."""
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    if not Path(program).exists():
        pytest.skip("PgBouncer is not installed: `apt install pgbouncer` (Debian)")
    port, account = free_port(), None if os.getuid() else find_unprivileged_account()
    with psycopg.connect(libpq(url)) as connection, TemporaryDirectory() as folder:
        server = f"host={connection.info.host} port={connection.info.port} user={connection.info.user}"
        lines = ["[databases]", f"* = {server}", "[pgbouncer]", "listen_addr = 127.0.0.1", f"listen_port = {port}", "unix_socket_dir ="]
        configuration = Path(folder) / "pgbouncer.ini"
        configuration.write_text("\n".join([*lines, "auth_type = any", f"pool_mode = {mode}"]), encoding="utf-8")
        Path(folder).chmod(0o755)
        with subprocess.Popen([program, str(configuration)], user=None if account is None else account.uid) as process:
            try:
                wait_until(lambda: _answers("127.0.0.1", port), "PgBouncer listens")
                yield f"postgresql://{make_url(url).username}:x@127.0.0.1:{port}/{make_url(url).database}"
            finally:
                process.terminate()


@pytest.mark.nightly
def test_pgbouncer_in_session_mode_works(postgres_url: str, tmp_path: Path) -> None:
    with _database(postgres_url) as url, _pgbouncer(url, "session") as pooled:
        migrated, examined = _run(pooled, tmp_path, "migrate"), _run(pooled, tmp_path, "doctor")

    assert migrated.status == 0, migrated.text
    assert "transaction mode" not in examined.text


@pytest.mark.nightly
@pytest.mark.parametrize("command", ["migrate", "worker", "serve", "doctor"])
def test_pgbouncer_in_transaction_mode_is_refused(postgres_url: str, tmp_path: Path, command: str) -> None:
    with _database(postgres_url) as url, _pgbouncer(url, "transaction") as pooled:
        ended = _run(pooled, tmp_path, command)

    assert ended.status == 1
    assert "a pooler in transaction mode" in ended.text


SETTINGS = {
    "datestyle": ("datestyle = 'SQL, DMY'",),
    "intervalstyle": ("intervalstyle = 'iso_8601'",),
    "float digits": ("extra_float_digits = 0",),
    "others": (
        "timezone = 'Asia/Kolkata'",
        "client_encoding = 'LATIN1'",
        "default_transaction_isolation = 'serializable'",
        "bytea_output = 'escape'",
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "settings", [pytest.param(settings, id=name, marks=marks_of(f"32-session-settings: {name}")) for name, settings in SETTINGS.items()]
)
@field_case("")
def test_settings_of_a_database_change_nothing(postgres_url: str, tmp_path: Path, settings: tuple[str, ...]) -> None:
    with _database(postgres_url, "", *settings) as url:
        migrated = _run(url, tmp_path, "migrate")
        execute(url, "INSERT INTO workers (id, started_at, beat_at) VALUES ('w', now(), now())")
        key = _run(url, tmp_path, "keys", "create", "--role", "admin")
        examined = _run(url, tmp_path, "doctor")
        database = Database(url)
        with database.transaction() as session:
            ratio = session.scalar(text("SELECT 0.5057283142389526::float8"))
        database.close()

    assert (migrated.status, key.status) == (0, 0)
    assert "fault" not in examined.stdout
    assert ratio == 0.5057283142389526


@pytest.mark.nightly
@pytest.mark.parametrize(
    "encoding", [pytest.param(name, marks=marks_of(f"33-database-encoding: {name}")) for name in ("SQL_ASCII", "LATIN1")]
)
@pytest.mark.parametrize("command", ["migrate", "doctor"])
@field_case("")
def test_a_database_of_another_encoding_is_refused(postgres_url: str, tmp_path: Path, encoding: str, command: str) -> None:
    options = f"ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc TEMPLATE template0"
    with _database(postgres_url, options) as url:
        ended = _run(url, tmp_path, command)

    assert ended.status == 1
    assert f"has the encoding {encoding}" in ended.text
    assert "UTF8" in ended.text


@pytest.mark.nightly
@pytest.mark.parametrize("options", ["-c search_path=app", "-csearch_path=app"])
@field_case("34-search-path: options")
def test_options_of_an_address_are_taken_or_refused(postgres_url: str, tmp_path: Path, options: str) -> None:
    with _database(postgres_url) as url:
        execute(url, "CREATE SCHEMA app")
        plain = libpq(url)
        separator = "&" if "?" in plain else "?"
        ended = evenhand("migrate", DATABASE_URL=f"{plain}{separator}options={quote(options)}", EVENHAND_DATA_DIR=str(tmp_path))
        with psycopg.connect(plain) as connection:
            rows = connection.execute("SELECT schemaname FROM pg_tables WHERE schemaname IN ('app', 'public') GROUP BY 1").fetchall()

    assert rows == [("app",)] if ended.status == 0 else "options" in ended.text


@field_case("41-database-addresses: two hosts")
def test_two_hosts_before_the_slash_work_or_are_explained(tmp_path: Path) -> None:
    address = "postgresql://evenhand:x@127.0.0.1:1,127.0.0.1:2/evenhand?target_session_attrs=read-write"
    ended = evenhand("doctor", DATABASE_URL=address, EVENHAND_DATA_DIR=str(tmp_path))

    assert "cannot be read" not in ended.text or "host=" in ended.text


@field_case("41-database-addresses: password")
def test_no_part_of_a_password_is_shown(tmp_path: Path) -> None:
    address = "postgresql://evenhand:p@Qx7/Zk9@127.0.0.1:1/evenhand"
    ended = evenhand("doctor", DATABASE_URL=address, EVENHAND_DATA_DIR=str(tmp_path))

    assert "Qx7" not in ended.text
    assert "Zk9" not in ended.text
    assert "encode" in ended.text


@field_case("42-both-families: one setting")
def test_one_setting_listens_on_both_families() -> None:
    with open_listeners("::", 0, processes=1) as listeners:
        port = listeners[0].getsockname()[1]

        assert (_answers("::1", port), _answers("127.0.0.1", port)) == (True, True)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        pytest.param(program, arguments, id=program, marks=marks_of(f"{program}/try.py"))
        for program, arguments in {"20-alert-storm": (), "sec-uploads": ("24",)}.items()
    ],
)
@field_case("")
def test_all_lines_of_a_program_about_processes_are_right(
    program: str, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service_folder() as home:
        service = Service(home)
        service.start()
        try:
            monkeypatch.setenv("EVENHAND_PID", str(service.api_pid()))
            lines = run_program(program, tmp_path, service.base_url, service.new_key(), *arguments)
        finally:
            service.end()

    assert lines
    assert [line for line in lines if not line.is_right] == []
