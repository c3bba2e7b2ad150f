"""The predictions that count as favourable. Source: spec of the fairness check, sections 1 and 2."""

from enum import IntEnum

from ..base.frozen import frozen
from ..base.values import BOOLEANS, GroupValue, Scalar, exact_number, fold, name_value, read_number
from .value_tests import ValueTest, is_numeric, outcome_test


class Outcome(IntEnum):
    """The code of a prediction in every table. UNCLASSIFIED takes no part in any rate and is counted separately."""

    UNFAVOURABLE = 0
    FAVOURABLE = 1
    UNCLASSIFIED = 2


@frozen
class OutcomeTests:
    """An answer that passes both tests, which no monitor allows, is favourable."""

    favourable: ValueTest
    unfavourable: ValueTest

    def classify(self, answer: Scalar | None) -> Outcome:
        if answer is None:
            return Outcome.UNCLASSIFIED
        if self.favourable.passes(answer):
            return Outcome.FAVOURABLE
        return Outcome.UNFAVOURABLE if self.unfavourable.passes(answer) else Outcome.UNCLASSIFIED

    def read(self, answer: Scalar) -> Scalar:
        """Returns the class of an answer: a spelling of a listed boolean is that boolean."""
        text = fold(answer)
        return BOOLEANS[text] if text in (*self.favourable.spellings, *self.unfavourable.spellings) else answer


@frozen
class OutcomeRule:
    """The favourable and unfavourable class values, or closed ranges for regression."""

    favourable: tuple[GroupValue, ...]
    unfavourable: tuple[GroupValue, ...]

    @property
    def tests(self) -> OutcomeTests:
        """The rule as tests; make them once for many answers."""
        return OutcomeTests(outcome_test(self.favourable, self.unfavourable), outcome_test(self.unfavourable, self.favourable))

    def classify(self, prediction: Scalar | None) -> Outcome:
        return self.tests.classify(prediction)

    def classify_text(self, text: str) -> Outcome:
        """Returns the outcome of a class by its canonical text: under numbers, of the number that it spells."""
        number = exact_number(text) if all(is_numeric(member) for member in (*self.favourable, *self.unfavourable)) else None
        return self.classify(text if number is None else number)


def outcome_label(outcome: GroupValue) -> str:
    """Returns the outcome as pages and series name it: a text that spells a number is in double quotes."""
    is_deceptive = isinstance(outcome, str) and read_number(outcome) is not None
    return f'"{outcome}"' if is_deceptive else name_value(outcome)


def outcome_texts(members: tuple[GroupValue, ...]) -> list[str]:
    return sorted(outcome_label(member) for member in members)
