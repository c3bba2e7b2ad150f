"""Digests of the numbers of the records and labels that a check read.

Records never change, but a prediction may come later, so its presence is added. Numbers do not follow
time, so the whole set is always compared.
"""

import hashlib
from functools import partial

import numpy as np

from ...database.engine import ArrowReader
from ...domain.check import Span
from ...sources.stored.window_queries import WindowQuery, newest_feedback_numbers, newest_payload_numbers
from ...statistics.group_labels import IntArray
from ..subject import Subject
from .window import Window, read_window

FINGERPRINT = "fingerprint"
"""Member of a check's window that holds it; earlier versions have none."""


def make_fingerprint(subject: Subject, records: Window, labels: Window) -> dict[str, object]:
    """Fingerprint of a window of records and one of labels; JSON-safe."""
    is_predicted = labels.rows["predicted"].is_valid().to_numpy() | (subject.deployment.endpoint is not None)
    return {
        "records": _digest(records.rows["record_no"].to_numpy()),
        # The lowest bit says whether there is a prediction.
        "labels": _digest(2 * labels.rows["feedback_no"].to_numpy() + is_predicted),
    }


def fingerprint_now(reader: ArrowReader, subject: Subject, span: Span) -> dict[str, object]:
    """Fingerprint that a check of `span` would have now; reads nothing but numbers."""
    query = WindowQuery(subject.deployment.no, subject.deployment.schema, ())
    records = read_window(partial(newest_payload_numbers, reader, query), span, subject.monitor)
    labels = read_window(partial(newest_feedback_numbers, reader, query), span, subject.monitor)
    return make_fingerprint(subject, records, labels)


def _digest(numbers: IntArray) -> str:
    # A fixed order of bytes: another machine may compare the digest.
    return hashlib.blake2b(np.sort(numbers).astype("<i8").tobytes(), digest_size=16).hexdigest()
