"""Records written to a table of a database, and a deployment that reads them there, next to one that has them logged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from app.batch.engines import Engine, LocalEngine
from app.checks.sources import TablePlaces
from app.domain.definitions import definition_of
from app.domain.deployments import FieldType
from app.domain.tables_of_files import FeedbackTable, PayloadColumns, PayloadTable, TableFormat
from app.store.deployments.deployments import Deployments
from app.store.deployments.monitors import put_monitor
from tests.connections import connect
from tests.scenes import HOUR, PlainSealer, Result, Scene

TYPES = {FieldType.STRING: "text", FieldType.INTEGER: "bigint", FieldType.NUMBER: "numeric", FieldType.BOOLEAN: "boolean"}

NAME = "warehouse"
"""The name of the database in the operator's settings."""


@dataclass
class Warehouse:
    """A schema of a database with the records of one deployment; `stage` is that deployment."""

    url: str
    schema: str
    stage: Scene

    def write(self, rows: Sequence[Mapping[str, Any]], at: datetime, *, revision: str | None = None) -> None:
        """Inserts records: each {id, prediction, probability?, at?, and the columns}, scored at their own or that time."""
        names = [column.name for column in (*self.stage.deployment.schema.features, *self.stage.deployment.schema.meta)]
        own = self.stage.deployment.model_revision
        found = [
            [
                *(row["id"], row.get("at", at), row["prediction"], row.get("probability"), revision or row.get("revision", own)),
                *map(row.get, names),
            ]
            for row in rows
        ]
        self._insert("scores", ["id", "scored_at", "prediction", "probability", "revision", *names], found)

    def label(self, labels: Sequence[tuple[str, object]], at: datetime) -> None:
        """Inserts labels by record id."""
        self._insert("labels", ["id", "observed_at", "label"], [[record, at, label] for record, label in labels])

    def check(self, start: datetime, end: datetime | None = None) -> Result:
        """Runs a check of [start, end), an hour by default."""
        return self.stage.check(start, end or start + HOUR)

    def run(self, statement: str) -> None:
        """Runs a statement, in which {schema} is the schema."""
        with connect(self.url) as connection:
            connection.execute(sql.SQL(statement).format(schema=sql.Identifier(self.schema)))

    def _insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        places = sql.SQL(", ").join([sql.Placeholder()] * len(columns))
        query = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(self.schema, table), names, places)
        with connect(self.url) as connection, connection.cursor() as cursor:
            cursor.executemany(query, rows)


def warehouse_of(stage: Scene, folder: Path, *, schema: str = "lake", engine: Engine | None = None) -> Warehouse:
    """Returns a deployment of the same content and monitor as that of the scene, whose records lie in tables of the scene's database."""
    url = stage.database.url
    found = (*stage.deployment.schema.features, *stage.deployment.schema.meta)
    own = sql.SQL(", ").join(sql.SQL("{} {}").format(sql.Identifier(one.name), sql.SQL(TYPES[one.type])) for one in found)
    with connect(url) as connection:
        _make_tables(connection, schema, own)
    columns = PayloadColumns(probability="probability", model_revision="revision")
    payload = PayloadTable(location=f"{NAME}/{schema}/scores", columns=columns, format=TableFormat.JDBC)
    feedback = FeedbackTable(location=f"{NAME}/{schema}/labels", format=TableFormat.JDBC)
    with stage.database.transaction() as session:
        definition = replace(definition_of(stage.deployment), payload=payload, feedback=feedback)
        deployment, _ = Deployments(session, PlainSealer()).create(f"in-{schema}", definition)
        put_monitor(session, deployment.no, stage.monitor())
    places = TablePlaces(answers=folder, engine=engine or LocalEngine(2), databases={NAME: url})
    return Warehouse(url, schema, Scene(stage.database, deployment, places=places))


def _make_tables(connection: psycopg.Connection[Any], schema: str, own: sql.Composable) -> None:
    connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    connection.execute(
        sql.SQL(
            "CREATE TABLE {} (id varchar(50), scored_at timestamptz, prediction int, probability double precision, revision text, {})"
        ).format(sql.Identifier(schema, "scores"), own)
    )
    connection.execute(
        sql.SQL("CREATE TABLE {} (id text, observed_at timestamptz, label smallint)").format(sql.Identifier(schema, "labels"))
    )
