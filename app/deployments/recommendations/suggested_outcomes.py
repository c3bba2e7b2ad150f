"""Favourable outcomes: those of the monitor, or else a suggestion from the names of labels."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum, StrEnum
from functools import lru_cache

from ...base.values import GroupValue, Range, Scalar, fold, frozen, join_first, name_value
from ...domain.monitor import Monitor, Outcome, OutcomeRule
from .column_names import NO_ANSWERS, read_words, split_words

MIN_RECOGNISED_SHARE = 0.95
"""Min share of the records whose value must be recognised."""

MAX_GROUP_VALUES = 300
"""Distinct values beyond which a column is not divided into groups."""

_MAX_SHORT_ANSWER_LETTERS = 7
"""Max letters of a spelling that must be the whole value; shorter ones are also parts of names."""


class Fit(IntEnum):
    """Strength with which values show a kind."""

    UNFIT = 0
    CATEGORIES = 1
    """A few short values, whose meaning is not known."""

    CODED = 2
    """Codes, of which a person must say what they mean."""

    SPOKEN = 3
    """Words or certain codes, which need a name that fits."""

    BY_THEMSELVES = 4
    """Values that show the kind whatever the column's name."""


@frozen
class ValueMatch:
    """Match of a column's values with a kind, in words (`sentence`). `meanings` are by the values' labels,
    `to_confirm` says what a person should make sure of.
    """

    fit: Fit
    sentence: str
    meanings: Mapping[str, str] = field(default_factory=dict)
    to_confirm: str | None = None


# Typed: 1 and True are equal keys with different labels.
@lru_cache(maxsize=4096, typed=True)
def is_no_answer(value: GroupValue) -> bool:
    spelled = " ".join(split_words(name_value(value)))
    # A value such as `?` or `-` has no words at all.
    return (
        not spelled
        or spelled in NO_ANSWERS
        or any(
            len(answer) > _MAX_SHORT_ANSWER_LETTERS and holds_phrase(spelled, answer) for answer in NO_ANSWERS
        )
    )


def holds_phrase(spelled: str, phrase: str) -> bool:
    return f" {phrase} " in f" {spelled} "


def list_values(values: Sequence[GroupValue], limit: int = 6) -> str:
    return join_first((f"{name_value(value):.40}" for value in values), limit)


MAX_OUTCOME_LABELS = 20
"""Distinct labels beyond which no outcomes are suggested."""

_WORDS = read_words("outcomes")
_HIGH_INCOME = re.compile(r">\s*50\s*k\.?")
_LOW_INCOME = re.compile(r"<=\s*50\s*k\.?")


class OutcomesOrigin(StrEnum):
    """The source of the favourable outcomes."""

    MONITOR = "monitor"
    SENT = "sent"
    SUGGESTION = "suggestion"
    UNKNOWN = "unknown"


@frozen
class RecommendedOutcomes:
    """Outcomes, or why there are none (`rule` None). `is_certain`: a monitor may be made of them unseen."""

    rule: OutcomeRule | None
    origin: OutcomesOrigin
    is_certain: bool
    evidence: str

    @property
    def favourable(self) -> tuple[GroupValue, ...] | None:
        return None if self.rule is None else self.rule.favourable

    @property
    def unfavourable(self) -> tuple[GroupValue, ...] | None:
        return None if self.rule is None else self.rule.unfavourable


def determine_outcomes(
    monitor: Monitor | None,
    labels: Mapping[Scalar | Range, int],
    *,
    name: str,
    predicted: Mapping[Scalar | Range, int],
    is_quantity: bool,
) -> RecommendedOutcomes:
    """`predicted` are the outcomes that the model logged, which must be spelled as the labels are."""
    if monitor is not None:
        return RecommendedOutcomes(
            monitor.outcomes, OutcomesOrigin.MONITOR, is_certain=True, evidence="the fairness monitor says so"
        )
    if is_quantity:
        return _leave_unknown("the model predicts numbers: which are favourable is for a person to say")
    suggested = _suggest_outcomes(list(labels), name)
    if suggested.rule is None:
        return suggested
    rule = suggested.rule
    # A monitor compares spellings: labels `1` and predictions `approved` would share no outcome.
    foreign = [
        value
        for value in predicted
        if not isinstance(value, Range) and rule.classify(value) is Outcome.UNCLASSIFIED
    ]
    if foreign:
        spelling = (
            "the model's own outcomes are spelled otherwise, such as "
            f"{name_value(foreign[0])!r:.60}: say both"
        )
        return replace(suggested, is_certain=False, evidence=f"{suggested.evidence}; but {spelling}")
    return suggested


def _suggest_outcomes(labels: list[Scalar | Range], name: str) -> RecommendedOutcomes:
    if not labels:
        return _leave_unknown(
            "there are neither labels of training data nor logged outcomes to suggest them from"
        )
    classes = [label for label in labels if not isinstance(label, Range)]
    if len(classes) < len(labels) or len(classes) > MAX_OUTCOME_LABELS:
        return _leave_unknown(
            "the outcomes are numbers or too many, so that only a person can say which are favourable"
        )
    if {fold(label) for label in classes} == {"true", "false"}:
        # Under booleans every spelling of them counts, such as `True` of pandas.
        classes = [True, False]
    texts = {label: fold(label) for label in classes}
    listed = " and ".join(f"{name_value(value)!r:.60}" for value in classes[:5])

    is_favourable: dict[Scalar, bool | None] = {}
    for label, text in texts.items():
        spelled = " ".join(split_words(text))
        if _HIGH_INCOME.fullmatch(text) or spelled in _WORDS["favourable"]:
            is_favourable[label] = True
        elif _LOW_INCOME.fullmatch(text) or spelled in _WORDS["unfavourable"]:
            is_favourable[label] = False
        else:
            is_favourable[label] = None
    if {*is_favourable.values()} == {True, False}:
        return _build_suggestion(
            is_favourable, is_certain=True, evidence=f"the words {listed} say it; confirm"
        )

    # The name says which of yes and no is favourable.
    all_answer = all(text in _WORDS["yes"] or text in _WORDS["no"] for text in texts.values())
    is_yes = {label: text in _WORDS["yes"] for label, text in texts.items()}
    tokens = set(split_words(name))
    good_words = tokens.intersection(_WORDS["names_of_favourable"])
    bad_words = tokens.intersection(_WORDS["names_of_unfavourable"])
    if not all_answer or {*is_yes.values()} != {True, False} or bool(good_words) == bool(bad_words):
        return _leave_unknown(
            f"nothing shows whether {listed} of {name!r:.60} are favourable; say it in the monitor, or send "
            "both lists"
        )
    is_favourable = {label: answer is bool(good_words) for label, answer in is_yes.items()}
    favourable = "yes" if good_words else "no"
    word = min(good_words or bad_words)
    evidence = f"the name {name!r:.60} holds {word!r}, so {favourable} is favourable; confirm"
    return _build_suggestion(is_favourable, is_certain=False, evidence=evidence)


def _build_suggestion(
    is_favourable: Mapping[Scalar, bool | None], *, is_certain: bool, evidence: str
) -> RecommendedOutcomes:
    return RecommendedOutcomes(
        OutcomeRule(
            tuple(label for label, side in is_favourable.items() if side is True),
            tuple(label for label, side in is_favourable.items() if side is False),
        ),
        OutcomesOrigin.SUGGESTION,
        is_certain=is_certain,
        evidence=evidence,
    )


def _leave_unknown(reason: str) -> RecommendedOutcomes:
    return RecommendedOutcomes(None, OutcomesOrigin.UNKNOWN, is_certain=False, evidence=reason)
