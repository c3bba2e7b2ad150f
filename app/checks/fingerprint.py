"""Digests of the numbers of the records and labels that a check read; a later check compares them with its own.

A record or label never changes, so the numbers suffice; only whether a label has a prediction is added, because that may come
later. Numbers do not follow time: several processes allot them in blocks, and the write of a lower one may be committed later. So
the whole set is always compared.
"""

import hashlib

import numpy as np
import numpy.typing as npt

from ..domain.checks import Span
from ..store.database.arrow import ArrowReader
from ..store.records.window import WindowQuery, newest_feedback_numbers, newest_payload_numbers
from .subject import Subject
from .window import Window, read_numbers

FINGERPRINT = "fingerprint"
"""Member of a check's window that holds it; checks of earlier versions have none."""


def fingerprint_of(subject: Subject, records: Window, labels: Window) -> dict[str, object]:
    """Returns the fingerprint of a window of records and of one of labels; JSON-safe."""
    # With an endpoint, the check itself requests the missing predictions.
    is_predicted = labels.rows["predicted"].is_valid().to_numpy() | (subject.deployment.endpoint is not None)
    return {
        "records": _digest(records.rows["record_no"].to_numpy()),
        # The lowest bit holds whether there is a prediction, so that the numbers stay distinct.
        "labels": _digest(2 * labels.rows["feedback_no"].to_numpy() + is_predicted),
    }


def fingerprint_now(reader: ArrowReader, subject: Subject, span: Span) -> dict[str, object]:
    """Returns the fingerprint that a check of `span` would have at the reader's moment; reads nothing but numbers."""
    query = WindowQuery(subject.deployment.no, subject.deployment.schema, ())
    records = read_numbers(lambda part, limit: newest_payload_numbers(reader, query, part, limit), span, subject.monitor)
    labels = read_numbers(lambda part, limit: newest_feedback_numbers(reader, query, part, limit), span, subject.monitor)
    return fingerprint_of(subject, records, labels)


def _digest(numbers: npt.NDArray[np.int64]) -> str:
    # A fixed order of bytes: another machine may compare the digest with its own.
    return hashlib.blake2b(np.sort(numbers).astype("<i8").tobytes(), digest_size=16).hexdigest()
