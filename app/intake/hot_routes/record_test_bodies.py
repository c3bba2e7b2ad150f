"""The result of a try of payload records, as a body."""

from ...domain.record import Receipt
from ...web.body import Out, example


class RefusedRecordOut(Out):
    """One record that would be refused: its place in the request, the field, and the reason."""

    index: int
    field: str
    reason: str


class RecordTestOut(Out):
    """Numbers of records that would be accepted and refused. Nothing was stored."""

    model_config = example(
        {
            "sent": 2,
            "accepted": 1,
            "rejected": 1,
            "rejections": [{"index": 1, "field": "features.Age", "reason": "must be a whole number"}],
        }
    )

    sent: int
    accepted: int
    rejected: int
    rejections: list[RefusedRecordOut]
    """A reason for each record that would be refused."""

    @classmethod
    def of(cls, receipt: Receipt) -> "RecordTestOut":
        return cls.from_object(receipt, sent=receipt.accepted + receipt.rejected)
