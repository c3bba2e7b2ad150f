"""Rotation of the secret key while others read and write secrets."""

import threading
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from typer.testing import CliRunner, Result

from app.access.secret_box import KEY_FILE, KeyFileBox, SecretBox, open_secret_box, read_key_file, write_key_file
from app.alerts.channels.channel import ChannelContent, ChannelKind, create_channel
from app.base.errors import SetupError
from app.base.settings import Settings
from app.cli.rotate_secret_key import command
from app.database import reseal as resealing
from app.database.engine import Database, Sealer
from app.database.tables import AlertChannelRow, DeploymentRow, OpenScaleFactRow
from app.deployments.bodies import DeploymentIn
from app.deployments.queries import Definition, Deployments
from tests.builders.bodies import deployment


@pytest.fixture(autouse=True)
def _settings(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database.url)
    monkeypatch.setenv("EVENHAND_DATA_DIR", str(tmp_path))


def rotate() -> Result:
    return CliRunner().invoke(command, [])


def definition(secret: str) -> Definition:
    endpoint = {"url": "http://127.0.0.1:9000/score", "credentials": {"kind": "bearer", "secret": secret}}
    return DeploymentIn.model_validate(deployment(endpoint=endpoint)).to_domain()


def store(database: Database, sealer: Sealer, *names: str) -> None:
    with database.transaction() as session:
        for name in names:
            Deployments(session, sealer).create(name, definition(f"secret of {name}"))


def secret_of(database: Database, sealer: Sealer, name: str) -> str:
    with database.transaction() as session:
        endpoint = Deployments(session, sealer).get(name).endpoint
    assert endpoint is not None
    assert endpoint.credentials is not None
    return endpoint.credentials.secret


def sealed(database: Database) -> list[bytes]:
    with database.transaction() as session:
        columns = (DeploymentRow.credentials, AlertChannelRow.secret, OpenScaleFactRow.secrets)
        rows = [row for column in columns for row in session.scalars(select(column))]
    return [row for row in rows if row is not None]


def test_keys_of_the_settings_are_rotated_and_a_second_run_finds_nothing_to_do(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = SecretBox("the old key"), SecretBox("the new key")
    store(database, old, "one", "two")
    with database.transaction() as session:
        content = ChannelContent(name="Pager", kind=ChannelKind.WEBHOOK, url="https://alerts.example/", secret="a signing secret")  # noqa: S106 - of nobody
        create_channel(session, "pager", content, old)
        session.add(OpenScaleFactRow(kind="provider", id="ours", entity={}, secrets=old.seal(b"secret of ours"), created_by="a test"))
    monkeypatch.setenv("EVENHAND_SECRET_KEY", "the new key")
    monkeypatch.setenv("EVENHAND_OLD_SECRET_KEYS", "one before\n\nthe old key\n")

    first, second = rotate(), rotate()

    assert first.exit_code == 0, first.output
    assert "4 of 4 secrets were encrypted again" in first.output
    assert "0 of 4 secrets were encrypted again" in second.output
    assert all(map(new.is_current, sealed(database)))
    assert secret_of(database, new, "two") == "secret of two"
    with database.transaction() as session:
        assert new.unseal(session.scalars(select(OpenScaleFactRow.secrets)).one() or b"") == b"secret of ours"
    assert "secret of" not in first.output


def test_a_generated_key_is_replaced_and_processes_that_run_follow(database: Database, tmp_path: Path) -> None:
    running, idle = open_secret_box(Settings(data_dir=tmp_path)), open_secret_box(Settings(data_dir=tmp_path))
    store(database, running, "one")
    [before] = read_key_file(tmp_path / KEY_FILE)

    ended = rotate()
    store(database, running, "later")  # by a process that was not restarted

    assert ended.exit_code == 0, ended.output
    [after] = read_key_file(tmp_path / KEY_FILE)
    assert after != before
    assert all(map(SecretBox(after).is_current, sealed(database)))
    assert secret_of(database, idle, "one") == "secret of one"
    with pytest.raises(SetupError):
        SecretBox(before).unseal(sealed(database)[0])


def reseal_endpoints_only(session: Session, kind: resealing.SealedColumn, sealer: resealing.Resealer) -> resealing.ResealedSecrets:
    if kind is not resealing.SealedColumn.ENDPOINTS:
        raise InterruptedError
    return resealing.reseal_column(session, kind, sealer)


def test_a_run_that_was_stopped_is_continued_with_its_key(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = open_secret_box(Settings(data_dir=tmp_path))
    store(database, before, *(f"number-{no}" for no in range(5)))
    with database.transaction() as session:
        session.add(OpenScaleFactRow(kind="provider", id="ours", entity={}, secrets=before.seal(b"secret of ours"), created_by="a test"))
    with monkeypatch.context() as stopping:
        stopping.setattr("app.cli.rotate_secret_key.reseal_column", reseal_endpoints_only)
        stopped = rotate()
    between = read_key_file(tmp_path / KEY_FILE)
    in_between = [secret_of(database, KeyFileBox(tmp_path / KEY_FILE), f"number-{no}") for no in range(5)]

    ended = rotate()

    assert stopped.exit_code == 1
    assert in_between == [f"secret of number-{no}" for no in range(5)]
    assert "1 of 6 secrets were encrypted again" in ended.output
    assert read_key_file(tmp_path / KEY_FILE) == between[:1]
    assert all(map(SecretBox(between[0]).is_current, sealed(database)))


def test_a_secret_that_no_key_opens_is_named_and_keeps_the_old_key(database: Database, tmp_path: Path) -> None:
    store(database, open_secret_box(Settings(data_dir=tmp_path)), "one")
    store(database, SecretBox("of another machine"), "moved")

    refused = rotate()
    keys = read_key_file(tmp_path / KEY_FILE)
    in_between = secret_of(database, KeyFileBox(tmp_path / KEY_FILE), "one")
    write_key_file(tmp_path / KEY_FILE, [*keys, "of another machine"])
    ended = rotate()

    assert isinstance(refused.exception, SetupError)
    assert "endpoint moved" in str(refused.exception)
    assert (len(keys), in_between) == (2, "secret of one")
    assert ended.exit_code == 0, ended.output
    assert read_key_file(tmp_path / KEY_FILE) == keys[:1]


@pytest.mark.nightly
def test_readers_and_writers_never_meet_a_secret_that_they_cannot_open(database: Database, tmp_path: Path) -> None:
    names = [f"number-{no}" for no in range(4)]
    store(database, open_secret_box(Settings(data_dir=tmp_path)), *names)
    stop, failures, changes = threading.Event(), list[BaseException](), [0] * 3

    def work(no: int) -> None:
        own = Database(database.url, pool_size=1)
        box = open_secret_box(Settings(data_dir=tmp_path))  # as a process of its own has it
        try:
            while not stop.is_set():
                with own.transaction() as session:
                    deployments = Deployments(session, box)
                    stored = deployments.get_for_change(names[no])
                    changes[no] += 1
                    deployments.change(stored, definition(f"secret {changes[no]} of {names[no]}"))
                for name in names:
                    assert secret_of(own, box, name).endswith(f"of {name}")
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failures.append(error)
        finally:
            own.close()

    threads = [threading.Thread(target=work, args=(no,)) for no in range(3)]
    for thread in threads:
        thread.start()
    outcomes = [rotate() for _ in range(4)]
    stop.set()
    for thread in threads:
        thread.join()

    assert failures == []
    assert [outcome.exit_code for outcome in outcomes] == [0] * 4, outcomes
    assert min(changes) > 0
    [key] = read_key_file(tmp_path / KEY_FILE)
    assert all(map(SecretBox(key).is_current, sealed(database)))
