"""Labels compared with the monitor's outcomes: the outcome of each, and those that have none."""

from ..domain.outcomes import Outcome, OutcomeRule
from ..domain.values import Scalar

BOOLEANS = {"true": True, "false": False}
"""Spellings of booleans in a text file, in small letters."""


def parse_boolean(text: str) -> bool | None:
    """Returns the boolean that a text spells in any letters, as pandas and spreadsheets do; None if it spells none."""
    return BOOLEANS.get(text.strip().lower())


def classify_label(label: Scalar | None, rule: OutcomeRule) -> Outcome:
    """Returns the outcome of one label."""
    return rule.classify(None if label is None else convert_label(label, rule))


def convert_label(label: Scalar, rule: OutcomeRule) -> Scalar:
    """Returns the label in the type of the monitor's outcomes. If all of these are booleans, a text that spells one is that one."""
    if isinstance(label, str) and all(isinstance(member, bool) for member in (*rule.favourable, *rule.unfavourable)):
        spelled = parse_boolean(label)
        return label if spelled is None else spelled
    return label
