"""Labels, and corrections of labels and predictions, as bodies."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import Row

from ...base.values import shown_value
from ...checks.result_queries import Corrected
from ...domain.deployment import RecordSchema
from ...domain.record import ReceiptWarning, RecordConflict, Rejection
from ...web.body import NextPageCursor, Out, PageOut, example
from ..record_list import name_cells

_RECORD = {
    "id": "application-1041",
    "logged_at": "2026-12-20T09:00:00Z",
    "label": "No Risk",
    "features": {"Age": 44, "Sex": "female", "Owner": True},
    "meta": {"Postcode": "1011"},
    "prediction": "Risk",
    "probability": 0.4113,
    "has_record": True,
}


class FeedbackRecordOut(Out):
    """One ground-truth label, with the features of its record or those that it came with."""

    model_config = example(_RECORD)

    id: str
    logged_at: datetime
    label: Any
    features: dict[str, Any] | None
    """Null while a label that came without features waits for its record."""

    meta: dict[str, Any] | None
    prediction: Any
    """The model's answer: of the record, in its decoded form where it has one, or sent with the label."""

    probability: Any
    has_record: bool
    """Whether the payload record of its id is stored."""

    @classmethod
    def of(cls, feedback: Row[Any], schema: RecordSchema) -> "FeedbackRecordOut":
        return cls.from_object(
            feedback,
            id=feedback.feedback_id,
            label=shown_value(feedback.label),
            features=None
            if feedback.features is None
            else shown_value(name_cells(schema.features, feedback.features)),
            meta=None if feedback.meta is None else shown_value(name_cells(schema.meta, feedback.meta)),
            prediction=shown_value(feedback.prediction),
        )


class FeedbackRecordPage(Out):
    """A page of labels, newest first."""

    model_config = example({"feedback_records": [_RECORD], "next_cursor": None, "count": None})

    feedback_records: list[FeedbackRecordOut]
    next_cursor: str | None
    """Null on the last page."""

    count: int | None
    """Labels of the window, where the request asks for it."""


class CorrectionReceipt(Out):
    """Outcome of each correction. Conflicts are among the rejected, and listed apart."""

    sent: int
    corrected: int
    duplicate: int
    rejected: int
    rejections: list[Rejection]
    conflicts: list[RecordConflict]
    warnings: tuple[ReceiptWarning, ...] = ()


class CorrectionOut(Out):
    """One correction; those of one value are numbered from 1."""

    model_config = example(
        {
            "id": "audit-2026-11-24",
            "record": "application-1041",
            "what": "label",
            "number": 1,
            "old": "Risk",
            "new": "No Risk",
            "reason": "The branch had mixed up two applications.",
            "corrected_by": "9f2c41aa",
            "corrected_at": "2026-11-25T08:30:00Z",
        }
    )

    id: str | None
    record: str
    what: Corrected
    number: int
    old: Any
    new: Any
    """Null where the value was taken away."""

    reason: str
    corrected_by: str
    """The id of the key, or `user:` and a name."""

    corrected_at: datetime


class CorrectionPage(PageOut):
    """A page of corrections, newest first."""

    corrections: list[CorrectionOut]
    next_cursor: NextPageCursor


class CorrectionCounts(Out):
    """Numbers of corrections, the newest day first; those of erased records are among them."""

    days: dict[date, dict[Corrected, int]]
    """Days (UTC) on which they were made."""
