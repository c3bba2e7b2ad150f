import asyncio
from pathlib import Path

import pytest

from app.base.errors import SetupError
from app.base.settings import Settings
from app.database.engine import Database
from app.deployments.queries import Definition, Deployments
from app.domain.deployment import Column, Credentials, CredentialsKind, Endpoint, FieldKind, FieldType, OutputFields, ProblemType
from app.main import create_app, open_features

WATCHED = Definition(
    name="Credit risk",
    problem_type=ProblemType.BINARY,
    features=(Column(name="Sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),),
    meta=(),
    outputs=OutputFields(),
    model_revision="r1",
    endpoint=Endpoint(url="http://127.0.0.1:9000/", credentials=Credentials(kind=CredentialsKind.BEARER, secret="sesame")),  # noqa: S106 - opens nothing
)


async def start_and_stop(settings: Settings, database_url: str) -> None:
    features = open_features(settings, database_url)
    try:
        await features.start()
    finally:
        await features.stop()


def test_a_service_with_another_secret_key_than_the_stored_credentials_does_not_start(database: Database, tmp_path: Path) -> None:
    first, other = (Settings(data_dir=tmp_path / name) for name in ("first", "other"))
    services = open_features(first, database.url).services
    with services.database.transaction() as session:
        Deployments(session, services.secret_box).create("credit-risk", WATCHED)
    services.database.close()

    asyncio.run(start_and_stop(first, database.url))
    with pytest.raises(SetupError, match="another secret key"):
        asyncio.run(start_and_stop(other, database.url))


def test_a_service_starts_before_its_database_answers(tmp_path: Path) -> None:
    asyncio.run(start_and_stop(Settings(data_dir=tmp_path), "postgresql://nobody@127.0.0.1:1/nothing"))


def test_settings_that_cannot_be_used_stop_the_start_with_what_to_change(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="DATABASE_URL"):
        create_app(Settings(data_dir=tmp_path))
    with pytest.raises(SetupError, match="allow-list"):
        create_app(Settings(data_dir=tmp_path, endpoint_allowlist="*.internal"), "postgresql://nobody@127.0.0.1:1/nothing")
