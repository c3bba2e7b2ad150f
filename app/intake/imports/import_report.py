"""The report of an import."""

import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from ...base.strict_json import JsonObject
from ...base.values import frozen

MAX_LISTED = 1000

MAX_REASONS = 200

_VALUE = re.compile(r"(, found .*|; .*|:? '.*)$", re.DOTALL)


@frozen
class RejectedRow:
    """A row that was not stored. `line` is counted from 1."""

    file: str
    line: int
    field: str
    reason: str


@dataclass
class ImportReport:
    """Numbers of rows: read = accepted + duplicate + rejected.

    A duplicate was stored before. A rounded probability, a hair outside [0, 1], became 0 or 1.
    `rejections` are the first, `warnings` rows that no figure counts. Times are ISO 8601 in UTC.
    """

    read: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    rounded_probabilities: int = 0
    earliest: str | None = None
    latest: str | None = None
    reasons: Counter[str] = field(default_factory=Counter)
    rejections: list[RejectedRow] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)

    def reject(self, row: RejectedRow) -> None:
        self.rejected += 1
        if len(self.rejections) < MAX_LISTED:
            self.rejections.append(row)
        # Without the value, so that equal faults of a million rows are one line.
        reason = f"{row.field}: {_VALUE.sub('', row.reason)}"
        self.reasons[reason if reason in self.reasons or len(self.reasons) < MAX_REASONS else "other"] += 1

    def note_time(self, time: datetime) -> None:
        text = time.astimezone(UTC).isoformat(timespec="microseconds")
        self.earliest = min(self.earliest or text, text)
        self.latest = max(self.latest or text, text)

    def members(self) -> JsonObject:
        return vars(self) | {
            "reasons": dict(self.reasons.most_common()),
            "rejections": list(map(asdict, self.rejections)),
        }

    @classmethod
    def of(cls, members: JsonObject) -> "ImportReport":
        rejections = [RejectedRow(**row) for row in members["rejections"]]
        return cls(
            **members
            | {
                "reasons": Counter(members["reasons"]),
                "rejections": rejections,
                "warnings": Counter(members["warnings"]),
            }
        )
