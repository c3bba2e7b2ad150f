"""`evenhand serve` as a person runs it: one command, a folder, a port."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from app.access.secret_box import open_secret_box
from app.base.settings import Settings
from app.database.embedded.embedded_server import embedded_postgres, find_postmaster
from app.database.engine import Database
from app.database.migrations import upgrade
from app.deployments.queries import Definition, Deployments
from app.domain.deployment import Column, Credentials, CredentialsKind, Endpoint, FieldKind, FieldType, OutputFields, ProblemType
from tests.e2e.embedded.commands import EVENHAND, REPOSITORY, environment
from tests.e2e.embedded.servers import running_on
from tests.ports import free_port
from tests.progress import wait_until


def test_it_answers_survives_the_death_of_its_parts_and_leaves_nothing_running(folder: Path) -> None:
    port = free_port()
    data = folder / "data" / "postgres"
    with _serving(folder, port) as serving:
        wait_until(lambda: _is_ready(port))
        children = _children_of(serving.pid)

        os.kill(running_on(data).pid, signal.SIGKILL)
        wait_until(lambda: find_postmaster(data) is not None and _is_ready(port))
        for pid in _api_processes(children):
            soft, hard = _open_files(pid)
            assert soft == min(hard, 65_536)  # raised at its start, whatever the shell allowed
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: _is_ready(port))
        children |= _children_of(serving.pid)

        serving.send_signal(signal.SIGINT)
        assert serving.wait() == 0
    assert find_postmaster(data) is None
    assert not any(_lives(pid) for pid in children)


@pytest.mark.nightly
def test_clients_of_a_process_that_was_killed_are_answered_by_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_API_PROCESSES", "2")
    monkeypatch.setenv("EVENHAND_KEEP_ALIVE_SECONDS", "3600")
    port = free_port()
    with _serving(folder, port) as serving, ExitStack() as opened:
        wait_until(lambda: _is_ready(port))
        wait_until(lambda: len(_api_processes(_children_of(serving.pid))) == 2)
        # A client whose connection waits at a process that starts is answered once it has started.
        clients = [opened.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=None)) for _ in range(24)]

        def ask() -> None:
            assert {client.get("/health/live").status_code for client in clients} == {httpx.codes.OK}
            served = [_connections(pid, port) for pid in _api_processes(_children_of(serving.pid))]
            assert sum(served) == 24
            assert len(served) == 2
            assert min(served) >= 1  # by chance: all 24 meet in one once in 2^23

        ask()
        killed = _api_processes(_children_of(serving.pid))[0]
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: killed not in _children_of(serving.pid))  # its connections are closed, those of all its threads
        ask()
        serving.send_signal(signal.SIGINT)
        opened.close()
        assert serving.wait() == 0


@pytest.mark.nightly
def test_when_it_is_killed_its_children_end_and_the_next_start_works(folder: Path) -> None:
    port = free_port()
    data = folder / "data" / "postgres"
    with _serving(folder, port) as serving:
        wait_until(lambda: _is_ready(port))
        children = _children_of(serving.pid)
        serving.kill()
        serving.wait()

    wait_until(lambda: not any(_lives(pid) for pid in children))
    wait_until(lambda: find_postmaster(data) is None)
    with _serving(folder, port) as serving:
        wait_until(lambda: _is_ready(port))
        serving.terminate()
        assert serving.wait() == 0


def test_a_taken_port_is_told_in_a_sentence(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = subprocess.run(
            [*EVENHAND, "serve"],
            env=environment(folder, taken.getsockname()[1]),
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )

    assert ended.returncode == 1
    assert "EVENHAND_PORT" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.nightly
def test_another_secret_key_than_the_stored_credentials_ends_it_with_a_sentence(folder: Path) -> None:
    with embedded_postgres(folder / "data") as url:
        database = Database(url)
        upgrade(database)
        credentials = Credentials(kind=CredentialsKind.BEARER, secret="token")  # noqa: S106 - of a test
        with database.transaction() as session:
            sealer = open_secret_box(Settings(data_dir=folder / "elsewhere"))
            definition = Definition(
                name="A model",
                problem_type=ProblemType.BINARY,
                features=(Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),),
                meta=(),
                outputs=OutputFields(),
                model_revision="1",
                endpoint=Endpoint(url="http://127.0.0.1:9/score", credentials=credentials),
            )
            Deployments(session, sealer).create("a-model", definition)
        database.close()

    ended = subprocess.run(
        [*EVENHAND, "serve"],
        env=environment(folder, free_port()),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    assert "secret key" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.nightly
def test_a_key_is_made_listed_and_revoked_without_a_running_service(folder: Path) -> None:
    with embedded_postgres(folder / "data") as url:
        database = Database(url)
        upgrade(database)
        database.close()

    key = _evenhand(folder, "keys", "create", "--role", "admin", "--name", "ops").strip()
    key_id = key.split("_")[1]

    assert key.startswith("evk_")
    assert "in use" in _evenhand(folder, "keys", "list")
    _evenhand(folder, "keys", "revoke", key_id)
    assert re.search(rf"{key_id} +admin +ops +all deployments +revoked", _evenhand(folder, "keys", "list"))
    assert find_postmaster(folder / "data" / "postgres") is None


@pytest.mark.nightly
def test_it_says_that_it_listens_when_it_answers_and_its_hint_makes_a_key_from_another_folder(folder: Path) -> None:
    port = free_port()
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    with _serving(folder, port) as serving:
        wait_until(lambda: "listens on" in _printed(folder), "the service says where it listens")
        assert _is_ready(port)
        hint = next(line for line in _printed(folder).splitlines() if "keys create" in line)
        kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "EVENHAND_DATA_DIR"}}
        key = subprocess.run(["/bin/sh", "-c", hint], env=kept, cwd=elsewhere, capture_output=True, text=True, check=True).stdout.strip()

        headers = {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"http://127.0.0.1:{port}/v1/me", headers=headers).json()["role"] == "admin"
        assert list(elsewhere.iterdir()) == []
        serving.terminate()
        assert serving.wait() == 0


def _printed(folder: Path) -> str:
    return (folder / "serve.log").read_text(encoding="utf-8")


@contextmanager
def _serving(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    log = folder / "serve.log"
    with (
        log.open("ab") as output,
        subprocess.Popen([*EVENHAND, "serve"], env=environment(folder, port), cwd=REPOSITORY, stdout=output, stderr=output) as serving,
    ):
        try:
            yield serving
        except BaseException:
            sys.stderr.write(log.read_text())
            raise
        finally:
            serving.kill()


def _evenhand(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        [*EVENHAND, *arguments], env=environment(folder, 8000), cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health/ready").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def _children_of(pid: int) -> set[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    if not children.exists():
        pytest.skip("needs Linux to see a process's children")
    return {int(child) for child in children.read_text().split()}


def _api_processes(pids: set[int]) -> list[int]:
    return [pid for pid in pids if _lives(pid) and "app.cli.service.api_process" in Path(f"/proc/{pid}/cmdline").read_text()]


def _connections(pid: int, port: int) -> int:
    """How many connections of clients the process has."""
    open_now = psutil.Process(pid).net_connections("tcp")
    return sum(connection.status == psutil.CONN_ESTABLISHED and connection.laddr.port == port for connection in open_now)


def _open_files(pid: int) -> tuple[float, float]:
    """The soft and the hard limit of the process."""
    (line,) = [line for line in Path(f"/proc/{pid}/limits").read_text().splitlines() if line.startswith("Max open files")]
    soft, hard = line.split()[3:5]
    return float(soft.replace("unlimited", "inf")), float(hard.replace("unlimited", "inf"))


def _lives(pid: int) -> bool:
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    # It has ended, and its new parent, which in a container may be any program, has not waited for it yet.
    return after_name.split()[0] != "Z"
