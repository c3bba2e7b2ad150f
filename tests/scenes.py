"""A watched deployment with logged records, put straight into the store, so that a test of checks needs no HTTP service."""

import csv
import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, cast

import psycopg
from sqlalchemy import insert

from app.calls.egress_policy import OPEN, EgressPolicy
from app.charts.series import measure_requested
from app.checks.check import perform_check
from app.checks.queries import read_model_answer, read_run
from app.checks.result_queries import StoredTable, read_measurements, read_stored_tables
from app.checks.window.window import NO_TABLES, TablePlaces
from app.database.engine import Database
from app.database.partitions import ensure_months
from app.database.tables import CheckRow
from app.deployments.monitor.queries import find_monitor, put_monitor
from app.deployments.queries import Definition, Deployments, build_definition
from app.domain.check import CheckRun, CheckState, Measurement, Progress, Span, Trigger
from app.domain.deployment import Column, Deployment, Endpoint, FieldKind, FieldType, OutputFields, ProblemType
from app.domain.monitor import Monitor
from app.mitigation.window.mitigate_window import mitigate_window
from app.statistics.catalogue import CATALOGUE
from tests.builders.results import only_group
from tests.connections import connect
from tests.databases import Snapshot

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
"""A Monday."""
HOUR = timedelta(hours=1)


class PlainSealer:
    """Seals nothing: for tests without secrets."""

    def seal(self, plain: bytes) -> bytes:
        return plain

    def unseal(self, sealed: bytes) -> bytes:
        return sealed


@dataclass
class Scene:
    """One deployment in one database. Times are given; record numbers count up from 1, or from where they are set to."""

    database: Database
    deployment: Deployment
    reported: list[Progress] = field(default_factory=list)
    report: Callable[[Progress], None] | None = None
    places: TablePlaces = NO_TABLES
    policy: EgressPolicy = OPEN
    _last_no: int = 0
    _months: set[tuple[int, int]] = field(default_factory=set)

    def log(self, rows: Iterable[dict[str, Any]], at: datetime, *, revision: str | None = None) -> None:
        """Logs records: each {id?, prediction, label?, probability?, and the columns}."""
        names = [column.name for column in self.deployment.schema.features]
        metas = [column.name for column in self.deployment.schema.meta]
        self._ensure_months([(at.year, at.month)])
        with self._connection() as connection, connection.cursor() as cursor:
            keys, records = [], []
            for row in rows:
                self._last_no += 1
                record_id = row.get("id", f"r{self._last_no}")
                keys.append((self.deployment.no, record_id, self._last_no, at))
                records.append(
                    (
                        *(self.deployment.no, at, self._last_no, record_id, self.deployment.schema.version),
                        *(revision or self.deployment.model_revision, at),
                        json.dumps([row[name] for name in names]),
                        json.dumps([row[name] for name in metas]) if metas else None,
                        json.dumps(row["prediction"]),
                        *(None if row.get(name) is None else json.dumps(row[name]) for name in ("probability", "label")),
                        row.get("sample_rate"),
                    )
                )
            with cursor.copy("COPY payload_keys (deployment_no, record_id, record_no, logged_at) FROM STDIN") as copy:
                for key in keys:
                    copy.write_row(key)
            with cursor.copy(
                "COPY payload_records (deployment_no, logged_at, record_no, record_id, schema_version, model_revision, scored_at,"
                " features, meta, prediction, probability, label, sample_rate) FROM STDIN"
            ) as copy:
                for record in records:
                    copy.write_row(record)
            cursor.execute(
                "INSERT INTO record_counts (minute, deployment_no, records) VALUES (date_trunc('minute', %s), %s, %s)",
                (at, self.deployment.no, len(records)),
            )

    def number_from(self, no: int) -> None:
        """Gives this number to the next record or label, as another process with another block of numbers would."""
        self._last_no = no - 1

    def label(self, labels: Iterable[tuple[str, object]], at: datetime) -> None:
        """Logs observed labels by record id, as they arrive before their record is looked for."""
        with self._connection() as connection, connection.cursor() as cursor:
            for record_id, label in labels:
                self._last_no += 1
                cursor.execute(
                    "INSERT INTO feedback_records (deployment_no, feedback_id, feedback_no, logged_at, schema_version, label)"
                    " VALUES (%s, %s, %s, %s, %s, %s)",
                    (self.deployment.no, record_id, self._last_no, at, self.deployment.schema.version, json.dumps(label)),
                )

    def label_features(self, rows: Sequence[dict[str, Any]], at: datetime) -> None:
        """Logs labelled records that were never payload: {label and the features}."""
        names = [column.name for column in self.deployment.schema.features]
        with self._connection() as connection, connection.cursor() as cursor:
            for row in rows:
                self._last_no += 1
                cursor.execute(
                    "INSERT INTO feedback_records"
                    " (deployment_no, feedback_id, feedback_no, logged_at, usable_at, schema_version, label, features)"
                    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                    (
                        *(self.deployment.no, f"f{self._last_no}", self._last_no, at, at, self.deployment.schema.version),
                        *(json.dumps(row["label"]), json.dumps([row[name] for name in names])),
                    ),
                )

    def queue(self, span: Span, trigger: Trigger = Trigger.RANGE) -> CheckRun:
        """A running check of the span, as a worker would hold it."""
        with self.database.transaction() as session:
            no = session.scalar(
                insert(CheckRow)
                .values(
                    id=str(uuid.uuid4()),
                    deployment_no=self.deployment.no,
                    trigger=trigger,
                    state=CheckState.RUNNING,
                    span_start=span.start,
                    span_end=span.end,
                    claimable_at=None,
                    attempts=1,
                    lease_token=uuid.uuid4().hex,
                    cancel_requested=False,
                    created_by="test",
                    started_at=span.end,
                )
                .returning(CheckRow.no)
            )
            assert no is not None
            return read_run(session, no)

    def check(self, start: datetime, end: datetime | None = None, trigger: Trigger = Trigger.RANGE) -> "Result":
        """Runs a check of [start, end), an hour by default."""
        run = self.queue(Span(start=start, end=end or start + HOUR), trigger)
        self.perform(run)
        return self.result(run)

    def perform(self, run: CheckRun) -> None:
        """Runs a queued check in this thread."""
        report = self.report or self.reported.append
        perform_check(
            run,
            database=self.database,
            sealer=PlainSealer(),
            report=report,
            further=mitigate_window,
            egress=lambda: self.policy,
            places=self.places,
        )

    def result(self, run: CheckRun) -> "Result":
        """What is stored of a check."""
        with self.database.transaction() as session:
            return Result(read_run(session, run.no), read_measurements(session, run.no), read_stored_tables(session, run.no), self.database)

    def model_answer(self, run: CheckRun) -> str:
        """What the model said instead of a usable answer."""
        with self.database.transaction() as session:
            return read_model_answer(session, run.no) or ""

    def monitor(self) -> Monitor:
        """The stored monitor."""
        with self.database.transaction() as session:
            stored = find_monitor(session, self.deployment.no)
            assert stored is not None
            return stored

    def watch(self, monitor: Monitor) -> None:
        """Replaces the monitor."""
        with self.database.transaction() as session:
            put_monitor(session, self.deployment.no, monitor)

    def revise(self, revision: str) -> None:
        """Gives the deployment's model that revision."""
        with self.database.transaction() as session:
            changed = replace(build_definition(self.deployment), model_revision=revision)
            self.deployment = Deployments(session, PlainSealer()).change(self.deployment, changed)

    def stop_running(self) -> None:
        """Ends a check that failed in this thread, as the worker would."""
        with self._connection() as connection:
            connection.execute("UPDATE checks SET state = 'failed', claimable_at = NULL WHERE state = 'running'")

    def count(self, table: str) -> int:
        """Rows in a table."""
        with self._connection() as connection:
            row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - the tests' own names
            assert row is not None
            return int(row[0])

    def moved_to(self, database: Database) -> "Scene":
        """Returns the same scene for a copy of its database, with the partitions of its months but without rows."""
        moved = Scene(database, self.deployment, report=self.report, _last_no=self._last_no)
        moved._ensure_months(self._months)
        return moved

    def _ensure_months(self, months: Iterable[tuple[int, int]]) -> None:
        self._months.update(months)
        with self.database.transaction() as session:
            ensure_months(session, sorted(self._months))

    def _connection(self) -> psycopg.Connection[Any]:
        return connect(self.database.url)


class Movable(Protocol):
    """A scene, or what is built on one."""

    database: Database

    def moved_to(self, database: Database) -> Self:
        """Returns the same for a copy of its database, without rows."""
        ...


Made = TypeVar("Made", bound=Movable)


class SceneMemory:
    """One scene, made by the first test that asks for it. Others get its rows in a database of their own: a tenth of the time."""

    def __init__(self) -> None:
        self._made: Any = None
        self._rows: Snapshot | None = None

    def recall(self, database: Database, make: Callable[[], Made]) -> Made:
        """Returns the scene that `make` makes in an empty database; its models must outlive the test."""
        if self._made is None or self._rows is None:
            self._made, self._rows = make(), Snapshot(database.url)
            return cast("Made", self._made)
        recalled = cast("Made", self._made.moved_to(database))
        self._rows.restore(database.url)
        return recalled


@dataclass
class Result:
    """A stored check."""

    run: CheckRun
    measurements: list[Measurement]
    tables: list[StoredTable]
    database: Database

    def get(self, metric: str, data: str, attribute: str | None = None, group: str | None = None, scope: str | None = None) -> Measurement:
        """The one measurement that fits; of a metric that no check stores, measured now."""
        every = self.measurements
        if not CATALOGUE[metric].is_stored:
            with self.database.transaction() as session:
                every = measure_requested(session, self.run, [metric])
        of_metric = [m for m in every if (m.metric, m.data, m.attribute) == (metric, data, attribute)]
        if scope == "worst":
            fitting = [m for m in of_metric if m.worst_of is not None]
        else:
            wanted_scope = scope or ("group" if group else None)
            fitting = [m for m in of_metric if m.group == group and wanted_scope in (None, m.scope)]
        if not fitting and scope is not None:  # a role of one group has this group's
            only = only_group([m for m in self.measurements if m.attribute == attribute], scope)
            fitting = [m for m in of_metric if only is not None and m.group == only]
        assert len(fitting) == 1, [(m.metric, m.data, m.attribute, m.group, m.scope) for m in fitting or self.measurements]
        return fitting[0]

    def value(self, metric: str, data: str, attribute: str | None = None, group: str | None = None, scope: str | None = None) -> float:
        """The value of the one measurement that fits."""
        figure = self.get(metric, data, attribute, group, scope)
        assert figure.value is not None, figure.reason
        return figure.value


def scene(
    database: Database,
    columns: Sequence[Column],
    monitor: Monitor,
    *,
    endpoint: Endpoint | None,
    meta: Sequence[Column] = (),
    problem_type: ProblemType = ProblemType.BINARY,
    probability: str | None = "probability",
    deployment_id: str = "a-model",
) -> Scene:
    """A deployment with these features and meta columns, watched by the monitor."""
    definition = Definition(
        name="A model",
        problem_type=problem_type,
        features=tuple(columns),
        meta=tuple(meta),
        outputs=OutputFields(prediction="prediction", probability=probability),
        model_revision="1",
        endpoint=endpoint,
    )
    with database.transaction() as session:
        deployment, _ = Deployments(session, PlainSealer()).create(deployment_id, definition)
        put_monitor(session, deployment.no, monitor)
    return Scene(database, deployment)


def golden_columns(model: dict[str, Any], integers: Iterable[str]) -> list[Column]:
    """The features of a golden model in the order of its terms."""
    whole = set(integers)
    return [
        Column(
            name=term["feature"],
            type=(FieldType.INTEGER if term["feature"] in whole else FieldType.NUMBER) if term["type"] == "numeric" else FieldType.STRING,
            kind=FieldKind.NUMERIC if term["type"] == "numeric" else FieldKind.CATEGORICAL,
        )
        for term in model["terms"]
    ]


def golden_rows(case: Path, columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The golden predictions as records: {id, prediction, probability, label, and the columns}, numbers as numbers."""
    numeric = {column.name for column in columns if column.kind is FieldKind.NUMERIC}
    with (case / "predictions.csv").open() as file:
        return [
            {
                **{name: int(value) if name in numeric else value for name, value in row.items()},
                "id": row["row_id"],
                "prediction": int(row["prediction"]),
                "probability": float(row["score"]),
                "actual": int(row["label"]),
                "label": None,
            }
            for row in csv.DictReader(file)
        ]
