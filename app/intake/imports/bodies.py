"""The report of an import as a body."""

from datetime import datetime

from ...web.body import Out, example


class RejectedRowOut(Out):
    """A row that was not stored."""

    line: int
    """Its line, counted from 1; of Parquet the row."""

    field: str
    reason: str


class ImportReportOut(Out):
    """Numbers of rows: read = accepted + duplicate + rejected."""

    model_config = example(
        {
            "read": 1000,
            "accepted": 997,
            "duplicate": 2,
            "rejected": 1,
            "rounded_probabilities": 0,
            "earliest": "2026-03-01T09:00:12Z",
            "latest": "2026-03-01T09:59:48Z",
            "reasons": {"features.Age: must be a whole number": 1},
            "rejections": [
                {"line": 17, "field": "features.Age", "reason": "must be a whole number, found 'young'"}
            ],
            "warnings": {"label: '>50K.' is in neither outcome list; did you mean '>50K'?": 12},
        }
    )

    read: int
    accepted: int
    """Records that are stored now."""

    duplicate: int
    """Records that were stored before, by an earlier import or by the model's own logging."""

    rejected: int
    rounded_probabilities: int
    """Records whose probability lies within 0.000001 of [0, 1] and is stored as 0 or 1."""

    earliest: datetime | None
    """The earliest time of a record that was sent."""

    latest: datetime | None
    reasons: dict[str, int]
    """Rejected rows by field and reason, the most frequent first."""

    rejections: list[RejectedRowOut]
    """The first 1,000 rejected rows."""

    warnings: dict[str, int]
    """Labels and predictions that are in no outcome list, and so in no figure."""
