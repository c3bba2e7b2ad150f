"""Labels held against the monitor's outcomes: what each stands for, and which are among none."""

from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.values import Scalar

BOOLEANS = {"true": True, "false": False}
"""How a text file spells them, in small letters."""


def boolean_of(text: str) -> bool | None:
    """The boolean that a text spells in any letters, as pandas and spreadsheets do; None where it spells none."""
    return BOOLEANS.get(text.strip().lower())


def outcome_of(label: Scalar | None, rule: OutcomeRule) -> Outcome:
    """The outcome of one label. Where all outcomes are booleans, a text that spells one is that one."""
    if isinstance(label, str) and all(isinstance(member, bool) for member in (*rule.favourable, *rule.unfavourable)):
        spelt = boolean_of(label)
        return rule.classify(label if spelt is None else spelt)
    return rule.classify(label)
