"""How long records are kept, and the receipt of their erasure."""

import calendar
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from ..base.strict_json import JsonObject
from ..base.values import Scalar, frozen_by_name
from ..database.tables import ErasureRow

MAX_MONTHS = 1200

MAX_ERASED_IDS = 10_000

MONTHS = ("records_months", "feedback_months", "answers_months")


class RetentionPreset(StrEnum):
    """Period for which a law wants the records of a decision system to be kept at least."""

    EU = "eu"
    COLORADO = "colorado"
    CALIFORNIA = "california"

    @property
    def months(self) -> int:
        return _PRESET_MONTHS[self]


_PRESET_MONTHS = {RetentionPreset.EU: 6, RetentionPreset.COLORADO: 36, RetentionPreset.CALIFORNIA: 48}


@frozen_by_name
class RetentionPolicy:
    """Calendar months for which records, labels and answers are kept; None: always. Version 0: never set."""

    version: int = 0
    preset: RetentionPreset | None = None
    records_months: int | None = None
    feedback_months: int | None = None
    answers_months: int | None = None


class ErasureKind(StrEnum):
    """Cause of an erasure: the age of records, or a request about a person."""

    RETENTION = "retention"
    PERSON = "person"


class ErasureState(StrEnum):
    """State of an erasure."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"


@frozen_by_name
class RecordSelector:
    """Selects records of a person by ids, or by the `value` of the meta field `field`.

    `pseudonym` is that of the value, for a field that only some schema versions store as pseudonyms.
    """

    record_ids: tuple[str, ...] = ()
    field: str | None = None
    value: Scalar | None = None
    pseudonym: str | None = None

    def document(self) -> JsonObject:
        if self.field is None:
            return {"record_ids": list(self.record_ids)}
        # Left out where there is none, so that the hash of the request is that of the body.
        return {
            "field": self.field,
            "value": self.value,
            **({"pseudonym": self.pseudonym} if self.pseudonym else {}),
        }

    def scope(self) -> JsonObject:
        return {"record_ids": len(self.record_ids)} if self.field is None else {"field": self.field}


Counts = Mapping[str, int]


def subtract_months(moment: datetime, months: int) -> datetime:
    """In UTC; the day becomes the last of a shorter month, a moment before year 1 the first one there is."""
    at = moment.astimezone(UTC)
    year, month = divmod(at.year * 12 + at.month - 1 - months, 12)
    if year < 1:
        return datetime(1, 1, 1, tzinfo=UTC)
    return at.replace(year=year, month=month + 1, day=min(at.day, calendar.monthrange(year, month + 1)[1]))


def hash_request(deployment_id: str, selector: Mapping[str, Any]) -> str:
    return hash_receipt({"deployment_id": deployment_id, **selector})


def build_receipt(erasure: ErasureRow) -> JsonObject:
    ended = erasure.finished_at
    return {
        "id": erasure.id,
        "deployment_id": erasure.deployment_id,
        "kind": erasure.kind,
        "scope": dict(erasure.scope),
        "request_hash": erasure.request_hash,
        "erased": dict(sorted(erasure.counts.items())),
        "requested_by": erasure.requested_by,
        "requested_at": _format_utc(erasure.requested_at),
        "finished_at": None if ended is None else _format_utc(ended),
    }


def hash_receipt(receipt: Mapping[str, Any]) -> str:
    text = json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def add_counts(first: Counts, second: Counts) -> dict[str, int]:
    return dict(sorted((Counter(first) + Counter(second)).items()))


def _format_utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
