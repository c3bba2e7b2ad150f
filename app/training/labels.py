"""The outcomes of labels."""

from ..domain.outcomes import Outcome, OutcomeRule
from ..domain.values import Scalar

BOOLEANS = {"true": True, "false": False}


def parse_boolean(text: str) -> bool | None:
    """Returns the boolean that a text spells in any letters, as pandas and spreadsheets do."""
    return BOOLEANS.get(text.strip().lower())


def classify_label(label: Scalar | None, rule: OutcomeRule) -> Outcome:
    return rule.classify(None if label is None else convert_label(label, rule))


def convert_label(label: Scalar, rule: OutcomeRule) -> Scalar:
    """Returns the label in the type of the monitor's outcomes: if all are booleans, a text that spells one is that one."""
    if isinstance(label, str) and all(isinstance(member, bool) for member in (*rule.favourable, *rule.unfavourable)):
        spelled = parse_boolean(label)
        return label if spelled is None else spelled
    return label
