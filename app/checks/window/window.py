"""Records that a check reads. Source: spec of the fairness check, section 2.

The newest `max_records` of the span, topped up with earlier ones to `min_records`.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...base.frozen import frozen
from ...domain.check import Span
from ...domain.monitor import Monitor
from ...sources.stored.window_queries import WindowQuery, name_values
from .window_sources import WindowSource

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
"""Moment before any record's time."""


@frozen
class Window:
    """Rows of a window, newest first; the first `own` lie in the span."""

    rows: pa.Table
    own: int
    columns: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def additional(self) -> int:
        """Rows added from before the span."""
        return len(self) - self.own

    def is_own(self) -> npt.NDArray[np.bool_]:
        return np.arange(len(self)) < self.own

    def weights(self) -> npt.NDArray[np.float64] | None:
        """Per row how many records it represents; None where each represents itself."""
        rates = self.rows["sample_rate"]
        if rates.null_count == len(rates):
            return None
        weights: npt.NDArray[np.float64] = 1 / np.asarray(pc.fill_null(rates, 1.0).to_numpy(), dtype=np.float64)
        return weights

    def values(self) -> pa.Table:
        return name_values(self.rows, self.columns)


@frozen
class PayloadWindow(Window):
    """Window of scoring records; `logged_in_span` includes those beyond `max_records`."""

    logged_in_span: int

    def record_nos(self) -> npt.NDArray[np.int64]:
        numbers: npt.NDArray[np.int64] = self.rows["record_no"].to_numpy()
        return numbers

    def reach(self) -> Span:
        """Span from the oldest to the newest record, both included."""
        times = self.rows["logged_at"]
        return Span(start=_utc(times[len(self) - 1]), end=_utc(times[0])) if len(self) else Span(start=BEGINNING, end=BEGINNING)


def read_payload_window(source: WindowSource, query: WindowQuery, span: Span, monitor: Monitor) -> PayloadWindow:
    rows, own_rows = _read_and_top_up(lambda period, limit: source.payload(query, period, limit), span, monitor)
    logged = source.count(query, span) if own_rows == monitor.max_records else own_rows
    return PayloadWindow(rows, own_rows, query.columns, logged)


def read_feedback_window(source: WindowSource, query: WindowQuery, span: Span, monitor: Monitor) -> Window:
    """Observed labels that the check reads, by when they became usable."""
    rows, own_rows = _read_and_top_up(lambda period, limit: source.feedback(query, period, limit), span, monitor)
    return Window(rows, own_rows, query.columns)


def read_numbers(read: Callable[[Span, int], pa.Table], span: Span, monitor: Monitor) -> Window:
    """Window of a check of `span` without values: `read` returns only the numbers of rows."""
    rows, own_rows = _read_and_top_up(read, span, monitor)
    return Window(rows, own_rows, ())


def _read_and_top_up(read: Callable[[Span, int], pa.Table], span: Span, monitor: Monitor) -> tuple[pa.Table, int]:
    rows = read(span, monitor.max_records)
    missing = monitor.min_records - rows.num_rows
    if missing <= 0:
        return rows, rows.num_rows
    earlier = read(Span(start=BEGINNING, end=span.start), missing)
    return pa.concat_tables([rows, earlier]), rows.num_rows


def _utc(moment: pa.TimestampScalar) -> datetime:
    # Aware, in whatever zone the driver names.
    when: datetime = moment.as_py()
    return when.astimezone(UTC)
