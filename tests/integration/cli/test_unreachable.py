"""A database that cannot be used: every command says why in one sentence, names the address, and keeps the password to itself."""

import uuid

import psycopg
import pytest
from sqlalchemy.engine import make_url

from app.database.engine import name_address
from tests.builders.page_words import says
from tests.integration.cli.refusals import DATABASE_COMMANDS, PASSWORD, Refusal
from tests.ports import free_port


@pytest.mark.parametrize("command", DATABASE_COMMANDS)
def test_a_port_without_a_server_is_named_in_one_sentence(command: str, refusal: Refusal) -> None:
    port = free_port()

    said = refusal(command, {"DATABASE_URL": f"postgresql://eve:{PASSWORD}@127.0.0.1:{port}/evenhand"})

    assert says(said, f"evenhand at 127.0.0.1:{port}", "user eve", "cannot be used", "Connection refused")


@pytest.mark.parametrize("command", DATABASE_COMMANDS)
def test_a_name_that_no_database_has_is_named_in_one_sentence(command: str, postgres_url: str, refusal: Refusal) -> None:
    url = make_url(postgres_url).set(database="nowhere", password=PASSWORD).render_as_string(hide_password=False)

    assert says(refusal(command, {"DATABASE_URL": url}), "cannot be used", 'database "nowhere" does not exist')


@pytest.mark.parametrize("command", DATABASE_COMMANDS)
def test_a_user_who_is_not_let_in_is_named_in_one_sentence(command: str, postgres_url: str, refusal: Refusal) -> None:
    url = make_url(postgres_url).set(username="eve", password=PASSWORD).render_as_string(hide_password=False)

    said = refusal(command, {"DATABASE_URL": url})

    assert "(user eve) cannot be used: " in said
    assert '"eve"' in said


@pytest.mark.parametrize("command", DATABASE_COMMANDS)
def test_a_host_that_nobody_knows_is_named_in_one_sentence(command: str, refusal: Refusal) -> None:
    said = refusal(command, {"DATABASE_URL": f"postgresql://eve:{PASSWORD}@db.invalid:5432/evenhand"})

    assert says(said, "evenhand at db.invalid:5432", "user eve", "cannot be used", "resolve host 'db.invalid'")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"postgresql://eve:{PASSWORD}@127.0.0.1:none/evenhand", "DATABASE_URL cannot be read"),
        (f"mysql://eve:{PASSWORD}@127.0.0.1/evenhand", "only Postgres is supported"),
        (f"postgresql://eve:{PASSWORD}@127.0.0.1:99999/evenhand", 'invalid port number: "99999"'),
        (f"postgresql://eve:{PASSWORD}@127.0.0.1/evenhand?colour=red", 'invalid connection option "colour"'),
        (f"postgresql://eve:{PASSWORD}@/evenhand?host=%2Fnowhere", "No such file or directory"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused_in_one_sentence(url: str, words: str, refusal: Refusal) -> None:
    assert words in refusal("migrate", {"DATABASE_URL": url})
    assert words in refusal("worker", {"DATABASE_URL": url})


def test_a_schema_of_a_later_version_is_refused_in_one_sentence(database_url: str, refusal: Refusal) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    assert "schema of another version of Evenhand" in refusal("migrate", {"DATABASE_URL": database_url})


# `rotate-secret-key` looks for the key first.
@pytest.mark.parametrize(
    "command", sorted(set(DATABASE_COMMANDS) - {"serve", "worker", "example", "backup", "migrate", "rotate-secret-key"})
)
def test_a_user_without_rights_is_named_in_one_sentence(command: str, database_url: str, refusal: Refusal) -> None:
    name = f"reader_{uuid.uuid4().hex}"
    with psycopg.connect(database_url) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN".encode())
        connection.execute(f"GRANT SELECT ON alembic_version TO {name}".encode())
    url = make_url(database_url).set(username=name).render_as_string(hide_password=False)

    try:
        assert says(refusal(command, {"DATABASE_URL": url}), f"user {name}", "cannot be used", "permission denied for")
    finally:
        with psycopg.connect(database_url) as connection:
            connection.execute(f"DROP OWNED BY {name}".encode())
            connection.execute(f"DROP ROLE {name}".encode())


def test_an_address_in_words_holds_no_password() -> None:
    assert name_address("postgresql://eve:open@db.example:5433/evenhand?sslmode=require") == "evenhand at db.example:5433 (user eve)"
    assert name_address("postgresql://eve:open@/evenhand?host=%2Frun%2Fpg&port=5432&password=open") == "evenhand at /run/pg:5432 (user eve)"
    assert says(name_address("postgresql://"), "no name", "default host", "user of no name")
