"""Choice of each person's first record, where a column says whose record each is: only that counts."""

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlalchemy.orm import Session

from ..base.clock import floor_to_hour
from ..base.values import canonical
from ..sources.arrays.favourable_scores import read_stored_cells
from ..statistics.group_labels import MISSING
from .queries.hour_counts import LoggedPlace, read_first_records, store_first_records


@dataclass
class FirstOfSpan:
    """Chooses among the rows that are passed, without storing anything."""

    seen: set[str] = field(default_factory=set)

    def choose(self, people: pa.ChunkedArray, rows: pa.Table) -> npt.NDArray[np.bool_]:
        coded = read_stored_cells(people).coded()
        names = [canonical(value) for value in coded.values]
        is_first = np.zeros(rows.num_rows, dtype=np.bool_)
        is_first[np.unique(coded.codes, return_index=True)[1]] = True
        is_known = np.array([name in self.seen for name in names], dtype=np.bool_)
        self.seen.update(names)
        if names:
            is_first &= ~is_known[np.maximum(coded.codes, 0)]
        return np.asarray(is_first | (coded.codes == MISSING))


@dataclass
class FirstRecords:
    """Choice of the first records by those stored for the era; a record without an id counts.

    If it `remembers` (for records), it stores which is the first; else (for labels) it looks up. `displaced`
    are hours with a record that lost its place to an imported one. `number` is that of the column among those
    by which the era has counted.
    """

    session: Session
    era_no: int
    remembers: bool
    number: int = 0
    displaced: set[datetime] = field(default_factory=set)

    def choose(self, people: pa.ChunkedArray, rows: pa.Table) -> npt.NDArray[np.bool_]:
        """Mask [rows] of the records that count; the rows are in the order of the log."""
        coded = read_stored_cells(people).coded()
        # Ids of people are kept as digests only.
        digests = [
            hashlib.blake2b(canonical(value).encode(), digest_size=16, salt=bytes([self.number])).digest()
            for value in coded.values
        ]
        stored = read_first_records(self.session, self.era_no, digests)
        is_chosen = np.asarray(coded.codes == MISSING)
        persons: dict[bytes, LoggedPlace] = {}
        # Any of a person's records may have a label, so each is compared with the stored first one.
        codes, first = (
            np.unique(coded.codes, return_index=True)
            if self.remembers
            else (coded.codes, np.arange(len(coded.codes)))
        )
        times = rows["logged_at"]
        numbers = rows["record_no"]
        for code, row in zip(codes.tolist(), first.tolist(), strict=True):
            if code == MISSING:
                continue
            current = LoggedPlace(times[row].as_py().astimezone(UTC), numbers[row].as_py())
            before = stored.get(digests[code])
            if self.remembers and (before is None or current < before):
                persons[digests[code]] = current
                if before is not None:
                    self.displaced.add(floor_to_hour(before.logged_at))
            is_chosen[row] = current == before or digests[code] in persons
        store_first_records(self.session, self.era_no, persons)
        return is_chosen


FirstRecordChoice = FirstOfSpan | FirstRecords
