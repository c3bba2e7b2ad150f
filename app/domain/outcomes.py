"""Which predictions count as favourable. Source: spec of the fairness check, sections 1 and 2."""

from dataclasses import dataclass
from enum import IntEnum

from app.domain.values import GroupValue, Range, Scalar, canonical, label_of, number_of


class Outcome(IntEnum):
    """The code of a prediction in every table. UNCLASSIFIED takes no part in any rate and is counted apart."""

    UNFAVOURABLE = 0
    FAVOURABLE = 1
    UNCLASSIFIED = 2


@dataclass(frozen=True, slots=True)
class OutcomeRule:
    """The favourable and unfavourable class values, or closed ranges for regression."""

    favourable: tuple[GroupValue, ...]
    unfavourable: tuple[GroupValue, ...]

    def classify(self, prediction: Scalar | None) -> Outcome:
        """The outcome of one prediction (or decoded label, or observed label)."""
        if prediction is None:
            return Outcome.UNCLASSIFIED
        if lists(self.favourable, prediction):
            return Outcome.FAVOURABLE
        if lists(self.unfavourable, prediction):
            return Outcome.UNFAVOURABLE
        return Outcome.UNCLASSIFIED


def lists(members: tuple[GroupValue, ...], value: Scalar) -> bool:
    """Whether a list of values and ranges holds `value`."""
    number = number_of(value)
    text = canonical(value)
    return any((number is not None and number in member) if isinstance(member, Range) else canonical(member) == text for member in members)


def outcome_texts(members: tuple[GroupValue, ...]) -> list[str]:
    """A list of outcomes as it is stored with what was counted under it, in an order of its own."""
    return sorted(label_of(member) for member in members)
