"""Labels in files, each joined to its payload record."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..clock import HOUR, hour_of
from ..domain.checks import Span
from ..domain.tables_of_files import FeedbackTable
from ..store.records.window import WindowQuery
from .locations import Root
from .payload_files import TIMES, PayloadFiles, cut_to_newest
from .pieces import BATCH_ROWS
from .stored_form import json_texts
from .table_files import WHOLE, TableFiles, TablePart, has_id

MICROSECOND = timedelta(microseconds=1)

ALL_TIMES = Span(start=datetime(1970, 1, 1, tzinfo=UTC), end=datetime(2200, 1, 1, tzinfo=UTC))


class FeedbackFiles:
    def __init__(self, table: FeedbackTable, roots: Sequence[Root], part: TablePart = WHOLE) -> None:
        self._columns = table.columns
        self.without_record = 0
        self.files = TableFiles(table, roots, "feedback", part)
        named = {"id": table.columns.id, "observed_at": table.columns.observed_at, "label": table.columns.label}
        self.files.require_columns(named, time="observed_at")

    def newest_of(self, batch: PayloadFiles, query: WindowQuery, span: Span, limit: int) -> pa.Table:
        """Returns the newest labels of a batch's records, all scored in the span."""
        later = Span(start=span.start, end=ALL_TIMES.end)
        return self._join(self._read(later, limit, batch.ids(span)), batch, query, span)

    def newest(self, payload: PayloadFiles, query: WindowQuery, span: Span, limit: int) -> pa.Table:
        """Returns the newest labels observed in the span of records scored before its end, newest first.

        Columns: feedback_id, record_logged_at, model_revision, label and predicted (JSON texts), probability if it is wanted, value_0 ….
        Of several labels of one record, the first counts.
        """
        return self._join(self._read(span, limit), payload, query, Span(start=ALL_TIMES.start, end=span.end))

    def labelled_among(self, records: pa.Array, until: datetime) -> pa.Array:
        """Returns the ids of those records that have a label observed before `until`."""
        labels = self._read(Span(start=ALL_TIMES.start, end=until), len(records), records)
        return labels.filter(pc.is_valid(labels["label"]))["feedback_id"].combine_chunks()

    def first_labels(self, records: pa.Table, horizon: timedelta) -> pa.Table:
        """Returns the records with a label within the horizon, and that as one more column: label (JSON text).

        The first counts, from the record's hour on.
        """
        times = pc.min_max(records["logged_at"]).as_py()
        if times["min"] is None:
            return records.slice(0, 0).append_column("label", pa.array([], pa.string()))
        observed = Span(start=hour_of(times["min"]), end=times["max"] + horizon + timedelta(microseconds=1))
        ids = records["record_id"].combine_chunks()
        found = [pa.table({name: pa.array([], kind) for name, kind in _LABELS.items()}), *self._batches(observed, ids)]
        labels = pa.concat_tables(found)
        joined = records.join(labels.filter(pc.is_valid(labels["label"])), "record_id", "feedback_id", join_type="inner")
        logged, usable = (joined[name].cast(pa.int64()).to_numpy() for name in ("logged_at", "usable_at"))
        hour, most = int(HOUR / MICROSECOND), int(horizon / MICROSECOND)
        joined = joined.filter(pa.array((usable >= logged // hour * hour) & (usable <= logged + most)))
        return keep_first(joined, record="record_id").drop_columns(["usable_at"])

    def _join(self, labels: pa.Table, payload: PayloadFiles, query: WindowQuery, scored: Span) -> pa.Table:
        ids = labels["feedback_id"].combine_chunks()
        found = list(payload.batches(query, scored, ids)) if len(ids) else []
        # Columns of an empty span.
        records = pa.concat_tables(found) if found else payload.newest(query, Span(start=scored.end, end=scored.end), 1)
        place_of = {record: place for place, record in enumerate(records["record_id"].to_pylist())}
        places = pa.array([place_of.get(one) for one in ids.to_pylist()], pa.int64())
        known = pc.is_valid(places)
        self.without_record += places.null_count
        joined, labels = records.take(places.filter(known)), labels.filter(known)
        joined = name_columns_of_labels(joined.drop_columns(["record_id"]))
        for name in ("label", "feedback_id"):
            joined = joined.append_column(name, labels[name])
        return joined

    def _read(self, span: Span, limit: int, records: pa.Array | None = None) -> pa.Table:
        kept = [pa.table({name: pa.array([], kind) for name, kind in _LABELS.items()})]
        for rows in self._batches(span, records):
            kept.append(rows)
            # Memory follows the limit and not the files.
            if sum(part.num_rows for part in kept) > limit + 4 * BATCH_ROWS:
                kept = [cut_to_newest([keep_first(pa.concat_tables(kept))], limit, time="usable_at", record="feedback_id")]
        return cut_to_newest([keep_first(pa.concat_tables(kept))], limit, time="usable_at", record="feedback_id")

    def _batches(self, span: Span, records: pa.Array | None) -> Iterator[pa.Table]:
        columns = self._columns
        only = None if records is None else has_id(columns.id, records)
        for rows in self.files.read([columns.id, columns.observed_at, columns.label], columns.observed_at, span, only):
            ids, times = rows[columns.id].cast(pa.string()), rows[columns.observed_at].cast(TIMES)
            yield pa.table({"feedback_id": ids, "usable_at": times, "label": json_texts(rows[columns.label])}, pa.schema(_LABELS))


_LABELS = {"feedback_id": pa.string(), "usable_at": TIMES, "label": pa.string()}


def name_columns_of_labels(records: pa.Table) -> pa.Table:
    """Names the columns of records as `newest_feedback` does."""
    names = {"logged_at": "record_logged_at", "outcome": "predicted"}
    return records.rename_columns([names.get(name, name) for name in records.column_names])


def keep_first(labels: pa.Table, *, record: str = "feedback_id") -> pa.Table:
    """Returns the first label of each record by `usable_at`, then by sort order, ordered by record."""
    ordered = labels.sort_by([(record, "ascending"), ("usable_at", "ascending"), ("label", "ascending")])
    coded = ordered[record].combine_chunks().dictionary_encode().indices.to_numpy()
    return ordered.take(pa.array(np.unique(coded, return_index=True)[1]))
