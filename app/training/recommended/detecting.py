"""Name and values together: which kind a column is of, and how sure that is."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.domain.values import GroupValue
from app.training.recommended.kinds import Form, KindRow
from app.training.recommended.names import NameMatch, name_match, unfit_reason
from app.training.recommended.table import KINDS
from app.training.recommended.values import Fit, ValueMatch, value_match


class Confidence(StrEnum):
    """How sure it is that the column is of that kind."""

    HIGH = "high"
    MEDIUM = "medium"


@dataclass(frozen=True, slots=True)
class Detected:
    """A column that is of a kind, with what tells so."""

    row: KindRow
    confidence: Confidence
    name: NameMatch | None
    values: ValueMatch


@dataclass(frozen=True, slots=True)
class Dismissed:
    """A column that speaks of a kind and is not proposed, with the reason."""

    row: KindRow
    reason: str


def detect(name: str, counted: Mapping[GroupValue, int]) -> Detected | Dismissed | None:
    """What the column is, from its name and its values with their records; None where nothing speaks of any kind."""
    found = [one for one in (_of_kind(row, name, counted) for row in KINDS) if one is not None]
    sure = [one for one in found if isinstance(one, Detected)]
    if sure:
        return min(sure, key=lambda one: (one.confidence is not Confidence.HIGH, -one.values.fit))
    return found[0] if found else None


def is_named(name: str) -> bool:
    """Whether anything in the name speaks of a kind."""
    return any(name_match(row, name) is not None or unfit_reason(row, name) is not None for row in KINDS)


def _of_kind(row: KindRow, name: str, counted: Mapping[GroupValue, int]) -> Detected | Dismissed | None:
    unfit = unfit_reason(row, name)
    if unfit is not None:
        return Dismissed(row, unfit)
    named = name_match(row, name)
    if named is None and row.form is Form.QUANTITY:
        return None  # numbers say nothing by themselves
    values = value_match(row, counted, named)
    if named is None:
        return Detected(row, Confidence.MEDIUM, None, values) if values.fit is Fit.BY_THEMSELVES else None
    if not counted:
        reason = "nothing is known of its values: upload training data with this column, or log payload"
        return Dismissed(row, reason) if named.is_whole else None
    return _named_wholly(row, named, values) if named.is_whole else _named_in_part(row, named, values)


def _named_wholly(row: KindRow, named: NameMatch, values: ValueMatch) -> Detected | Dismissed:
    if values.fit >= Fit.SPOKEN:
        return Detected(row, Confidence.HIGH, named, values)
    if values.fit is Fit.CODED or (values.fit is Fit.CATEGORIES and not named.is_ambiguous):
        return Detected(row, Confidence.MEDIUM, named, values)
    return Dismissed(row, f"its name may mean {row.title}, but {values.sentence}")


def _named_in_part(row: KindRow, named: NameMatch, values: ValueMatch) -> Detected | Dismissed:
    if values.fit is Fit.BY_THEMSELVES:
        return Detected(row, Confidence.MEDIUM, named, values)
    others = ", ".join(repr(word) for word in named.others[:5])
    return Dismissed(
        row, f"{named.phrase!r} in its name may mean {row.title}, but {others} beside it makes it something else, and {values.sentence}"
    )
