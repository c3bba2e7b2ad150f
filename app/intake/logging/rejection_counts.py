"""Counts records that were not stored, by reason and hour. Holds no value of a record."""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime

import structlog
from msgspec import Struct, structs

from ...base.clock import floor_to_hour
from ...base.errors import Unavailable
from ...database.binary_rows import read_row
from ...database.engine import Database
from ...domain.record_times import LogKind, RecordSource, RejectionCount, RejectionReason
from ..volume.arrival_queries import add_rejections
from ..writing.write_target import Target

MAX_COUNTS = 20_000
"""Max counts in memory. Further ones are added to those without a field, or lost."""

SECONDS_BETWEEN_WRITES = 1.0

_RECORD_MEMBERS = frozenset(
    {"id", "scored_at", "features", "meta", "prediction", "probability", "label", "labelled_at"}
    | {"record", "records", "line", "values", "scoring_id", "scoring_timestamp", "sample_rate", "body"}
    | {"request", "response"}
)

_REASON_PATTERNS = (
    (RejectionReason.CONFLICT, re.compile("(a record|feedback) of this id is stored already")),
    (RejectionReason.ERASED, re.compile("is of a record that was erased")),
    (RejectionReason.ORPHAN, re.compile("is of an? (request|answer) whose")),
    (RejectionReason.UNKNOWN_FIELD, re.compile("is not a (column|meta field|member)")),
    (RejectionReason.MISSING, re.compile("is (missing|needed)")),
    (RejectionReason.TOO_LARGE, re.compile("has [0-9,]+ bytes as JSON")),
    (
        RejectionReason.WRONG_SHAPE,
        re.compile(
            "has [^ ]+ values|must be an (array|object)|must be a JSON object|is not (JSON|text in "
            "UTF-8)|names a member"
        ),
    ),
    (RejectionReason.UNUSABLE_TIME, re.compile("must (be a time|state its offset|lie between)")),
    (RejectionReason.UNUSABLE_TEXT, re.compile("must (not contain|have)")),
    (
        RejectionReason.OUT_OF_RANGE,
        re.compile("must (lie within|be a finite|be a whole number of|be a number that)"),
    ),
    (RejectionReason.WRONG_TYPE, re.compile("must be ")),
)
"""Openings of the reasons in receipts. The first that fits counts; a value comes after these words."""

log = structlog.get_logger(__name__)


class RejectionCause(Struct, frozen=True):
    """Reason and field by which rejected records are counted. The field is a name of the schema or of a
    record, never a value of the sender.
    """

    reason: RejectionReason
    field: str = ""


class _CountKey(Struct, frozen=True):
    deployment_no: int
    hour: datetime
    source: RecordSource
    kind: LogKind
    reason: RejectionReason
    field: str


def classify_reason(reason: str) -> RejectionReason:
    return next((kind for kind, pattern in _REASON_PATTERNS if pattern.match(reason)), RejectionReason.OTHER)


def find_field(where: str, target: Target) -> str:
    """A column of the schema or a member of a record; empty for anything else."""
    name = where.removeprefix("features.").removeprefix("meta.")
    names = {column.name for column in target.schema.columns} | {*target.outputs.names}
    return name if name in names or name in _RECORD_MEMBERS else ""


def classify_rejection(where: str, reason: str, target: Target) -> RejectionCause:
    return RejectionCause(classify_reason(reason), find_field(where, target))


class RejectionLog:
    """Counts of one process; a killed one loses at most a second's. Belongs to one event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts: Counter[_CountKey] = Counter()
        self._task: asyncio.Task[None] | None = None

    def note(
        self,
        deployment_no: int,
        rejected: Mapping[RejectionCause, int],
        *,
        source: RecordSource,
        kind: LogKind,
        now: datetime,
    ) -> None:
        for cause, records in rejected.items():
            key = _CountKey(deployment_no, floor_to_hour(now), source, kind, cause.reason, cause.field)
            if key not in self._counts and len(self._counts) >= MAX_COUNTS:
                key = structs.replace(key, field="")
                if key not in self._counts and len(self._counts) >= 2 * MAX_COUNTS:
                    continue
            self._counts[key] += records
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._store_soon())

    async def store(self) -> None:
        counts, self._counts = self._counts, Counter()
        if not counts:
            return
        rows = defaultdict[int, list[RejectionCount]](list)
        for key, records in counts.items():
            rows[key.deployment_no].append(read_row(RejectionCount, key, records=records))
        try:
            await asyncio.to_thread(self._add_rows, rows)
        except Unavailable as error:
            log.warning("rejections_not_stored", error=str(error))
            self._counts.update(counts)

    def _add_rows(self, rows: dict[int, list[RejectionCount]]) -> None:
        with self._database.transaction() as session:
            add_rejections(session, rows)

    async def _store_soon(self) -> None:
        while self._counts:
            await asyncio.sleep(SECONDS_BETWEEN_WRITES)
            await self.store()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        await self.store()
