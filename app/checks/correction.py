"""Corrections of stored labels and predictions."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from ..base.frozen import frozen, frozen_by_name
from ..base.values import Scalar


class Corrected(StrEnum):
    """The value of a record that is corrected."""

    LABEL = "label"
    PREDICTION = "prediction"


@frozen_by_name
class Correction:
    """One correction. Without `old` any stored value is replaced; a `new` of None takes the value away."""

    id: str | None
    record_id: str
    what: Corrected
    old: Scalar | None
    new: Scalar | None
    reason: str


@frozen
class CorrectedCount:
    """How many values of a kind were corrected."""

    what: str
    count: int


def describe_corrected(counts: Sequence[CorrectedCount], measured: datetime | None) -> str:
    """Returns the sentence on values that were corrected since figures were measured."""
    phrases = [
        f"{corrected.count:,} {corrected.what}{'' if corrected.count == 1 else 's'}" for corrected in counts
    ]
    total = sum(corrected.count for corrected in counts)
    return f"{', '.join(phrases)} {'was' if total == 1 else 'were'} corrected since {measured:%-d %b %Y}."
