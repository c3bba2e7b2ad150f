"""Which records and labels a check read, as digests of their numbers that a later check compares with what it would find.

What a record or label says never changes, so the numbers say it all; only whether a label has a prediction is added, for that may come
later. Numbers say nothing of time: several processes hand them out in blocks, and the write of a lower one may be committed later. So it
is always the whole set that is compared.
"""

import hashlib

import numpy as np
import numpy.typing as npt

from app.checks.subject import Subject
from app.checks.window import Window, read_numbers
from app.domain.checks import Span
from app.store.arrow import ArrowReader
from app.store.window import WindowQuery, newest_feedback_numbers, newest_payload_numbers

FINGERPRINT = "fingerprint"
"""The member of a check's window that holds it; checks of earlier versions have none."""


def fingerprint_of(subject: Subject, records: Window, labels: Window) -> dict[str, object]:
    """Returns the fingerprint of a window of records and of one of labels; JSON-safe."""
    # With an endpoint, the check itself asks for the predictions that are missing.
    is_predicted = labels.rows["predicted"].is_valid().to_numpy() | (subject.deployment.endpoint is not None)
    return {
        "records": _digest(records.rows["record_no"].to_numpy()),
        "labels": _digest(2 * labels.rows["feedback_no"].to_numpy() + is_predicted),
    }


def fingerprint_now(reader: ArrowReader, subject: Subject, span: Span) -> dict[str, object]:
    """Returns the fingerprint that a check of `span` would have at the reader's moment; numbers are all that is read for it."""
    query = WindowQuery(subject.deployment.no, subject.deployment.schema, ())
    records = read_numbers(lambda part, limit: newest_payload_numbers(reader, query, part, limit), span, subject.monitor)
    labels = read_numbers(lambda part, limit: newest_feedback_numbers(reader, query, part, limit), span, subject.monitor)
    return fingerprint_of(subject, records, labels)


def _digest(numbers: npt.NDArray[np.int64]) -> str:
    return hashlib.blake2b(np.sort(numbers).astype("<i8").tobytes(), digest_size=16).hexdigest()
