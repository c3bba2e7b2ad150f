"""Durable bulk writes of records: COPY over asynchronous connections, concurrent requests sharing commits. Holds no rules."""

from app.store.writing.batches import NOTHING_SPECIAL, Batch, FeedbackBatch, NoPartition, Outcome, PayloadBatch, Refused, StaleTarget
from app.store.writing.copy_text import NULL, copy_text, json_lines
from app.store.writing.group_commit import GroupCommit
from app.store.writing.numbers import RecordNumbers
from app.store.writing.targets import Target, read_target

__all__ = [
    "NOTHING_SPECIAL",
    "NULL",
    "Batch",
    "FeedbackBatch",
    "GroupCommit",
    "NoPartition",
    "Outcome",
    "PayloadBatch",
    "RecordNumbers",
    "Refused",
    "StaleTarget",
    "Target",
    "copy_text",
    "json_lines",
    "read_target",
]
