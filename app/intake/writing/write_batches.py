"""Batches ready for COPY, and the outcomes of their writes. Batches are Structs, because these cost a fifth
of a frozen dataclass.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from ...base.values import frozen
from ...domain.record_times import RecordSource


class Batch(Struct, frozen=True, kw_only=True, eq=False):
    """Checked records of one deployment as COPY `lines`, in the columns of `writer`; labels, unless it is a
    PayloadBatch. `numbers` are the record numbers, ascending.

    `row_version` is that of the deployment's row when the records were checked.
    """

    deployment_no: int
    row_version: str
    numbers: Sequence[int]
    lines: bytes
    historical: bool = False
    source: RecordSource = RecordSource.REST


class PayloadBatch(Batch, frozen=True, kw_only=True):
    """Payload records.

    `keys` and `lines` have the same order. `scored_at_sent[i]`: the client stated the time, so another stored
    time is a conflict. `hours` are those of historical records, `minutes` the numbers of records by counted
    minute.
    """

    keys: bytes
    scored_at_sent: Sequence[bool]
    hours: Sequence[datetime] = ()
    minutes: Mapping[datetime, int] = {}


@frozen
class WriteOutcome:
    """Positions in a batch of records whose id was stored before, with the same content or another one."""

    duplicates: Sequence[int] = ()
    conflicts: Sequence[int] = ()


ALL_STORED = WriteOutcome()


def find_write_outcome(batch: Batch, is_same: Mapping[int, bool]) -> WriteOutcome:
    """Finds the outcome of a batch. `is_same` has the numbers of records whose id was stored before, and
    whether with the same content.
    """
    numbers = enumerate(batch.numbers)
    repeated = [(position, is_same[number]) for position, number in numbers if number in is_same]
    return WriteOutcome(
        duplicates=tuple(position for position, is_equal in repeated if is_equal),
        conflicts=tuple(position for position, is_equal in repeated if not is_equal),
    )


class StaleTarget(Exception):
    """Raised if the deployment was changed or deleted since the records were checked; nothing was written."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        super().__init__("the deployment has changed")
        self.batches = batches


class RowsRefused(Exception):
    """Raised if Postgres refused the rows themselves; nothing was written. A repetition is of no use."""


class NoPartition(RowsRefused):
    """Raised if the partition of a month is missing. Make it, then write again."""
