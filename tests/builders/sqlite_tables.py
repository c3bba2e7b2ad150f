"""Records written to tables of an SQLite database, and a deployment that reads them there."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from app.batch.engines import Engine, LocalEngine
from app.checks.sources import TablePlaces
from app.domain.definitions import definition_of
from app.domain.deployments import FieldType
from app.domain.tables_of_files import FeedbackTable, PayloadColumns, PayloadTable, TableFormat
from app.store.deployments.deployments import Deployments
from app.store.deployments.monitors import put_monitor
from tests.scenes import HOUR, PlainSealer, Result, Scene

NAME = "branch"
"""The name of the database in the operator's settings."""

TYPES = {FieldType.STRING: "TEXT", FieldType.INTEGER: "INTEGER", FieldType.NUMBER: "NUMERIC(20, 4)", FieldType.BOOLEAN: "INTEGER"}


@dataclass
class SqliteTables:
    """The file with the records of one deployment; `stage` is that deployment."""

    file: Path
    stage: Scene

    def write(self, rows: Sequence[Mapping[str, Any]], at: datetime, *, revision: str | None = None) -> None:
        """Inserts records: each {id, prediction, probability?, at?, and the columns}, scored at their own or that time."""
        names = [column.name for column in (*self.stage.deployment.schema.features, *self.stage.deployment.schema.meta)]
        own = self.stage.deployment.model_revision
        found = [
            [
                *(row["id"], spell(row.get("at", at)), row["prediction"], row.get("probability"), revision or row.get("revision", own)),
                *map(row.get, names),
            ]
            for row in rows
        ]
        self.insert("SCORES", found)

    def label(self, labels: Sequence[tuple[str, object]], at: datetime) -> None:
        """Inserts labels by record id."""
        self.insert("LABELS", [[record, spell(at), label] for record, label in labels])

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Inserts rows as they are."""
        with closing(sqlite3.connect(self.file)) as connection, connection:
            if rows:
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)  # noqa: S608 - of a test

    def run(self, statement: str) -> None:
        """Runs a statement."""
        with closing(sqlite3.connect(self.file)) as connection, connection:
            connection.execute(statement)

    def check(self, start: datetime, end: datetime | None = None) -> Result:
        """Runs a check of [start, end), an hour by default."""
        return self.stage.check(start, end or start + HOUR)


def spell(moment: datetime) -> str:
    """The forms in which programs store times, by turns."""
    return [moment.isoformat(), moment.isoformat(" "), moment.replace(tzinfo=None).isoformat(" ")][moment.microsecond % 3]


def sqlite_tables_of(stage: Scene, folder: Path, *, engine: Engine | None = None) -> SqliteTables:
    """Returns a deployment of the same content and monitor as that of the scene, whose records lie in SQLite, in upper-case names."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "branch.db"
    found = (*stage.deployment.schema.features, *stage.deployment.schema.meta)
    own = ", ".join(f'"{one.name.upper()}" {TYPES[one.type]}' for one in found)
    tables = SqliteTables(file, stage)
    tables.run(f"CREATE TABLE SCORES (ID TEXT, SCORED_AT TIMESTAMP, PREDICTION INT, PROBABILITY DOUBLE, REVISION TEXT, {own})")
    tables.run("CREATE TABLE LABELS (ID TEXT, OBSERVED_AT DATETIME, LABEL SMALLINT)")
    columns = PayloadColumns(probability="probability", model_revision="revision")
    payload = PayloadTable(location=f"{NAME}/main/scores", columns=columns, format=TableFormat.JDBC)
    feedback = FeedbackTable(location=f"{NAME}/main/labels", format=TableFormat.JDBC)
    with stage.database.transaction() as session:
        definition = replace(definition_of(stage.deployment), payload=payload, feedback=feedback)
        deployment, _ = Deployments(session, PlainSealer()).create(f"in-{folder.name}-{stage.deployment.id}"[:60], definition)
        put_monitor(session, deployment.no, stage.monitor())
    places = TablePlaces(answers=folder, engine=engine or LocalEngine(2), databases={NAME: f"sqlite:///{file}"})
    tables.stage = Scene(stage.database, deployment, places=places)
    return tables
