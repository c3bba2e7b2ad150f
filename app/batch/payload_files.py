"""Scoring records in files, in the columns in which a check's window has them."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ..clock import HOUR
from ..domain.checks import Span
from ..domain.deployments import Deployment
from ..domain.tables_of_files import PayloadTable
from ..domain.values import Scalar
from ..store.records.window import VALUE_PREFIX, WindowQuery
from .stored_form import json_texts, probability_texts, read_cells, stored_values
from .table_files import BATCH_ROWS, TableFiles

TIMES = pa.timestamp("us", "UTC")


class PayloadFiles:
    """The payload table of a deployment, as its files are now; of a batch only its partition.

    Raises:
        InvalidInput: the files cannot be read, or a column is missing or of another type.
    """

    def __init__(self, deployment: Deployment, table: PayloadTable, roots: Sequence[Path], *, batch: str | None = None) -> None:
        self._deployment = deployment
        self._columns = table.columns
        schema = deployment.schema
        self._of_schema = {column.name: column for column in (*schema.features, *schema.meta)}
        self._stored = table.columns.of_values(self._of_schema)
        self.files = TableFiles(table, roots, "payload", batch=batch)
        named = {"id": table.columns.id, "scored_at": table.columns.scored_at, "prediction": table.columns.prediction}
        optional = {part: getattr(table.columns, part) for part in ("probability", "label", "model_revision")}
        named |= {part: name for part, name in optional.items() if name is not None}
        values = {f"values.{name}": stored for name, stored in self._stored.items()}
        self.files.require_columns(named | values, time="scored_at")

    def batches(self, query: WindowQuery, span: Span, ids: pa.Array | None = None) -> Iterator[pa.Table]:
        """Yields the records of the span, a batch at a time and in no order; of them only those of the `ids`, if given.

        Columns: logged_at, record_id, model_revision, sample_rate (null), outcome and probability (JSON texts), value_0 …, as
        `newest_payload` of the store.
        """
        columns = self._columns
        wanted = [columns.id, columns.scored_at, columns.prediction, *(self._stored[name] for name in query.columns)]
        wanted += [name for name in (columns.label, columns.model_revision) if name is not None]
        wanted += [columns.probability] if query.with_probabilities and columns.probability is not None else []
        only = None if ids is None else pc.field(columns.id).cast(pa.string()).isin(ids)
        for rows in self.files.read(wanted, columns.scored_at, span, only):
            yield self._as_window(rows, query)

    def newest(self, query: WindowQuery, span: Span, limit: int) -> pa.Table:
        """Returns the newest records of the span, newest first, those of one moment by id."""
        kept: list[pa.Table] = []
        for rows in self.batches(query, span):
            kept.append(rows)
            # Cut now and then, so that memory does not grow with the span.
            if sum(part.num_rows for part in kept) > limit + 4 * BATCH_ROWS:
                kept = [cut_to_newest(kept, limit)]
        return cut_to_newest(kept, limit) if kept else self._as_window(self._no_rows(query), query)

    def newest_before(self, query: WindowQuery, moment: Span, limit: int) -> pa.Table:
        """Returns the newest records before the end of the span, as `newest`, reading back no further than needed."""
        reach, end = HOUR, moment.end
        while True:
            start = max(end - reach, moment.start)
            found = self.newest(query, Span(start=start, end=end), limit)
            if found.num_rows >= limit or start == moment.start:
                return found
            # Growing steps: few of them reach back over years.
            reach = min(reach * 24, end - moment.start + timedelta(microseconds=1))

    def count(self, span: Span) -> int:
        """Returns the number of records in the span."""
        columns = self._columns
        return sum(rows.num_rows for rows in self.files.read([columns.scored_at], columns.scored_at, span))

    def ids(self, span: Span) -> pa.Array:
        """Returns the ids of all records in the span."""
        columns = self._columns
        found = [rows[columns.id].cast(pa.string()) for rows in self.files.read([columns.id], columns.scored_at, span)]
        return pa.chunked_array([chunk for one in found for chunk in one.chunks], pa.string()).combine_chunks()

    def features(self, ids: Sequence[str], span: Span) -> dict[str, list[Scalar | None]]:
        """Returns the features (in schema order) of the records of these ids within the span."""
        columns, features = self._columns, self._deployment.schema.features
        only = pc.field(columns.id).cast(pa.string()).isin(pa.array(ids, pa.string()))
        found: dict[str, list[Scalar | None]] = {}
        wanted = [columns.id, *(self._stored[column.name] for column in features)]
        for rows in self.files.read(wanted, columns.scored_at, span, only):
            cells = [read_cells(rows[self._stored[column.name]], column) for column in features]
            rows_of_cells = zip(*cells, strict=True)
            found |= {
                record: list(values) for record, values in zip(rows[columns.id].cast(pa.string()).to_pylist(), rows_of_cells, strict=True)
            }
        return found

    def _as_window(self, rows: pa.Table, query: WindowQuery) -> pa.Table:
        columns, size = self._columns, rows.num_rows
        outcome = json_texts(rows[columns.prediction])
        if columns.label is not None:
            outcome = pc.coalesce(json_texts(rows[columns.label]), outcome)
        revision = pa.repeat(pa.scalar(self._deployment.model_revision, pa.string()), size)
        if columns.model_revision is not None:
            revision = pc.coalesce(rows[columns.model_revision].cast(pa.string()), revision)
        found = {
            "logged_at": rows[columns.scored_at].cast(TIMES),
            "record_id": rows[columns.id].cast(pa.string()),
            "model_revision": revision,
            "sample_rate": pa.nulls(size, pa.float64()),  # files hold every record
            "outcome": outcome,
        }
        if query.with_probabilities:
            known = columns.probability
            found["probability"] = pa.nulls(size, pa.string()) if known is None else probability_texts(rows[known])
        for no, name in enumerate(query.columns):
            found[f"{VALUE_PREFIX}{no}"] = stored_values(rows[self._stored[name]], self._of_schema[name])
        return pa.table(found)

    def _no_rows(self, query: WindowQuery) -> pa.Table:
        """Returns a table without rows of the types that `_as_window` reads."""
        columns = self._columns
        empty = {columns.id: pa.string(), columns.scored_at: TIMES, columns.prediction: pa.string()}
        empty |= {name: pa.string() for name in (columns.label, columns.model_revision) if name is not None}
        empty |= {} if columns.probability is None else {columns.probability: pa.float64()}
        empty |= {self._stored[name]: pa.null() for name in query.columns}
        return pa.table({name: pa.array([], kind) for name, kind in empty.items()})


def cut_to_newest(parts: Sequence[pa.Table], limit: int, *, time: str = "logged_at", record: str = "record_id") -> pa.Table:
    """Returns the newest rows of the parts by these columns, newest first."""
    rows = pa.concat_tables(parts)
    order = pc.sort_indices(rows, sort_keys=[(time, "descending"), (record, "descending")])
    return rows.take(order[:limit])
