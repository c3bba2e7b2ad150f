"""A Postgres of an older major version, with passwords, where the machine has one."""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

PROGRAMS = Path("/usr/lib/postgresql/15/bin")
PASSWORD = "p@ss/w:rd"  # noqa: S105 - of a server that the tests make


@contextlib.contextmanager
def older_postgres() -> Iterator[str]:
    """The address of a Postgres 15 on a port of loopback; it asks for a password."""
    if not PROGRAMS.exists():
        pytest.skip("needs the programs of Postgres 15")
    account = pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="evenhand-test-"))
    try:
        (folder / "password").write_text(PASSWORD)
        for path in (folder, folder / "password"):
            os.chown(path, account.pw_uid, account.pw_gid)
        _run(account, "initdb", f"--pgdata={folder}/data", "--username=eve", "--auth=scram-sha-256", f"--pwfile={folder}/password")
        started = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        _run(account, "pg_ctl", "start", "--wait", f"--pgdata={folder}/data", f"--log={folder}/log", f"--options={started}")
        try:
            yield f"postgresql://eve:p%40ss%2Fw%3Ard@127.0.0.1:{port}/postgres"
        finally:
            _run(account, "pg_ctl", "stop", "--mode=immediate", f"--pgdata={folder}/data")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(account: pwd.struct_passwd, program: str, *arguments: str) -> None:
    other = account.pw_uid if os.geteuid() == 0 else None
    subprocess.run([PROGRAMS / program, *arguments], user=other, cwd="/", check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def content_of(url: str) -> dict[str, str | None]:
    """A digest of the rows of each table of the database."""
    digest = 'SELECT md5(string_agg(t::text, chr(10) ORDER BY t::text COLLATE "C")) FROM "{}" t'
    with psycopg.connect(url, options="-c timezone=UTC") as connection:
        names = [str(name) for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()]
        return {name: (connection.execute(digest.format(name).encode()).fetchone() or (None,))[0] for name in sorted(names)}
