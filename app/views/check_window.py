"""Records that a check read, from its stored window. Source: spec of the fairness check, section 2."""

from datetime import datetime
from typing import Literal, TypeAlias

from sqlalchemy.orm import Session

from ..domain.checks import Span
from ..errors import InvalidInput
from ..frozen import frozen
from ..store.checks.checks import get
from ..store.records.record_conditions import RecordPlace
from ..store.records.transactions import StoredRecord, nth_newest

WindowPart: TypeAlias = Literal["span", "additional"]


@frozen
class CheckWindow:
    """Records of one schema version (None: of all) before the end of the span, back to `oldest`; None: none at all.

    It is one piece of the log: the span's newest records, and where they were too few those right before it.
    """

    span: Span
    version: int | None
    oldest: RecordPlace | None

    def part_of(self, record: StoredRecord) -> WindowPart | None:
        """Whether the check read the record as of its span or as additional; None if not at all."""
        is_read = self.oldest is not None and record.logged_at < self.span.end and self.version in (None, record.schema_version)
        if not is_read or self.oldest is None or (record.logged_at, record.record_no) < (self.oldest.logged_at, self.oldest.record_no):
            return None
        return "span" if record.logged_at >= self.span.start else "additional"


def window_of_check(session: Session, deployment_no: int, check_id: str) -> CheckWindow:
    """Window of the check's figures; of one carried forward, that of its origin.

    It goes by times and counts: records placed into past hours after the check are taken for its own.

    Raises:
        NotFound: the deployment has no check of that id.
        InvalidInput: the check has not read any records.
    """
    check = get(session, deployment_no, check_id)
    if check.carried_from is not None:
        check = get(session, deployment_no, check.carried_from)
    if check.window is None:
        raise InvalidInput.of("check", f"has read no records: it is {check.state.value}")
    window, span = check.window, check.span
    version = _count(window, "schema_version") or None
    own, additional = _count(window, "records"), _count(window, "additional_records")
    if own + additional == 0:
        return CheckWindow(span, version, None)
    if not additional and own == _count(window, "logged_in_span"):
        return CheckWindow(span, version, RecordPlace(span.start, 0))
    since = datetime.fromisoformat(str(window["oldest_record_at"]))
    oldest = nth_newest(session, deployment_no, version, before=span.end, since=since, count=own + additional)
    return CheckWindow(span, version, oldest or RecordPlace(since, 0))


def _count(window: dict[str, object], name: str) -> int:
    stored = window.get(name)
    return stored if isinstance(stored, int) else 0
