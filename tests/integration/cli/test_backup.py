"""`evenhand backup` and `evenhand restore`: what is in the file, what it is restored into, and what they refuse."""

import stat
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import Result
from sqlalchemy import text
from sqlalchemy.engine import make_url
from typer.testing import CliRunner

from app.access.secret_box import SecretBox
from app.alerts.channels.channel import ChannelContent, ChannelKind, complete_secret, create_channel
from app.cli import evenhand
from app.database.embedded.dumps import dump_database
from app.database.engine import Database, write_libpq_url
from app.database.tables import OpenScaleFactRow
from app.deployments.queries import Definition, Deployments
from app.domain.deployment import Column, Credentials, CredentialsKind, Endpoint, FieldKind, FieldType, OutputFields, ProblemType
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from app.overview.health.queries import is_migrated
from tests.builders.commit_7ba08965 import create_filled
from tests.builders.page_words import says
from tests.integration.cli.refusals import DATABASE_COMMANDS, Refusal
from tests.integration.cli.servers import content_of, older_postgres
from tests.scenes import NOON, Scene, scene

SEX = Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
WOMEN = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
MONITOR = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(WOMEN,), min_records=10, max_records=1000)
ROWS = [{"sex": sex, "prediction": outcome, "probability": 0.5} for sex, outcome in (("male", 1), ("female", 0)) for _ in range(50)]

Run = Callable[..., Result]
"""Of the arguments and the address of the database."""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`evenhand` with those arguments on that database."""

    def invoke(*arguments: object, url: str) -> Result:
        environment = {"DATABASE_URL": url, "EVENHAND_DATA_DIR": str(tmp_path / "data"), "EVENHAND_SECRET_KEY": None}
        return CliRunner().invoke(evenhand, [str(argument) for argument in arguments], env=environment)

    return invoke


@pytest.fixture
def make_database(postgres_url: str) -> Iterator[Callable[[], str]]:
    """Makes empty databases, and drops them in the end."""
    made: list[str] = []

    def make() -> str:
        made.append(f"test_{uuid.uuid4().hex}")
        _tell(postgres_url, f"CREATE DATABASE {made[-1]}")
        return write_libpq_url(make_url(postgres_url).set(database=made[-1]).render_as_string(hide_password=False))

    yield make
    for name in made:
        _tell(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def older() -> Iterator[str]:
    """The address of an empty database of a Postgres 15."""
    with older_postgres() as url:
        yield url


@pytest.fixture
def watched(database: Database) -> Scene:
    """A database with records of this month and one check of them."""
    watched = scene(database, [SEX], MONITOR, endpoint=None)
    watched.log(ROWS, NOON)
    watched.check(NOON)
    return watched


@pytest.mark.nightly
def test_a_backup_holds_every_row_and_its_file_belongs_to_its_owner_alone(
    watched: Scene, run: Run, make_database: Callable[[], str], tmp_path: Path
) -> None:
    file, other = tmp_path / "evenhand.backup", make_database()

    made = run("backup", file, url=watched.database.url)
    restored = run("restore", file, url=other)

    assert made.exit_code == 0, made.output
    assert "keep" in made.output
    assert "secret.key" in made.output
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evenhand.backup"]
    assert says(restored.output, f"{file} is restored", "up to date")
    before, after = content_of(watched.database.url), content_of(other)
    assert {name: after[name] for name in before} == before


@pytest.mark.thorough
def test_it_is_restored_into_an_older_postgres_with_a_password(watched: Scene, run: Run, older: str, tmp_path: Path) -> None:
    file = tmp_path / "evenhand.backup"
    run("backup", file, url=watched.database.url)

    restored = run("restore", file, url=older)

    assert restored.exit_code == 0, restored.exception
    before, after = content_of(watched.database.url), content_of(older)
    assert {name: after[name] for name in before} == before
    back = run("backup", tmp_path / "again.backup", url=older)
    assert back.exit_code == 0, back.exception


@pytest.mark.nightly
def test_a_wrong_password_is_named_in_one_sentence(database: Database, older: str, refusal: Refusal, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "evenhand.backup"
    run("backup", file, url=database.url)
    url = make_url(older).set(password="barley").render_as_string(hide_password=False)  # noqa: S106 - no password of anybody

    said = [*(refusal(command, {"DATABASE_URL": url}) for command in DATABASE_COMMANDS), str(run("restore", file, url=url).exception)]

    for sentence in said:
        assert says(sentence, "password", '"eve"')
        assert "barley" not in sentence


@pytest.mark.nightly
def test_an_older_backup_is_brought_up_to_date(bare: Database, run: Run, make_database: Callable[[], str], tmp_path: Path) -> None:
    file, target = tmp_path / "older.backup", make_database()
    create_filled(bare)
    dump_database(bare.url, file)

    assert run("restore", file, url=target).exit_code == 0

    new = Database(target)
    with new.transaction() as session:
        assert is_migrated(session)
    new.close()


@pytest.mark.nightly
def test_a_backup_beside_writers_is_of_one_moment(database: Database, run: Run, make_database: Callable[[], str], tmp_path: Path) -> None:
    file, other = tmp_path / "evenhand.backup", make_database()
    _tell(database.url, "CREATE TABLE a_first (n int)")
    _tell(database.url, "CREATE TABLE z_last (n int)")
    stop = threading.Event()

    def write() -> None:
        with psycopg.connect(database.url) as connection:
            while not stop.is_set():
                connection.execute("INSERT INTO a_first SELECT generate_series(1, 100)")
                connection.execute("INSERT INTO z_last SELECT generate_series(1, 100)")
                connection.commit()

    writing = threading.Thread(target=write)
    writing.start()
    try:
        made = run("backup", file, url=database.url)
    finally:
        stop.set()
        writing.join()

    assert made.exit_code == 0, made.exception
    assert run("restore", file, url=other).exit_code == 0
    content = content_of(other)
    assert content["a_first"] == content["z_last"]


def test_a_file_is_replaced_only_by_force(database: Database, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "evenhand.backup"
    file.write_text("mine")

    refused = run("backup", file, url=database.url)

    assert "exists. Name another file" in str(refused.exception)
    assert file.read_text() == "mine"
    assert run("backup", file, "--force", url=database.url).exit_code == 0
    assert file.read_bytes().startswith(b"PGDMP")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_is_named(database: Database, run: Run, tmp_path: Path) -> None:
    ended = run("backup", tmp_path / "absent" / "evenhand.backup", url=database.url)

    assert says(str(ended.exception), "absent/evenhand.backup cannot be written", "No such file or directory")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.nightly
def test_a_database_that_is_not_empty_is_replaced_only_when_told(
    watched: Scene, run: Run, make_database: Callable[[], str], tmp_path: Path
) -> None:
    file, other = tmp_path / "evenhand.backup", make_database()
    run("backup", file, url=watched.database.url)
    run("restore", file, url=other)
    _tell(other, "DELETE FROM checks")
    _tell(other, "CREATE TABLE later_version (n int)")
    before = content_of(other)

    refused = run("restore", file, url=other)

    assert says(str(refused.exception), "is not empty", "Restore into another", "--replace")
    assert content_of(other) == before
    assert run("restore", file, "--replace", url=other).exit_code == 0
    after, backed_up = content_of(other), content_of(watched.database.url)
    assert after["checks"] == backed_up["checks"]
    assert "later_version" not in after


def test_a_database_in_use_is_not_replaced(watched: Scene, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "evenhand.backup"
    run("backup", file, url=watched.database.url)

    with psycopg.connect(watched.database.url):
        refused = run("restore", file, "--replace", url=watched.database.url)

    assert "other connections use the database" in str(refused.exception)


def test_a_damaged_file_changes_nothing(
    watched: Scene, run: Run, make_database: Callable[[], str], tmp_path: Path, subtests: pytest.Subtests
) -> None:
    file, other = tmp_path / "evenhand.backup", make_database()
    run("backup", file, url=watched.database.url)
    whole = file.read_bytes()

    for kept in (0.2, 0.6, 0.95):
        with subtests.test(kept=kept):
            file.write_bytes(whole[: int(len(whole) * kept)])

            refused = run("restore", file, url=other)

            assert refused.exit_code == 1
            assert str(file) in str(refused.exception)
            assert content_of(other) == {}


@pytest.mark.nightly
def test_what_is_no_backup_is_refused_before_anything_is_made(run: Run, make_database: Callable[[], str], tmp_path: Path) -> None:
    other, foreign = make_database(), tmp_path / "foreign"
    _tell(other, "CREATE TABLE theirs (n int)")
    dump_database(other, foreign)
    (tmp_path / "text").write_text("SELECT 1")

    assert says(str(run("restore", foreign, url=make_database()).exception), "is not a backup of Evenhand", "another database")
    assert "is not a backup that can be read" in str(run("restore", tmp_path / "text", url=make_database()).exception)
    assert "There is no file" in str(run("restore", tmp_path / "absent", url=make_database()).exception)
    assert "holds no Evenhand yet" in str(run("backup", tmp_path / "new", url=other).exception)


@pytest.mark.parametrize(
    ("revision", "words"),
    [("9999", "of a newer version of Evenhand"), ("0048", "of an early version of Evenhand. Restore it with commit 7ba08965")],
)
def test_a_backup_that_cannot_be_migrated_is_refused_before_anything_is_deleted(
    revision: str, words: str, watched: Scene, run: Run, make_database: Callable[[], str], tmp_path: Path
) -> None:
    file, target = tmp_path / "other.backup", watched.database.url
    other = make_database()
    _tell(other, "CREATE TABLE alembic_version (version_num text)")
    _tell(other, f"INSERT INTO alembic_version VALUES ('{revision}')")  # noqa: S608 - ours
    dump_database(other, file)

    refused = str(run("restore", "--replace", file, url=target).exception)

    assert f"has the schema {revision}, {words}" in refused
    with watched.database.transaction() as session:
        assert session.scalar(text("SELECT count(*) FROM checks")) == 1


@pytest.mark.nightly
def test_a_restore_names_the_secrets_that_the_key_here_cannot_read(
    database: Database, run: Run, make_database: Callable[[], str], tmp_path: Path
) -> None:
    sealer = SecretBox("the key of the machine that is gone")
    credentials = Credentials(kind=CredentialsKind.BEARER, secret="token")  # noqa: S106 - of a test
    endpoint = Endpoint(url="http://127.0.0.1:9/score", credentials=credentials)
    definition = Definition(
        name="A model",
        problem_type=ProblemType.BINARY,
        features=(SEX,),
        meta=(),
        outputs=OutputFields(),
        model_revision="1",
        endpoint=endpoint,
    )
    with database.transaction() as session:
        Deployments(session, sealer).create("a-model", definition)
        webhook = ChannelContent(name="Ops", kind=ChannelKind.WEBHOOK, url="http://127.0.0.1:9/")
        create_channel(session, "ops", complete_secret(webhook, None), sealer)
        session.add(OpenScaleFactRow(kind="provider", id="a-provider", entity={}, secrets=sealer.seal(b"t"), created_by="a test"))
    file = tmp_path / "evenhand.backup"
    run("backup", file, url=database.url)

    without = run("restore", file, url=make_database())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secret.key").write_text("the key of the machine that is gone")
    with_key = run("restore", file, url=make_database())

    assert without.exit_code == 0
    named = "endpoint a-model, alert channel ops, OpenScale service provider a-provider"
    assert f"cannot read the stored secret of {named}." in without.output
    assert str(tmp_path / "data" / "secret.key") in without.output
    assert "cannot read" not in with_key.output


def _tell(url: str, statement: str) -> None:
    with psycopg.connect(write_libpq_url(url), autocommit=True) as connection:
        connection.execute(statement.encode())
