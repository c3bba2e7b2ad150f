"""Which outcomes are favourable: what the monitor says, or else a suggestion from how labels are called."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.domain.monitors import Monitor
from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.values import Range, Scalar, canonical, label_of
from app.training.recommended.names import words_of

MOST_LABELS = 20

_GOOD_TEXT = (
    "approved,approve,accepted,accept,granted,grant,good,no risk,norisk,low risk,hired,hire,admitted,admit,passed,pass,eligible,no default"
    ",not default,non default,nondefault,fully paid,paid,paid off,repaid,paid back,success,successful,selected,promoted,funded,qualified"
    ",offered,loan originated,genehmigt,bewilligt,angenommen,accepte,approuve,aprobado,concedido,approvato,goedgekeurd"
)
_GOOD = frozenset(_GOOD_TEXT.split(","))
_BAD_TEXT = (
    "denied,deny,rejected,reject,refused,declined,decline,bad,risk,high risk,not hired,no hire,not admitted,failed,fail,ineligible,default"
    ",defaulted,charged off,unpaid,not paid,not approved,not accepted,not granted,not selected,not promoted,unsuccessful,unqualified"
    ",not eligible,application denied,abgelehnt,refuse,rechazado,denegado,rifiutato,afgewezen"
)
_BAD = frozenset(_BAD_TEXT.split(","))
_GOOD_NAMES_TEXT = (
    "approved approval approve accepted granted hired hire admitted paid repaid good eligible passed promoted promotion selected success"
    " qualified offer offered creditworthy"
)
_GOOD_NAMES = frozenset(_GOOD_NAMES_TEXT.split())
_BAD_NAMES_TEXT = (
    "default defaulted risk bad fraud churn recid recidivism denied denial rejected rejection late delinquent delinquency dlqin arrest"
    " rearrest readmitted readmission failed unpaid"
)
_BAD_NAMES = frozenset(_BAD_NAMES_TEXT.split())
_HIGH_INCOME, _LOW_INCOME = re.compile(r">\s*50\s*k\.?"), re.compile(r"<=\s*50\s*k\.?")
_YES, _NO = frozenset(("1", "true", "yes", "y")), frozenset(("0", "false", "no", "n"))


class Origin(StrEnum):
    """Who says which outcomes are favourable."""

    MONITOR = "monitor"
    SENT = "sent"
    SUGGESTION = "suggestion"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes that rates are counted by. `is_certain` = a monitor may be made of them without a person's word."""

    rule: OutcomeRule | None
    origin: Origin
    is_certain: bool
    evidence: str


def outcomes_of(
    monitor: Monitor | None, labels: Mapping[Scalar | Range, int], *, name: str, predicted: Mapping[Scalar | Range, int], is_quantity: bool
) -> Outcomes:
    """The monitor's outcomes, or what the labels of the column `name` suggest.

    `predicted` are the outcomes that the model logged: a monitor reads them, too, so they must be spelt as the labels are.
    """
    if monitor is not None:
        return Outcomes(monitor.outcomes, Origin.MONITOR, is_certain=True, evidence="the fairness monitor says so")
    if is_quantity:
        return _unknown("the model predicts numbers: which are favourable is for a person to say")
    found = _suggested(list(labels), name)
    if found.rule is None:
        return found
    rule = found.rule
    foreign = [value for value in predicted if not isinstance(value, Range) and rule.classify(value) is Outcome.UNCLASSIFIED]
    if foreign:
        evidence = f"{found.evidence}; but the model's own outcomes are spelt otherwise, such as {label_of(foreign[0])!r:.60}: say both"
        return Outcomes(rule, Origin.SUGGESTION, is_certain=False, evidence=evidence)
    return found


def _suggested(labels: list[Scalar | Range], name: str) -> Outcomes:
    if not labels:
        return _unknown("there are neither labels of training data nor logged outcomes to tell from")
    classes = [label for label in labels if not isinstance(label, Range)]
    if len(classes) < len(labels) or len(classes) > MOST_LABELS:
        return _unknown("the outcomes are numbers or too many, so that only a person can say which are favourable")
    sides = {label: _side(label) for label in classes}
    if {*sides.values()} == {True, False}:
        return _of(sides, is_certain=True, evidence=f"the words {_listed(classes)} say it; confirm")
    return _by_name(classes, name)


def _side(label: Scalar) -> bool | None:
    text = canonical(label).strip().lower()
    if _HIGH_INCOME.fullmatch(text) or _LOW_INCOME.fullmatch(text):
        return bool(_HIGH_INCOME.fullmatch(text))
    spelt = " ".join(words_of(text))
    return True if spelt in _GOOD else False if spelt in _BAD else None


def _by_name(classes: list[Scalar], name: str) -> Outcomes:
    spelt = {label: canonical(label).strip().lower() for label in classes}
    answers = {label: True if text in _YES else False if text in _NO else None for label, text in spelt.items()}
    words = set(words_of(name))
    is_good, is_bad = bool(words & _GOOD_NAMES), bool(words & _BAD_NAMES)
    if {*answers.values()} != {True, False} or is_good == is_bad:
        return _unknown(
            f"whether {_listed(classes)} of {name!r:.60} are favourable cannot be told; say it in the monitor, or send both lists"
        )
    sides = {label: answer is is_good for label, answer in answers.items()}
    word = min(words & (_GOOD_NAMES if is_good else _BAD_NAMES))
    return _of(
        sides, is_certain=False, evidence=f"the name {name!r:.60} holds {word!r}, so {'yes' if is_good else 'no'} is favourable; confirm"
    )


def _of(sides: Mapping[Scalar, bool | None], *, is_certain: bool, evidence: str) -> Outcomes:
    rule = OutcomeRule(
        favourable=tuple(label for label, side in sides.items() if side is True),
        unfavourable=tuple(label for label, side in sides.items() if side is False),
    )
    return Outcomes(rule, Origin.SUGGESTION, is_certain=is_certain, evidence=evidence)


def _unknown(reason: str) -> Outcomes:
    return Outcomes(None, Origin.UNKNOWN, is_certain=False, evidence=reason)


def _listed(values: list[Scalar]) -> str:
    return " and ".join(f"{label_of(value)!r:.60}" for value in values[:5])
