"""Batches that requests ask to be written, ready for COPY, and their outcomes.

Made for every request, so the frozen classes are msgspec's, which cost a fifth of a frozen dataclass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from ...domain.arrivals import RecordSource


class PayloadBatch(Struct, frozen=True, kw_only=True, eq=False):
    """Checked payload records of one deployment.

    `keys` and `records` are COPY lines in the columns of `payload_writer`, one per record and in the same order; `numbers` are
    their record numbers, ascending. `scored_at_sent[i]` says that the client stated when record i was scored,
    and that a stored record of the same id with another time is therefore a conflict.
    `row_version` is that of the deployment's row under which the records were checked. `hours` are those that historical records lie in,
    and `minutes` how many of them each minute has, of the minutes whose records are counted; `source` is counted with all of them.
    """

    deployment_no: int
    row_version: str
    numbers: Sequence[int]
    keys: bytes
    records: bytes
    scored_at_sent: Sequence[bool]
    historical: bool = False
    hours: Sequence[datetime] = ()
    minutes: Mapping[datetime, int] = {}
    source: RecordSource = RecordSource.REST


class FeedbackBatch(Struct, frozen=True, kw_only=True, eq=False):
    """Checked feedback records of one deployment; the columns of `lines` are in `feedback_writer`."""

    deployment_no: int
    row_version: str
    numbers: Sequence[int]
    lines: bytes
    historical: bool = False
    source: RecordSource = RecordSource.REST


Batch: TypeAlias = PayloadBatch | FeedbackBatch


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """Positions within the batch of the records that were not newly stored; all others were. Each ascending."""

    duplicates: Sequence[int] = ()
    conflicts: Sequence[int] = ()


NOTHING_SPECIAL = WriteOutcome()
"""All records were newly stored."""


def outcome_of(batch: Batch, is_same: Mapping[int, bool]) -> WriteOutcome:
    """Returns the outcome of a batch. `is_same` has the numbers of the records whose id was taken, and whether by the same record."""
    taken = [(position, is_same[number]) for position, number in enumerate(batch.numbers) if number in is_same]
    if not taken:
        return NOTHING_SPECIAL
    return WriteOutcome(
        duplicates=[position for position, same in taken if same],
        conflicts=[position for position, same in taken if not same],
    )


class StaleTarget(Exception):
    """The deployment was changed or deleted since the records were checked; nothing of these batches was written."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        super().__init__("the deployment has changed")
        self.batches = batches


class RowsRefused(Exception):
    """Postgres refused the rows themselves; nothing was written. Asking again with the same rows is of no use."""


class NoPartition(RowsRefused):
    """The partition for the month of a record is missing. Make it, then write again."""
