"""Favourable outcomes: those of the monitor, or else a suggestion from the names of labels."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum, StrEnum
from functools import lru_cache

from ...base.values import GroupValue, Range, Scalar, fold, frozen, join_first, name_value
from ...domain.monitor import Monitor, Outcome, OutcomeRule
import re
import tomllib
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...base.values import frozen
from .attribute_kinds import Coding, Kind, KindRow, Split, ValueNature


# NFKD does not take these letters apart.
_UNFOLDED = str.maketrans(
    {"ł": "l", "ß": "ss", "ø": "o", "æ": "ae", "đ": "d", "\u0131": "i", "œ": "oe", "þ": "th"}
)
_RUN = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MIN_AFFIX = 4
"""Min letters of a word written together with the name: `custage`, but no word that merely ends in `age`."""

MAX_READ = 200


@frozen
class NameMatch:
    """`is_whole` = the other words change nothing. `meaning` is set where values say yes or no to it."""

    phrase: str
    is_whole: bool
    is_ambiguous: bool
    others: tuple[str, ...] = ()
    meaning: str | None = None

    @property
    def sentence(self) -> str:
        if self.meaning is not None:
            return f"its name asks for {self.meaning}"
        neighbours = ", ".join(repr(token) for token in self.others[:5])
        return f"{self.phrase!r} in its name" + (f", next to {neighbours}" if neighbours else "")


def fold(text: str) -> str:
    lowered = text[:MAX_READ].lower().translate(_UNFOLDED)
    return "".join(
        letter for letter in unicodedata.normalize("NFKD", lowered) if not unicodedata.combining(letter)
    )


@lru_cache(maxsize=4096)
def split_words(name: str) -> tuple[str, ...]:
    return tuple(fold(token) for run in _RUN.findall(name[:MAX_READ]) for token in _CAMEL.split(run) if token)


def match_name(row: KindRow, name: str) -> NameMatch | None:
    tokens = split_words(name)
    best = None

    # `is_female` and `race_black` name one meaning, and their values say yes or no to it.
    removed = (_remove(phrase, tokens) for phrase in (*row.names, *row.ambiguous_names))
    remaining = next((candidate for candidate in removed if candidate is not None), tokens)
    joined = " ".join(
        token for token in remaining if token not in NEUTRAL_TO_CLEAR_NAMES and not token.isdigit()
    )
    meaning = row.indicators.get(joined)
    if meaning is None and len(remaining) < len(tokens):
        meaning = row.words.get(joined) or row.weak_words.get(joined)
    if meaning is not None:
        best = NameMatch(" ".join(tokens), is_whole=True, is_ambiguous=False, meaning=meaning)

    # Longest first, because it says most; by text, because a set has no order.
    for phrase in sorted({*row.names, *row.ambiguous_names}, key=lambda text: (-len(text), text)):
        neighbours = _other_words(phrase, tokens, name)
        if neighbours is None:
            continue
        is_ambiguous = phrase in row.ambiguous_names
        neutral = NEUTRAL if is_ambiguous else NEUTRAL_TO_CLEAR_NAMES
        is_whole = all(
            token in neutral or token in row.neutral or token.isdigit() or token in row.names
            for token in neighbours
        )
        if best is None or (is_whole and not best.is_whole):
            best = NameMatch(phrase, is_whole, is_ambiguous, neighbours)
    return best


def unfit_reason(row: KindRow, name: str) -> str | None:
    tokens = split_words(name)
    return next(
        (reason for phrase, reason in row.unfit_names.items() if _remove(phrase, tokens) is not None), None
    )


def _other_words(phrase: str, tokens: tuple[str, ...], name: str) -> tuple[str, ...] | None:
    """None if the phrase is not in the name."""
    if phrase != fold(phrase):
        # A name that only its accent distinguishes from another: età is an age, eta a time of arrival.
        return () if name.strip().lower() == phrase else None
    removed = _remove(phrase, tokens)
    if removed is not None:
        return removed
    joined = "".join(phrase.split())
    for position, token in enumerate(tokens):
        affix = token.removesuffix(joined) if token.endswith(joined) else token.removeprefix(joined)
        if token == joined or (affix != token and len(affix) >= _MIN_AFFIX and affix in NEUTRAL):
            return tokens[:position] + tokens[position + 1 :]
    return None


def _remove(phrase: str, tokens: tuple[str, ...]) -> tuple[str, ...] | None:
    words = tuple(phrase.split())
    starts = (
        start for start in range(len(tokens) - len(words) + 1) if tokens[start : start + len(words)] == words
    )
    return next((tokens[:start] + tokens[start + len(words) :] for start in starts), None)


_FOLDER = Path(__file__).with_name("words")


def read_words(name: str) -> dict[str, Any]:
    # TOML is UTF-8, whatever the locale of the machine.
    with (_FOLDER / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)


def read_kind(kind: Kind) -> KindRow:
    entries = read_words(kind)
    for name in ("words", "weak_words", "indicators", "unfit_names"):
        entries[name] = {
            spelling: meaning
            for meaning, spellings in entries.get(name, {}).items()
            for spelling in spellings
        }
    entries["codings"] = tuple(Coding(**coding) for coding in entries.get("codings", ()))
    entries["splits"] = tuple(Split(**split) for split in entries.get("splits", ()))
    entries["form"] = ValueNature(entries.get("form", ValueNature.CATEGORIES))
    return KindRow(kind=kind, **entries)


KINDS = tuple(map(read_kind, Kind))

_OF_ANY_KIND = read_words("any_kind")

NO_ANSWERS = frozenset[str](_OF_ANY_KIND["no_answers"])

NEUTRAL = frozenset[str](_OF_ANY_KIND["neutral"])

NEUTRAL_TO_CLEAR_NAMES = NEUTRAL | frozenset[str](_OF_ANY_KIND["neutral_to_clear_names"])

YES = frozenset[str](_OF_ANY_KIND["yes"])
NO = frozenset[str](_OF_ANY_KIND["no"])


ENOUGH = 0.95

MAX_VALUES = 300

_MAX_SHORT_ANSWER = 7
"""Max letters of a spelling that must be the whole value; shorter ones are also parts of names."""


class Fit(IntEnum):
    UNFIT = 0
    CATEGORIES = 1
    CODED = 2
    SPOKEN = 3
    BY_THEMSELVES = 4


@frozen
class ValueMatch:
    """The meaning of each value is by its label. `to_confirm` is what a person should make sure of."""

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
        or any(len(answer) > _MAX_SHORT_ANSWER and holds_phrase(spelled, answer) for answer in NO_ANSWERS)
    )


def holds_phrase(spelled: str, phrase: str) -> bool:
    return f" {phrase} " in f" {spelled} "


def list_values(values: Sequence[GroupValue], limit: int = 6) -> str:
    return join_first((f"{name_value(value):.40}" for value in values), limit)


MAX_LABELS = 20

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
        return _unknown("the model predicts numbers: which are favourable is for a person to say")
    suggested = _suggest(list(labels), name)
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


def _suggest(labels: list[Scalar | Range], name: str) -> RecommendedOutcomes:
    if not labels:
        return _unknown("there are neither labels of training data nor logged outcomes to suggest them from")
    classes = [label for label in labels if not isinstance(label, Range)]
    if len(classes) < len(labels) or len(classes) > MAX_LABELS:
        return _unknown(
            "the outcomes are numbers or too many, so that only a person can say which are favourable"
        )
    if {fold(label) for label in classes} == {"true", "false"}:
        # Under booleans every spelling of them counts, such as `True` of pandas.
        classes = [True, False]
    texts = {label: fold(label) for label in classes}
    listed = " and ".join(f"{name_value(value)!r:.60}" for value in classes[:5])

    sides = {}
    for label, text in texts.items():
        spelled = " ".join(split_words(text))
        is_good = bool(_HIGH_INCOME.fullmatch(text)) or spelled in _WORDS["favourable"]
        is_bad = bool(_LOW_INCOME.fullmatch(text)) or spelled in _WORDS["unfavourable"]
        sides[label] = True if is_good else False if is_bad else None
    if {*sides.values()} == {True, False}:
        return _suggestion(sides, is_certain=True, evidence=f"the words {listed} say it; confirm")

    # The name says which of yes and no is favourable.
    answers = {
        label: True if text in _WORDS["yes"] else False if text in _WORDS["no"] else None
        for label, text in texts.items()
    }
    tokens = set(split_words(name))
    good = tokens.intersection(_WORDS["names_of_favourable"])
    bad = tokens.intersection(_WORDS["names_of_unfavourable"])
    if {*answers.values()} != {True, False} or bool(good) == bool(bad):
        return _unknown(
            f"nothing shows whether {listed} of {name!r:.60} are favourable; say it in the monitor, or send "
            "both lists"
        )
    sides = {label: answer is bool(good) for label, answer in answers.items()}
    favourable = "yes" if good else "no"
    evidence = f"the name {name!r:.60} holds {min(good or bad)!r}, so {favourable} is favourable; confirm"
    return _suggestion(sides, is_certain=False, evidence=evidence)


def _suggestion(
    sides: Mapping[Scalar, bool | None], *, is_certain: bool, evidence: str
) -> RecommendedOutcomes:
    favourable, unfavourable = (
        tuple(label for label, side in sides.items() if side is listed) for listed in (True, False)
    )
    return RecommendedOutcomes(
        OutcomeRule(favourable, unfavourable),
        OutcomesOrigin.SUGGESTION,
        is_certain=is_certain,
        evidence=evidence,
    )


def _unknown(reason: str) -> RecommendedOutcomes:
    return RecommendedOutcomes(None, OutcomesOrigin.UNKNOWN, is_certain=False, evidence=reason)
