"""Which predictions count as favourable. Source: spec of the fairness check, sections 1 and 2."""

from dataclasses import dataclass
from enum import IntEnum

from app.domain.values import GroupValue, Range, Scalar, canonical, exact_number, label_of, number_of


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

    def classify_text(self, text: str) -> Outcome:
        """The outcome of a class that is only known by its canonical text: under numbers, of the number that it spells."""
        number = exact_number(text) if all(is_numeric(member) for member in (*self.favourable, *self.unfavourable)) else None
        return self.classify(text if number is None else number)


def lists(members: tuple[GroupValue, ...], value: Scalar) -> bool:
    """Whether a list of values and ranges holds `value`: under a number or a range only numbers count, never text that spells one.

    Under a text whatever is written so counts: a label out of CSV, which has no types, is a number where it looks like one.
    """
    number, text = number_of(value), canonical(value)
    if isinstance(value, str) and number is not None:
        members = tuple(member for member in members if not is_numeric(member))
    return any((number is not None and number in member) if isinstance(member, Range) else canonical(member) == text for member in members)


def is_numeric(outcome: GroupValue) -> bool:
    """Whether the outcome is a number or a range of numbers, under which no text counts."""
    return not isinstance(outcome, str | bool)


def outcome_label(outcome: GroupValue) -> str:
    """The outcome as pages show it and series name it: a text that spells a number stands in double quotes, for it is none."""
    is_deceptive = isinstance(outcome, str) and number_of(outcome) is not None
    return f'"{outcome}"' if is_deceptive else label_of(outcome)


def outcome_texts(members: tuple[GroupValue, ...]) -> list[str]:
    """A list of outcomes as it is stored with what was counted under it, in an order of its own."""
    return sorted(outcome_label(member) for member in members)
