"""Where nothing has changed since the last check, its figures stay: they are carried forward and marked so."""

from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from app.checks.fingerprint import FINGERPRINT, fingerprint_now
from app.checks.subject import Subject
from app.checks.window_details import described_setting
from app.domain.checks import Measurement, Span, Trigger
from app.store.arrow import ArrowReader
from app.store.results import EarlierCheck, StoredTable, measurements_of, newest_success_before, origin_of, tables_of
from app.store.window import WindowQuery, count_payload, is_logged_between


@dataclass(frozen=True, slots=True)
class Carried:
    """The measurements of an earlier check at a later time, and the records that they rest on, seen from the later check's span.

    `tables` are there where both spans begin together: then the records of the one are those of the other.
    """

    window: dict[str, object]
    measurements: tuple[Measurement, ...]
    tables: tuple[StoredTable, ...]


def carried_check(session: Session, subject: Subject) -> EarlierCheck | None:
    """Returns the check whose figures hold as long as nothing that it read has changed; None where this one has to look for itself.

    A check of a range that somebody asked for always looks for itself, and so does the first one after the monitor, the
    model's revision, the schema, or the presence of an endpoint changed.
    """
    check, deployment = subject.check, subject.deployment
    if check.trigger is Trigger.RANGE:
        return None
    last = newest_success_before(session, deployment.no, check.span.end)
    earlier = None if last is None else origin_of(session, last)
    if earlier is None or (earlier.monitor_version, earlier.model_revision) != (subject.monitor.version, deployment.model_revision):
        return None
    if any(earlier.window.get(name) != now for name, now in described_setting(subject).items()):
        return None
    follows = earlier.span.end <= check.span.start or _begin_together(earlier, subject)
    return earlier if follows and FINGERPRINT in earlier.window else None


def still_holds(reader: ArrowReader, subject: Subject, earlier: EarlierCheck) -> bool:
    """Tells whether nothing was logged after the earlier check's span, and the same check would read the same today.

    Its span is looked at again because a historical import, or a write that was committed late, puts records and labels where
    it has been already.
    """
    if is_logged_between(reader, subject.deployment.no, Span(start=earlier.span.end, end=subject.check.span.end)):
        return False
    if _begin_together(earlier, subject) and _is_logged_beyond(reader, subject, earlier):
        return False
    return bool(fingerprint_now(reader, subject, earlier.span) == earlier.window[FINGERPRINT])


def carried_forward(session: Session, subject: Subject, earlier: EarlierCheck) -> Carried:
    """Returns what the earlier check found, at the end of this one's span."""
    together = _begin_together(earlier, subject)
    window = {**earlier.window, **({} if together else _as_earlier(earlier.window)), "copies_to_score": 0, "carried_from": earlier.id}
    measurements = tuple(replace(one, at=subject.at, carried_forward=True) for one in measurements_of(session, earlier.no))
    return Carried(window, measurements, tuple(tables_of(session, earlier.no)) if together else ())


def _begin_together(earlier: EarlierCheck, subject: Subject) -> bool:
    """Tells whether the spans begin together, as those of a check for now and of its hour do."""
    return earlier.span.start == subject.check.span.start


def _is_logged_beyond(reader: ArrowReader, subject: Subject, earlier: EarlierCheck) -> bool:
    """Tells whether the span has other records than it had, beyond the newest `max_records`: no figure reads them, but they are counted."""
    if earlier.window["records"] != subject.monitor.max_records:
        return False
    query = WindowQuery(subject.deployment.no, subject.deployment.schema, ())
    return count_payload(reader, query, earlier.span) != int(earlier.window["logged_in_span"])


def _as_earlier(window: dict[str, object]) -> dict[str, object]:
    """The counts of a window to a later span, in which nothing was logged: all its records and labels are of before."""
    return {
        "records": 0,
        "additional_records": _sum(window["records"], window["additional_records"]),
        "logged_in_span": 0,
        "labelled_records": 0,
        "additional_labelled_records": _sum(window["labelled_records"], window["additional_labelled_records"]),
    }


def _sum(*counts: object) -> int:
    return sum(count for count in counts if isinstance(count, int))
