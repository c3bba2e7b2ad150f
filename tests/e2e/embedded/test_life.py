import gc
import os
import signal
import stat
import threading
import time
from pathlib import Path

import psycopg
import pytest

from app.base.errors import SetupError
from app.database.embedded.embedded_server import EmbeddedPostgres, embedded_postgres, find_postmaster
from tests.e2e.embedded.servers import ask, running_on, tell
from tests.progress import wait_until


def test_a_started_server_answers_and_promises_durable_commits(server: EmbeddedPostgres) -> None:
    settings = (
        "SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings WHERE name = ANY('{fsync,jit,synchronous_commit}')"
    )

    assert ask(server.url, settings) == "fsync=on jit=off synchronous_commit=on"


def test_nobody_reaches_it_over_the_network_or_another_accounts_folder(server: EmbeddedPostgres, folder: Path) -> None:
    data = folder / "data" / "postgres"

    assert ask(server.url, "SELECT setting FROM pg_settings WHERE name = 'listen_addresses'") == ""
    assert stat.S_IMODE(data.stat().st_mode) == stat.S_IRWXU


def test_a_stopped_server_leaves_no_process_and_keeps_its_rows(folder: Path) -> None:
    with embedded_postgres(folder / "data", system_dir=folder / "system") as url:
        tell(url, "CREATE TABLE kept AS SELECT 7 AS value")

    assert find_postmaster(folder / "data" / "postgres") is None
    with embedded_postgres(folder / "data", system_dir=folder / "system") as url:
        assert ask(url, "SELECT value FROM kept") == 7


def test_a_second_user_adopts_the_running_server_and_the_last_to_leave_stops_it(server: EmbeddedPostgres, folder: Path) -> None:
    data = folder / "data" / "postgres"
    first_pid = running_on(data).pid
    second = EmbeddedPostgres(folder / "data", system_dir=folder / "system")

    assert second.start() == server.url
    assert running_on(data).pid == first_pid
    second.stop()
    assert server.is_running()
    server.stop()
    assert find_postmaster(data) is None


def test_an_object_that_started_the_server_may_go_before_its_last_user(folder: Path) -> None:
    starter, second = (EmbeddedPostgres(folder / "data", system_dir=folder / "system") for _ in range(2))
    starter.start()
    second.start()
    pid = running_on(folder / "data" / "postgres").pid

    starter.stop()
    del starter
    gc.collect()  # an abandoned process would be warned of here, and warnings are errors

    assert second.is_running()
    second.stop()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())  # a zombie would remain


def test_two_starts_at_once_make_one_server(folder: Path) -> None:
    servers = [EmbeddedPostgres(folder / "data", system_dir=folder / "system") for _ in range(2)]
    go_on = threading.Event()

    def hold(server: EmbeddedPostgres) -> None:
        server.start()
        go_on.wait()  # on Linux the server ends with the thread that started it

    threads = [threading.Thread(target=hold, args=[server]) for server in servers]
    for thread in threads:
        thread.start()
    wait_until(lambda: all(server.is_running() for server in servers))

    try:
        assert servers[0].url == servers[1].url
        assert ask(servers[0].url, "SELECT 1") == 1
    finally:
        for server in servers:
            server.stop()
        go_on.set()
        for thread in threads:
            thread.join()
    assert not any(server.is_running() for server in servers)


@pytest.mark.parametrize("trial", [0, *(pytest.param(trial, marks=pytest.mark.nightly) for trial in (1, 2))])
def test_no_acknowledged_row_is_lost_when_the_server_is_killed(server: EmbeddedPostgres, folder: Path, trial: int) -> None:
    tell(server.url, "CREATE TABLE rows (no int PRIMARY KEY)")
    acknowledged: list[int] = []
    writer = threading.Thread(target=_write_until_cut, args=[server.url, acknowledged])
    writer.start()
    time.sleep(0.2 + 0.1 * trial)

    os.kill(running_on(folder / "data" / "postgres").pid, signal.SIGKILL)
    writer.join()
    server.start()

    with psycopg.connect(server.url) as connection:
        stored = {row[0] for row in connection.execute("SELECT no FROM rows")}
    assert acknowledged
    assert stored >= set(acknowledged)


def test_a_pid_file_whose_number_now_belongs_to_a_stranger_does_not_stop_a_start(folder: Path) -> None:
    data = folder / "data" / "postgres"
    with embedded_postgres(folder / "data", system_dir=folder / "system") as url:
        tell(url, "CREATE TABLE kept AS SELECT 7 AS value")
        left_behind = (data / "postmaster.pid").read_text().splitlines()
    socket_lock = data / ".s.PGSQL.5432.lock"
    for path, lines in ((data / "postmaster.pid", left_behind), (socket_lock, left_behind[:5])):
        path.write_text("\n".join(["1", *lines[1:]]) + "\n")
        os.chown(path, data.stat().st_uid, data.stat().st_gid)
        path.chmod(0o600)

    with embedded_postgres(folder / "data", system_dir=folder / "system") as url:
        assert ask(url, "SELECT value FROM kept") == 7


def test_a_data_folder_too_deep_for_a_socket_works_all_the_same(folder: Path) -> None:
    deep = folder / ("d" * 60) / ("e" * 60)

    with embedded_postgres(deep, system_dir=folder / "system") as url:
        socket_dir = Path(str(ask(url, "SELECT trim(both '\"' from setting) FROM pg_settings WHERE name = 'unix_socket_directories'")))
        assert len(str(socket_dir)) < 100
        assert stat.S_IMODE(socket_dir.stat().st_mode) == stat.S_IRWXU
    assert not socket_dir.exists()


def test_a_data_folder_with_odd_characters_works(folder: Path) -> None:
    with embedded_postgres(folder / "an odd, näme 100%", system_dir=folder / "system") as url:
        assert ask(url, "SELECT 1") == 1


def test_a_file_in_the_folders_place_is_told_in_a_sentence(folder: Path) -> None:
    (folder / "data").write_text("I am no folder")

    with pytest.raises(SetupError, match="EVENHAND_DATA_DIR"):
        EmbeddedPostgres(folder / "data").start()


def test_broken_data_is_told_with_the_servers_last_words(server: EmbeddedPostgres, folder: Path) -> None:
    server.stop()
    (folder / "data" / "postgres" / "global" / "pg_control").unlink()

    with pytest.raises(SetupError, match="pg_control"):
        server.start()


def _write_until_cut(url: str, acknowledged: list[int]) -> None:
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            for no in range(1_000_000):
                connection.execute("INSERT INTO rows VALUES (%s)", [no])
                acknowledged.append(no)
    except psycopg.OperationalError:
        return
