"""Ways by which records come in, and the kinds of reasons for which some are not stored."""

from datetime import datetime, timedelta
from enum import StrEnum

from ..base.errors import InvalidInput
from ..base.values import frozen_by_name

KEPT = timedelta(days=31)


class LogKind(StrEnum):
    """Payload records, or feedback records."""

    PAYLOAD = "payload"
    FEEDBACK = "feedback"


class RecordSource(StrEnum):
    """The way by which a record came in. Senders of the REST API name theirs; `rest` is one that names
    none.
    """

    REST = "rest"
    CLIENT = "client"
    IMPORT = "import"
    GATEWAY = "gateway"
    EVENT = "event"


STATED_SOURCES = frozenset({RecordSource.REST, RecordSource.CLIENT, RecordSource.IMPORT})


def stated_source(name: str) -> RecordSource:
    """Source that a caller names. Raises InvalidInput if none may name it."""
    if name not in STATED_SOURCES:
        raise InvalidInput(
            "Evenhand-Source", f"must be one of {', '.join(sorted(STATED_SOURCES))}, found {name[:20]!a}"
        )
    return RecordSource(name)


class RejectionReason(StrEnum):
    """Kinds of reasons for which a record is not stored. None holds a value, so that counts hold no
    personal data.
    """

    MISSING = "missing"
    UNKNOWN_FIELD = "unknown_field"
    WRONG_TYPE = "wrong_type"
    OUT_OF_RANGE = "out_of_range"
    UNUSABLE_TEXT = "unusable_text"
    UNUSABLE_TIME = "unusable_time"
    WRONG_SHAPE = "wrong_shape"
    TOO_LARGE = "too_large"
    CONFLICT = "conflict"
    ORPHAN = "orphan"
    ERASED = "erased"
    UNREADABLE = "unreadable"
    """Counts as one, whatever the request held."""

    OTHER = "other"


@frozen_by_name
class Arrivals:
    """In one hour, by the service's clock, from one source."""

    hour: datetime
    source: RecordSource
    kind: LogKind
    records: int


@frozen_by_name
class RejectionCount:
    """`field` is empty where the service does not know it."""

    hour: datetime
    source: RecordSource
    kind: LogKind
    reason: RejectionReason
    field: str
    records: int
