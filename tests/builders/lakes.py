"""Records written to Parquet files, and a deployment that reads them there, next to one that has the same records in Postgres."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from app.checks.window.window import TablePlaces
from app.deployments.monitor.queries import put_monitor
from app.deployments.queries import Deployments, build_definition
from app.domain.deployment import FeedbackTable, PayloadColumns, PayloadTable, TableFormat
from tests.scenes import PlainSealer, Result, Scene

TIMES = pa.timestamp("us", "UTC")


@dataclass
class Lake:
    """A folder of Parquet files with the records of one deployment; `stage` is that deployment."""

    folder: Path
    stage: Scene
    _files: int = 0
    _types: dict[str, pa.DataType] = field(default_factory=dict)

    def write(self, rows: Sequence[Mapping[str, Any]], at: datetime, *, revision: str | None = None, path: str = "") -> Path:
        """Writes records as one file: each {id, prediction, probability?, at?, and the columns}, scored at their own or that time."""
        schema = self.stage.deployment.schema
        names = [column.name for column in (*schema.features, *schema.meta)]
        columns: dict[str, Any] = {name: pa.array([row.get(name) for row in rows], self._types.get(name)) for name in names}
        columns |= {name: pa.array([row.get(name) for row in rows]) for name in ("id", "prediction")}
        columns["probability"] = pa.array([row.get("probability") for row in rows], self._types.get("probability", pa.float64()))
        columns["scored_at"] = pa.array([row.get("at", at) for row in rows], TIMES)
        own = revision or self.stage.deployment.model_revision
        columns["revision"] = pa.array([row.get("revision", own) if revision is None else own for row in rows], pa.string())
        return self._write("payload", columns, path)

    def label(self, labels: Sequence[tuple[str, object]], at: datetime) -> Path:
        """Writes labels by record id as one file."""
        ids, values = zip(*labels, strict=True)
        return self._write("feedback", {"id": list(ids), "label": list(values), "observed_at": pa.array([at] * len(ids), TIMES)}, "")

    def check(self, start: datetime, end: datetime | None = None) -> Result:
        """Runs a check of [start, end), an hour by default."""
        return self.stage.check(start, end or start + timedelta(hours=1))

    def _write(self, table: str, columns: dict[str, Any], path: str) -> Path:
        self._files += 1
        file = self.folder / table / path / f"part-{self._files}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), file, row_group_size=50)
        return file


def lake_of(
    stage: Scene,
    folder: Path,
    *,
    types: Mapping[str, pa.DataType] | None = None,
    partition_by: str | None = None,
    deployment_id: str = "in-files",
    format: TableFormat = TableFormat.PARQUET,  # noqa: A002 - the table's own word
) -> Lake:
    """Returns a deployment of the same content and monitor as that of the scene, whose records lie in files of the folder."""
    for name in ("payload", "feedback"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    columns = PayloadColumns(probability="probability", model_revision="revision")
    payload = PayloadTable(location=str(folder / "payload"), columns=columns, partition_by=partition_by, format=format)
    definition = replace(build_definition(stage.deployment), payload=payload, feedback=FeedbackTable(location=str(folder / "feedback")))
    with stage.database.transaction() as session:
        deployment, _ = Deployments(session, PlainSealer()).create(deployment_id, definition)
        put_monitor(session, deployment.no, stage.monitor())
    return Lake(folder, Scene(stage.database, deployment, places=TablePlaces((folder,))), _types=dict(types or {}))
