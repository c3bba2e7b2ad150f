"""Carries the figures of the last check forward where nothing has changed since."""

import hashlib
from dataclasses import replace
from functools import partial

import numpy as np
from sqlalchemy.orm import Session

from ..database.engine import ArrowReader
from ..domain.check import CheckRun, Measurement, Span, Trigger
from ..sources.stored.window_queries import (
    WindowQuery,
    count_payload,
    is_logged_between,
    read_feedback_numbers,
    read_payload_numbers,
)
from .copies.refusals import RECORDS_NOT_SCORED
from .result_queries import StoredTable, find_origin, read_measurements, read_stored_tables
from .subject import Subject
from .window.window import Window, read_window
from .window.window_records import describe_setting

FINGERPRINT = "fingerprint"
"""Digests of the numbers of what the check read; earlier versions have none."""


def find_earlier_check(session: Session, subject: Subject) -> CheckRun | None:
    """Earlier check whose figures may be carried forward if `still_holds`, else None.

    The window is read anyway for a requested range, after refused records in the earlier check of a
    requested one, and after a change of monitor, revision, schema, or settings of `describe_setting`.
    """
    check = subject.check
    deployment = subject.deployment
    if check.trigger is Trigger.RANGE:
        return None
    earlier = find_origin(session, subject.newest_success) if subject.newest_success else None
    if earlier is None or (earlier.monitor_version, earlier.model_revision) != (
        subject.monitor.version,
        deployment.model_revision,
    ):
        return None
    window = earlier.window or {}
    # Stored settings come back as JSON: they must hold nothing that JSON changes, such as a tuple.
    if any(window.get(name) != now for name, now in describe_setting(subject).items()):
        return None
    if check.trigger is Trigger.REQUEST and window.get(RECORDS_NOT_SCORED):
        return None  # the model may take now what it refused then
    follows = earlier.span.end <= check.span.start or _begin_together(earlier, subject)
    return earlier if follows and FINGERPRINT in window else None


def still_holds(reader: ArrowReader, subject: Subject, earlier: CheckRun) -> bool:
    """Whether nothing was logged or corrected after the earlier span, and the same check would read the same
    today.

    Its span is read again: imports and late writes add records where a check has read already.
    """
    deployment = subject.deployment
    span = earlier.span
    window = earlier.window or {}
    if is_logged_between(reader, deployment.no, Span(start=span.end, end=subject.check.span.end)):
        return False
    query = WindowQuery(deployment.no, deployment.schema, ())
    is_full = _begin_together(earlier, subject) and window["records"] == subject.monitor.max_records
    if is_full and count_payload(reader, query, span) != int(window["logged_in_span"]):
        return False
    # Nothing but numbers is read.
    records, labels = (
        read_window(partial(newest, reader, query), span, subject.monitor)
        for newest in (read_payload_numbers, read_feedback_numbers)
    )
    return bool(make_fingerprint(subject, records, labels)[FINGERPRINT] == window[FINGERPRINT])


def make_fingerprint(subject: Subject, records: Window, labels: Window) -> dict[str, object]:
    """JSON-safe.

    Records never change, but a prediction may come later, so its presence is added. Numbers do not follow
    time, so the whole set is always compared.
    """
    is_predicted = labels.rows["predicted"].is_valid().to_numpy() | (subject.deployment.endpoint is not None)
    numbers = {
        "records": records.rows["record_no"].to_numpy(),
        # The lowest bit says whether there is a prediction.
        "labels": 2 * labels.rows["feedback_no"].to_numpy() + is_predicted,
    }
    # A fixed order of bytes: another machine may compare the digest.
    return {
        FINGERPRINT: {
            name: hashlib.blake2b(np.sort(of_rows).astype("<i8").tobytes(), digest_size=16).hexdigest()
            for name, of_rows in numbers.items()
        }
    }


def carry_forward(
    session: Session, subject: Subject, earlier: CheckRun
) -> tuple[dict[str, object], tuple[Measurement, ...], tuple[StoredTable, ...]]:
    """The window relative to the later span, the measurements at its end, and the tables.

    There are tables only if both spans begin together: then both checks have the same records.
    """
    together = _begin_together(earlier, subject)
    window = (earlier.window or {}) | {"copies_to_score": 0, "carried_from": earlier.id}
    if not together:  # nothing was logged in the later span
        window |= {
            "records": 0,
            "additional_records": window["records"] + window["additional_records"],
            "logged_in_span": 0,
            "labelled_records": 0,
            "additional_labelled_records": window["labelled_records"] + window["additional_labelled_records"],
        }
    measurements = tuple(
        replace(measurement, at=subject.at, carried_forward=True)
        for measurement in read_measurements(session, earlier.no)
    )
    return window, measurements, tuple(read_stored_tables(session, earlier.no)) if together else ()


def _begin_together(earlier: CheckRun, subject: Subject) -> bool:
    return earlier.span.start == subject.check.span.start
