"""Notes about records that Evenhand did not get."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy.orm import Session

from ..checks.sampling import SAMPLING
from ..clock import HOUR, hour_of
from ..domain.checks import CheckRun, Span
from ..domain.groups import NEAR_TWINS
from ..domain.missing_records import MissingRecords
from ..store.records.missing_records import missing_in
from .check_source import counted_check

NOT_RECEIVED: Final = (
    "Not received: {records} of the hours from {start} to {end} UTC were dropped before they reached Evenhand. They are in no figure, and"
    " nothing is known about their groups or outcomes."
)
SAMPLED: Final = (
    "Sampled at {rate}: the programs that log left {records} of the hours from {start} to {end} UTC out on purpose. Every figure and"
    " every number of records is of those that were logged."
)
REPRESENTED: Final = (
    "Sampled at {rate}: {records} represent {represented:,}. In rates and comparisons each counts for as many as it represents; the"
    " intervals are as wide as those of {effective:,} records that all count alike. Numbers of records are of those that were logged."
)
UNDECIDED: Final = (
    " The rates differ: figures that cannot allow for that are not computable, and evidence over time leaves out the hours in which they"
    " differ."
)
UNEQUALLY: Final = (
    " The rates differ, so a logged record does not always represent the same number of decisions; figures do not allow for that."
)


def missing_of_window(session: Session, deployment_no: int, span: Span, oldest: datetime | None) -> tuple[MissingRecords, Span]:
    """Missing records of a window's hours, and these hours: the span's, back to its oldest record."""
    start = span.start if oldest is None else min(span.start, oldest)
    # The first moment after the span belongs to no hour of it.
    end = hour_of(span.end) if hour_of(span.end) == span.end else hour_of(span.end) + HOUR
    hours = Span(start=hour_of(start), end=end)
    return missing_in(session, deployment_no, hours), hours


def notes_of_check(session: Session, check: CheckRun) -> tuple[str, ...]:
    counted = counted_check(session, check)
    oldest = counted.window.get("oldest_record_at")
    since = None if oldest is None else datetime.fromisoformat(oldest)
    return notes_on_missing(*missing_of_window(session, check.deployment_no, counted.origin.span, since), counted.window)


def notes_on_missing(missing: MissingRecords, hours: Span, window: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns sentences on records that are in no figure; `window` is the stored description of the check's."""
    sampling = window.get(SAMPLING)
    start, end = (f"{moment:%Y-%m-%d %H:%M}" for moment in (hours.start, hours.end))
    notes = []
    if missing.not_received:
        notes.append(NOT_RECEIVED.format(records=_records(missing.not_received), start=start, end=end))
    if sampling is not None:
        note = REPRESENTED.format(
            rate=_rates(sampling["lowest_rate"], sampling["highest_rate"]),
            records=_records(sampling["records"]),
            represented=sampling["represented"],
            effective=sampling["effective"],
        )
        notes.append(note + UNDECIDED if sampling["is_unequal"] else note)
    elif missing.left_out and missing.lowest_rate is not None and missing.highest_rate is not None:
        is_one = missing.lowest_rate == missing.highest_rate
        note = SAMPLED.format(
            rate=_rates(missing.lowest_rate, missing.highest_rate), records=_records(missing.left_out), start=start, end=end
        )
        notes.append(note if is_one else note + UNEQUALLY)
    return (*notes, *(f"{twin}." for twin in window.get(NEAR_TWINS, ())))


def _rates(lowest: float, highest: float) -> str:
    low, high = f"{lowest:.4g}", f"{highest:.4g}"
    return low if low == high else f"{low} to {high}"


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"
