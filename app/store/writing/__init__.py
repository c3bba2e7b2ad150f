"""Durable bulk writes of records by COPY; concurrent requests share commits."""

from .batches import NOTHING_SPECIAL, Batch, FeedbackBatch, NoPartition, PayloadBatch, RowsRefused, StaleTarget, WriteOutcome
from .copy_text import NULL, copy_text, json_lines
from .group_commit import GroupCommit
from .numbers import RecordNumbers
from .targets import Target, read_target

__all__ = [
    "NOTHING_SPECIAL",
    "NULL",
    "Batch",
    "FeedbackBatch",
    "GroupCommit",
    "NoPartition",
    "PayloadBatch",
    "RecordNumbers",
    "RowsRefused",
    "StaleTarget",
    "Target",
    "WriteOutcome",
    "copy_text",
    "json_lines",
    "read_target",
]
