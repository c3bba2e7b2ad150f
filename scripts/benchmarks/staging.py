"""Databases and deployments of their own, for benchmarks and trials."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import httpx

from app.access.keys.queries import create_key
from app.access.principals import Role
from app.access.secret_box import open_secret_box
from app.base.clock import utc_now
from app.base.settings import Settings
from app.database.embedded.embedded_server import embedded_postgres
from app.database.engine import Database
from app.database.migrations import upgrade
from app.database.partitions import ensure_coming_months
from app.deployments.queries import Definition, Deployments
from app.domain.deployment import Column, Deployment, Endpoint, FieldKind, FieldType, OutputFields, ProblemType


@contextmanager
def own_postgres() -> Iterator[tuple[str, Path]]:
    """Yields the address of a server with fsync on, and a temporary folder for what else is written."""
    with tempfile.TemporaryDirectory(prefix="evenhand-own-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # as root, Postgres runs as another account
        with embedded_postgres(folder / "postgres") as url:
            yield url, folder


@contextmanager
def own_database() -> Iterator[tuple[Database, Path]]:
    """Yields a migrated database of such a server, and the folder."""
    with own_postgres() as (url, folder), closing(Database(url)) as database:
        upgrade(database)
        yield database, folder


def columns_of(types: Mapping[str, FieldType]) -> tuple[Column, ...]:
    """Returns columns of which the strings are categories."""
    return tuple(
        Column(name=name, type=kind, kind=FieldKind.CATEGORICAL if kind is FieldType.STRING else FieldKind.NUMERIC)
        for name, kind in types.items()
    )


def define(
    features: Mapping[str, FieldType], outputs: OutputFields, endpoint: Endpoint | None = None, meta: tuple[Column, ...] = ()
) -> Definition:
    return Definition(
        name="Bench",
        problem_type=ProblemType.BINARY,
        features=columns_of(features),
        meta=meta,
        outputs=outputs,
        model_revision="1",
        endpoint=endpoint,
    )


def create_deployments(database: Database, folder: Path, definition: Definition, *ids: str) -> tuple[str, list[Deployment]]:
    """Returns a key to log records, and deployments with the definition, whose secrets are sealed in the folder."""
    with database.transaction() as session:
        ensure_coming_months(session, utc_now())
        deployments = Deployments(session, open_secret_box(Settings(data_dir=folder)))
        return create_key(session, role=Role.INGEST, name="bench"), [deployments.create(name, definition)[0] for name in ids]


def open_client(port: int, key: str) -> httpx.Client:
    """Returns a client of a service on this machine."""
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {key}"}, timeout=60)


def register(client: httpx.Client, deployment_id: str, number: Mapping[str, str], more: Mapping[str, object], **monitor: object) -> None:
    """Registers a deployment with `sex` and a numeric feature, with `more` members, and a monitor that compares women with men."""
    deployment = {
        "id": deployment_id,
        "name": deployment_id,
        "problem_type": "binary",
        "features": [{"name": "sex", "type": "string"}, number],
        "outputs": {"prediction": "prediction"},
        "model_revision": "1",
    }
    women = {"feature": "sex", "monitored": ["female"], "reference": ["male"]}
    body = {"favourable": [1], "unfavourable": [0], "attributes": [women], **monitor}
    for method, path, sent in (
        ("POST", "/v1/deployments", {**deployment, **more}),
        ("PUT", f"/v1/deployments/{deployment_id}/fairness-monitor", body),
    ):
        answer = client.request(method, path, json=sent)
        if answer.is_error:
            raise SystemExit(f"{path} was answered {answer.status_code}: {answer.text}")
