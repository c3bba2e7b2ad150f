"""The kind of a column, by name and values together."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ..domain.values import GroupValue, Range
from .age_values import match_ages
from .category_values import match_categories
from .kinds import KindRow, ValueNature
from .names import NameMatch, match_name, unfit_reason
from .places import match_places
from .values import Fit, ValueMatch
from .vocabulary import KINDS


class Confidence(StrEnum):
    """Certainty that the column is of that kind."""

    HIGH = "high"
    MEDIUM = "medium"


@dataclass(frozen=True, slots=True)
class Detected:
    row: KindRow
    confidence: Confidence
    name: NameMatch | None
    values: ValueMatch


@dataclass(frozen=True, slots=True)
class Dismissed:
    row: KindRow
    reason: str


def detect(name: str, counted: Mapping[GroupValue, int]) -> Detected | Dismissed | None:
    found: list[Detected | Dismissed] = []
    for row in KINDS:
        unfit = unfit_reason(row, name)
        if unfit is not None:
            found.append(Dismissed(row, unfit))
            continue
        named = match_name(row, name)
        if named is None and row.form is ValueNature.QUANTITY:
            continue
        values = match_values(row, counted, named)
        is_whole = named is not None and named.is_whole
        is_ambiguous = named is None or named.is_ambiguous
        is_sure = is_whole and values.fit >= Fit.SPOKEN
        is_likely = is_whole and (values.fit is Fit.CODED or (values.fit is Fit.CATEGORIES and not is_ambiguous))

        if is_sure or is_likely or values.fit is Fit.BY_THEMSELVES:
            found.append(Detected(row, Confidence.HIGH if is_sure else Confidence.MEDIUM, named, values))
        elif named is None:
            continue
        elif is_whole:
            unknown = "nothing is known of its values: upload training data with this column, or log payload"
            found.append(Dismissed(row, f"its name may mean {row.title}, but {values.sentence}" if counted else unknown))
        elif counted:
            others = ", ".join(repr(word) for word in named.others[:5])
            reason = f"{named.phrase!r} in its name may mean {row.title}, but {others} next to it makes it something else"
            found.append(Dismissed(row, f"{reason}, and {values.sentence}"))

    sure = [one for one in found if isinstance(one, Detected)]
    if sure:
        # Of equal ones the first counts: KINDS has an order.
        return min(sure, key=lambda one: (one.confidence is not Confidence.HIGH, -one.values.fit))
    return found[0] if found else None


def is_named(name: str) -> bool:
    return any(match_name(row, name) is not None or unfit_reason(row, name) is not None for row in KINDS)


def match_values(row: KindRow, counted: Mapping[GroupValue, int], name: NameMatch | None) -> ValueMatch:
    if not counted:
        return ValueMatch(Fit.UNFIT, "no value is known")
    if row.form is ValueNature.QUANTITY:
        return match_ages(counted)
    if any(isinstance(value, Range) for value in counted):
        return ValueMatch(Fit.UNFIT, "its values are counted in intervals, so there are too many for groups")
    return match_places(counted) if row.form is ValueNature.PLACES else match_categories(row, counted, name)
