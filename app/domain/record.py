"""Logged records, and the receipt of a batch."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.values import Scalar, frozen


@frozen
class Rejection:
    """One record of a batch that was not stored: its position (from 0), the field, and what was expected
    and found.
    """

    index: int
    field: str
    reason: str


@frozen
class RecordConflict:
    """A record whose id is stored already with other content. The stored one stays."""

    index: int
    id: str
    reason: str


@frozen
class ReceiptWarning:
    """Stored records that probably hold a mistake: ids that look alike, or labels or predictions of one
    value that is in no outcome list of the monitor, which no figure counts.
    """

    field: str
    records: int
    message: str


@frozen
class Receipt:
    """After the durable commit: accepted + duplicate + rejected = sent.

    Conflicts are counted among the rejected, and listed because the sender has a bug. `rounded` counts
    records whose probability, a hair outside [0, 1], became 0 or 1.
    """

    accepted: int
    duplicate: int
    rejected: int
    rejections: tuple[Rejection, ...]
    conflicts: tuple[RecordConflict, ...]
    rounded: int = 0
    warnings: Sequence[ReceiptWarning] = ()


ROUNDING = 1e-6


def round_probability(value: float) -> float | None:
    """None if the probability is further outside [0, 1] than rounding moves it."""
    return min(max(value, 0), 1) if -ROUNDING <= value <= 1 + ROUNDING else None


# Not frozen: a check makes hundreds of thousands, and a frozen one takes more than twice as long to make.
@dataclass(slots=True, unsafe_hash=True)
class Prediction:
    """`label` is the decoded form where the endpoint gives one; `is_rounded`: its probability is."""

    prediction: Scalar
    probability: float | tuple[float, ...] | None = None
    label: Scalar | None = None
    is_rounded: bool = False

    @property
    def outcome_value(self) -> Scalar:
        return self.prediction if self.label is None else self.label


def digest_id(record_id: str) -> bytes:
    return hashlib.blake2b(
        record_id.encode("utf-8", "surrogatepass"), digest_size=16, person=b"erased id"
    ).digest()
