"""Labels as bodies."""

from datetime import datetime
from typing import Any

from ...domain.deployments import RecordSchema
from ...domain.values import shown_value
from ...store.records.feedback import StoredFeedback
from .base import Out, example

_RECORD: dict[str, Any] = {
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
    def of(cls, found: StoredFeedback, schema: RecordSchema) -> "FeedbackRecordOut":
        """Body of a stored label; long texts are shortened."""
        named = [(schema.features, found.features), (schema.meta, found.meta)]
        features, meta = (
            None if values is None else {column.name: value for column, value in zip(columns, shown_value(values), strict=True)}
            for columns, values in named
        )
        return cls(
            id=found.feedback_id,
            logged_at=found.logged_at,
            label=shown_value(found.label),
            features=features,
            meta=meta,
            prediction=shown_value(found.prediction),
            probability=found.probability,
            has_record=found.has_record,
        )


class FeedbackRecordPage(Out):
    """A page of labels, newest first."""

    model_config = example({"feedback_records": [_RECORD], "next_cursor": None, "count": None})

    feedback_records: list[FeedbackRecordOut]
    next_cursor: str | None
    """Null on the last page."""

    count: int | None
    """Labels of the window, where the request asks for it."""
