"""Scoring records and labels in files, in the columns of a check's window."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...base.clock import HOUR, floor_to_hour
from ...base.values import Scalar
from ...domain.check import Span
from ...domain.deployment import FeedbackTable, PayloadTable, RecordSchema
from ..stored.window_queries import VALUE_PREFIX, WindowQuery
from .allowed_locations import Root
from .stored_columns import json_codes, json_texts, probability_texts, read_cells, stored_values, text_codes
from .table_files import ALL_FILES, BATCH_ROWS, FileSelection, TableFiles, build_id_filter

TIMES = pa.timestamp("us", "UTC")

MICROSECOND = timedelta(microseconds=1)

ALL_TIMES = Span(start=datetime(1970, 1, 1, tzinfo=UTC), end=datetime(2200, 1, 1, tzinfo=UTC))


class SchemaOfFiles(Protocol):
    """Part of a deployment that its files are read by."""

    @property
    def schema(self) -> RecordSchema: ...

    @property
    def model_revision(self) -> str:
        """The revision of records whose table has no column for it."""


class PayloadForm:
    """Columns of a payload table, and how its rows are read in the form of a window."""

    def __init__(self, deployment: SchemaOfFiles, table: PayloadTable) -> None:
        schema = deployment.schema
        self.columns = table.columns
        self._revision = deployment.model_revision
        self._columns_by_name = {column.name: column for column in schema.columns}
        self.stored = table.columns.map_columns(self._columns_by_name)

    def list_columns(self, query: WindowQuery) -> list[str]:
        columns = self.columns
        optional = (
            columns.label,
            columns.model_revision,
            columns.probability if query.with_probabilities else None,
        )
        names = [columns.prediction, *(self.stored[name] for name in query.columns)]
        return names + [name for name in optional if name is not None]

    def read_counted(self, rows: pa.Table, query: WindowQuery) -> pa.Table:
        """Reads model_revision, outcome and value_0 …, as codes with their distinct values."""
        columns = self.columns
        outcome = json_codes(rows[columns.prediction])
        if columns.label is not None:
            outcome = pc.coalesce(
                json_texts(rows[columns.label]), outcome.dictionary_decode()
            ).dictionary_encode()
        revision = pa.DictionaryArray.from_arrays(
            pa.repeat(pa.scalar(0, "int8"), rows.num_rows), [self._revision]
        )
        if columns.model_revision is not None:
            revision = text_codes(rows[columns.model_revision], self._revision)
        arrays = {"model_revision": revision, "outcome": outcome}
        for no, name in enumerate(query.columns):
            arrays[f"{VALUE_PREFIX}{no}"] = stored_values(
                rows[self.stored[name]], self._columns_by_name[name], coded=True
            )
        return pa.table(arrays)

    def read_window(self, rows: pa.Table, query: WindowQuery) -> pa.Table:
        """Reads the columns of the store's `read_newest_payload`, but for record numbers."""
        counted = self.read_counted(rows, query)
        columns = self.columns
        arrays = {
            "logged_at": rows[columns.scored_at].cast(TIMES),
            "record_id": rows[columns.id].cast("string"),
            "model_revision": counted["model_revision"].cast("string"),
            "sample_rate": pa.nulls(rows.num_rows, "float64"),
            "outcome": counted["outcome"].cast("string"),
        }
        if query.with_probabilities:
            probability = columns.probability
            arrays["probability"] = (
                pa.nulls(rows.num_rows, "string")
                if probability is None
                else probability_texts(rows[probability])
            )
        for no in range(len(query.columns)):
            values = counted[f"{VALUE_PREFIX}{no}"]
            arrays[f"{VALUE_PREFIX}{no}"] = values.cast(values.type.value_type)
        return pa.table(arrays)


class PayloadFiles(TableFiles):
    """Scoring records in files."""

    def __init__(
        self,
        deployment: SchemaOfFiles,
        table: PayloadTable,
        roots: Sequence[Root],
        part: FileSelection = ALL_FILES,
    ) -> None:
        super().__init__(table, roots, "payload", part)
        self._features = deployment.schema.features
        self._columns = table.columns
        self.form = PayloadForm(deployment, table)
        roles = ("id", "scored_at", "prediction", "probability", "label", "model_revision")
        columns_by_role = {role: name for role in roles if (name := getattr(table.columns, role)) is not None}
        values = {f"values.{name}": stored for name, stored in self.form.stored.items()}
        self.require_columns(columns_by_role | values, time="scored_at")

    def batches(self, query: WindowQuery, span: Span, ids: pa.Array | None = None) -> Iterator[pa.Table]:
        """Yields columns logged_at, record_id, model_revision, sample_rate (null), outcome and probability
        (JSON texts), value_0 ….
        """
        columns = self._columns
        names = [columns.id, columns.scored_at, *self.form.list_columns(query)]
        only = None if ids is None else build_id_filter(columns.id, ids)
        for rows in self.read(names, span, only):
            yield self.form.read_window(rows, query)

    def newest(self, query: WindowQuery, span: Span, limit: int) -> pa.Table:
        return _collect(self.empty(query), self.batches(query, span), limit, _cut_to_newest)

    def empty(self, query: WindowQuery) -> pa.Table:
        columns = self._columns
        types = {columns.id: "string", columns.scored_at: TIMES, columns.prediction: "string"}
        types |= {name: "string" for name in (columns.label, columns.model_revision) if name is not None}
        types |= {} if columns.probability is None else {columns.probability: "float64"}
        types |= {self.form.stored[name]: "null" for name in query.columns}
        return self.form.read_window(pa.schema(types).empty_table(), query)

    def newest_before(self, query: WindowQuery, moment: Span, limit: int) -> pa.Table:
        reach = HOUR
        end = moment.end
        while True:
            start = max(end - reach, moment.start)
            newest = self.newest(query, Span(start=start, end=end), limit)
            if newest.num_rows >= limit or start == moment.start:
                return newest
            reach = min(reach * 24, end - moment.start + MICROSECOND)

    def ids(self, span: Span) -> pa.Array:
        name = self._columns.id
        chunks = [chunk for rows in self.read([name], span) for chunk in rows[name].cast("string").chunks]
        return pa.chunked_array(chunks, "string").combine_chunks()

    def features(self, ids: Sequence[str], span: Span) -> dict[str, list[Scalar | None]]:
        key = self._columns.id
        stored = self.form.stored
        features_by_id: dict[str, list[Scalar | None]] = {}
        names = [key, *(stored[column.name] for column in self._features)]
        for rows in self.read(names, span, build_id_filter(key, pa.array(ids, "string"))):
            cells = [read_cells(rows[stored[column.name]], column) for column in self._features]
            features_by_id |= zip(
                rows[key].cast("string").to_pylist(), map(list, zip(*cells, strict=True)), strict=True
            )
        return features_by_id


def _collect(
    empty: pa.Table, batches: Iterable[pa.Table], limit: int, cut: Callable[[pa.Table, int], pa.Table]
) -> pa.Table:
    tables = [empty]
    for rows in batches:
        tables.append(rows)
        if sum(table.num_rows for table in tables) > limit + 4 * BATCH_ROWS:
            tables = [cut(pa.concat_tables(tables), limit)]
    return cut(pa.concat_tables(tables), limit)


def _cut_to_newest(
    rows: pa.Table, limit: int, time: str = "logged_at", record: str = "record_id"
) -> pa.Table:
    order = pc.sort_indices(rows, sort_keys=[(time, "descending"), (record, "descending")])
    return rows.take(order[:limit])


def _cut_labels(rows: pa.Table, limit: int) -> pa.Table:
    return _cut_to_newest(keep_first(rows), limit, "usable_at", "feedback_id")


class FeedbackFiles(TableFiles):
    """Labels in files; `without_record` counts those whose record was not found."""

    def __init__(self, table: FeedbackTable, roots: Sequence[Root], part: FileSelection = ALL_FILES) -> None:
        super().__init__(table, roots, "feedback", part)
        self._columns = table.columns
        self.without_record = 0
        self.require_columns(asdict(table.columns), time="observed_at")

    def newest_of(self, batch: PayloadFiles, query: WindowQuery, span: Span, limit: int) -> pa.Table:
        later = Span(start=span.start, end=ALL_TIMES.end)
        return self._join(self._newest(later, limit, batch.ids(span)), batch, query, span)

    def newest(self, payload: PayloadFiles, query: WindowQuery, span: Span, limit: int) -> pa.Table:
        """Reads labels observed in the span, of records scored before its end, newest first.

        Columns: feedback_id, record_logged_at, model_revision, label and predicted (JSON texts), probability
        if it is wanted, value_0 …. Of several labels of one record, the first counts.
        """
        return self._join(
            self._newest(span, limit), payload, query, Span(start=ALL_TIMES.start, end=span.end)
        )

    def labelled_among(self, records: pa.Array, until: datetime) -> pa.Array:
        labels = self._newest(Span(start=ALL_TIMES.start, end=until), len(records), records)
        return labels.filter(pc.is_valid(labels["label"]))["feedback_id"].combine_chunks()

    def first_labels(self, records: pa.Table, horizon: timedelta) -> pa.Table:
        """Adds label (JSON text), the first within the horizon; leaves out records without."""
        times = pc.min_max(records["logged_at"]).as_py()
        if times["min"] is None:
            return records.slice(0, 0).append_column("label", pa.array([], "string"))
        observed = Span(start=floor_to_hour(times["min"]), end=times["max"] + horizon + MICROSECOND)
        ids = records["record_id"].combine_chunks()
        labels = pa.concat_tables([_LABELS.empty_table(), *self._batches(observed, ids)])
        joined = records.join(
            labels.filter(pc.is_valid(labels["label"])), "record_id", "feedback_id", join_type="inner"
        )
        logged, usable = (joined[name].cast("int64").to_numpy() for name in ("logged_at", "usable_at"))
        hour = int(HOUR / MICROSECOND)
        longest = int(horizon / MICROSECOND)
        joined = joined.filter(pa.array((usable >= logged // hour * hour) & (usable <= logged + longest)))
        return keep_first(joined, record="record_id").drop_columns(["usable_at"])

    def _join(self, labels: pa.Table, payload: PayloadFiles, query: WindowQuery, scored: Span) -> pa.Table:
        ids = labels["feedback_id"].combine_chunks()
        batches = payload.batches(query, scored, ids) if len(ids) else ()
        records = pa.concat_tables([payload.empty(query), *batches])
        positions_by_id = {
            record: position for position, record in enumerate(records["record_id"].to_pylist())
        }
        positions = pa.array([positions_by_id.get(record_id) for record_id in ids.to_pylist()], "int64")
        has_record = pc.is_valid(positions)
        self.without_record += positions.null_count
        joined = records.take(positions.filter(has_record))
        labels = labels.filter(has_record)
        joined = name_columns_of_labels(joined.drop_columns(["record_id"]))
        return joined.append_column("label", labels["label"]).append_column(
            "feedback_id", labels["feedback_id"]
        )

    def _newest(self, span: Span, limit: int, records: pa.Array | None = None) -> pa.Table:
        return _collect(_LABELS.empty_table(), self._batches(span, records), limit, _cut_labels)

    def _batches(self, span: Span, records: pa.Array | None) -> Iterator[pa.Table]:
        columns = self._columns
        only = None if records is None else build_id_filter(columns.id, records)
        for rows in self.read([columns.id, columns.observed_at, columns.label], span, only):
            ids = rows[columns.id].cast("string")
            times = rows[columns.observed_at].cast(TIMES)
            yield pa.table(
                {"feedback_id": ids, "usable_at": times, "label": json_texts(rows[columns.label])}, _LABELS
            )


_LABELS = pa.schema({"feedback_id": "string", "usable_at": TIMES, "label": "string"})


def name_columns_of_labels(records: pa.Table) -> pa.Table:
    names = {"logged_at": "record_logged_at", "outcome": "predicted"}
    return records.rename_columns([names.get(name, name) for name in records.column_names])


def keep_first(labels: pa.Table, *, record: str = "feedback_id") -> pa.Table:
    """Keeps the first by `usable_at`, then by sort order; ordered by record."""
    ordered = labels.sort_by([(record, "ascending"), ("usable_at", "ascending"), ("label", "ascending")])
    coded = ordered[record].combine_chunks().dictionary_encode().indices.to_numpy()
    return ordered.take(pa.array(np.unique(coded, return_index=True)[1]))
