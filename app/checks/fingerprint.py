"""Which records and labels a check read, as digests of their numbers that a later check compares with what it would find.

A record or label keeps what it says for ever, so the numbers tell all. Numbers are never put in order of time: several processes hand
them out in blocks, and the write of a lower one may be committed later. So it is always the whole set that is compared.
"""

import hashlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.checks.feedback import only_scored
from app.checks.subject import Subject
from app.checks.window import PayloadWindow, Window, read_numbers
from app.domain.checks import Span
from app.store.arrow import ArrowReader
from app.store.window import WindowQuery, newest_feedback_numbers, newest_payload_numbers

FINGERPRINT = "fingerprint"
"""The member of a check's window that holds it; checks of earlier versions have none."""


def fingerprint_of(window: PayloadWindow, feedback: Window) -> dict[str, object]:
    """Returns the fingerprint of what a check has read; `feedback` are the labels that it counted, all with a prediction."""
    return _fingerprint(window.rows, feedback.rows)


def fingerprint_now(reader: ArrowReader, subject: Subject, span: Span) -> dict[str, object]:
    """Returns the fingerprint that a check of `span` would have at the reader's moment; numbers are all that is read for it."""
    query = WindowQuery(subject.deployment.no, subject.deployment.schema, ())
    records = read_numbers(lambda part, limit: newest_payload_numbers(reader, query, part, limit), span, subject.monitor)
    labels = read_numbers(lambda part, limit: newest_feedback_numbers(reader, query, part, limit), span, subject.monitor)
    # With an endpoint, a check asks for the predictions that are missing.
    return _fingerprint(records.rows, (labels if subject.deployment.endpoint is not None else only_scored(labels)).rows)


def _fingerprint(records: pa.Table, labels: pa.Table) -> dict[str, object]:
    return {"records": _digest(records["record_no"].to_numpy()), "labels": _digest(labels["feedback_no"].to_numpy())}


def _digest(numbers: npt.NDArray[np.int64]) -> str:
    return hashlib.blake2b(np.sort(numbers).astype("<i8").tobytes(), digest_size=16).hexdigest()
