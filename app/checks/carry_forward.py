"""Carries the figures of the last check forward where nothing has changed since."""

import hashlib
from dataclasses import replace
from functools import partial

import numpy as np
from sqlalchemy.orm import Session

from ..base.strict_json import JsonObject
from ..base.values import frozen
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
"""Member of a window: digests of the numbers of the rows that the check read. Windows of earlier versions
have none.
"""


@frozen
class CarriedFigures:
    window: JsonObject
    measurements: tuple[Measurement, ...]
    tables: tuple[StoredTable, ...]


def find_earlier_check(session: Session, subject: Subject) -> CheckRun | None:
    """Finds the check that measured the newest figures; None if the window must be read.

    It must be read for a range; after a change of monitor, revision, schema, or settings of
    `describe_setting`; and for a requested check if the model refused records in the earlier one.
    """
    check = subject.check
    if check.trigger is Trigger.RANGE:
        return None
    earlier = find_origin(session, subject.newest_success) if subject.newest_success else None
    if earlier is None or (earlier.monitor_version, earlier.model_revision) != (
        subject.monitor.version,
        subject.deployment.model_revision,
    ):
        return None
    window = earlier.window or {}
    # Stored settings come back as JSON: they must hold nothing that JSON changes, such as a tuple.
    if any(window.get(name) != setting for name, setting in describe_setting(subject).items()):
        return None
    if check.trigger is Trigger.REQUEST and window.get(RECORDS_NOT_SCORED):
        return None  # the model may take now what it refused then
    is_next = earlier.span.end <= check.span.start or _has_same_start(earlier, subject)
    return earlier if is_next and FINGERPRINT in window else None


def still_holds(reader: ArrowReader, subject: Subject, earlier: CheckRun) -> bool:
    """Whether nothing was logged after the earlier span, and the earlier check would read the same rows now.

    Imports and late writes add records where a check has read already.
    """
    deployment = subject.deployment
    span = earlier.span
    window = earlier.window or {}
    if is_logged_between(reader, deployment.no, Span(span.end, subject.check.span.end)):
        return False
    query = WindowQuery(deployment.no, deployment.schema, ())
    is_full = _has_same_start(earlier, subject) and window["records"] == subject.monitor.max_records
    if is_full and count_payload(reader, query, span) != int(window["logged_in_span"]):
        return False
    # Nothing but numbers is read.
    records = read_window(partial(read_payload_numbers, reader, query), span, subject.monitor)
    labels = read_window(partial(read_feedback_numbers, reader, query), span, subject.monitor)
    return bool(make_fingerprint(subject, records, labels)[FINGERPRINT] == window[FINGERPRINT])


def make_fingerprint(subject: Subject, records: Window, labels: Window) -> JsonObject:
    """Makes the member FINGERPRINT of a window.

    Records never change, but the prediction of a label may come later, so its presence is added. Numbers do
    not follow time, so the whole set is always compared.
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
            name: hashlib.blake2b(np.sort(row_numbers).astype("<i8").tobytes(), digest_size=16).hexdigest()
            for name, row_numbers in numbers.items()
        }
    }


def carry_forward(session: Session, subject: Subject, earlier: CheckRun) -> CarriedFigures:
    """Copies the earlier results to the subject's check; tables only if both spans begin together."""
    window = (earlier.window or {}) | {"copies_to_score": 0, "carried_from": earlier.id}
    tables: tuple[StoredTable, ...] = ()
    if _has_same_start(earlier, subject):
        tables = tuple(read_stored_tables(session, earlier.no))
    else:  # nothing was logged in the later span
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
    return CarriedFigures(window, measurements, tables)


def _has_same_start(earlier: CheckRun, subject: Subject) -> bool:
    return earlier.span.start == subject.check.span.start
