"""Recognises the kind of attribute that a column is named after, by the words in `words/`."""

import re
import tomllib
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...base.values import frozen
from .attribute_kinds import Coding, CustomarySplit, Kind, KindRow, ValueNature

# NFKD does not take these letters apart.
_UNFOLDED = str.maketrans(
    {"ł": "l", "ß": "ss", "ø": "o", "æ": "ae", "đ": "d", "\u0131": "i", "œ": "oe", "þ": "th"}
)
_LETTERS_OR_DIGITS = re.compile(r"[^\W\d_]+|\d+")
_CAMEL_CASE_BREAK = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MIN_AFFIX_LETTERS = 4
"""Min letters of a word written together with the name: `custage`, but no word that merely ends in `age`."""

MAX_NAME_CHARACTERS = 200
"""Characters beyond which a name or value is not read."""


@frozen
class NameMatch:
    """The part of a name that names the kind.

    `is_whole` = the other words change nothing. `meaning` is set where the column says yes or no to that
    one meaning.
    """

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


def fold_letters(text: str) -> str:
    lowered = text[:MAX_NAME_CHARACTERS].lower().translate(_UNFOLDED)
    return "".join(
        letter for letter in unicodedata.normalize("NFKD", lowered) if not unicodedata.combining(letter)
    )


@lru_cache(maxsize=4096)
def split_words(name: str) -> tuple[str, ...]:
    return tuple(
        fold_letters(token)
        for run in _LETTERS_OR_DIGITS.findall(name[:MAX_NAME_CHARACTERS])
        for token in _CAMEL_CASE_BREAK.split(run)
        if token
    )


def match_name(row: KindRow, name: str) -> NameMatch | None:
    """Finds the longest phrase of the kind, if possible one that explains the whole name."""
    tokens = split_words(name)
    best = None

    # `is_female` and `race_black` name one meaning, and their values say yes or no to it.
    candidates = (_remove_phrase(phrase, tokens) for phrase in (*row.names, *row.ambiguous_names))
    remaining = next((candidate for candidate in candidates if candidate is not None), tokens)
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
        neighbours = _find_neighbours(phrase, tokens, name)
        if neighbours is None:
            continue
        is_ambiguous = phrase in row.ambiguous_names
        neutral = NEUTRAL if is_ambiguous else NEUTRAL_TO_CLEAR_NAMES
        is_whole = all(
            token in neutral or token in row.neutral_words or token.isdigit() or token in row.names
            for token in neighbours
        )
        if best is None or (is_whole and not best.is_whole):
            best = NameMatch(phrase, is_whole, is_ambiguous, neighbours)
    return best


def find_unfit_reason(row: KindRow, name: str) -> str | None:
    tokens = split_words(name)
    return next(
        (reason for phrase, reason in row.unfit_names.items() if _remove_phrase(phrase, tokens) is not None),
        None,
    )


def _find_neighbours(phrase: str, tokens: tuple[str, ...], name: str) -> tuple[str, ...] | None:
    if phrase != fold_letters(phrase):
        # A name that only its accent distinguishes from another: età is an age, eta a time of arrival.
        return () if name.strip().lower() == phrase else None
    removed = _remove_phrase(phrase, tokens)
    if removed is not None:
        return removed
    joined = "".join(phrase.split())
    for position, token in enumerate(tokens):
        affix = token.removesuffix(joined) if token.endswith(joined) else token.removeprefix(joined)
        if token == joined or (affix != token and len(affix) >= _MIN_AFFIX_LETTERS and affix in NEUTRAL):
            return tokens[:position] + tokens[position + 1 :]
    return None


def _remove_phrase(phrase: str, tokens: tuple[str, ...]) -> tuple[str, ...] | None:
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
    # The files list the spellings of a meaning; look-ups go from a spelling to its meaning.
    entries = read_words(kind)
    for name in ("words", "weak_words", "indicators", "unfit_names"):
        entries[name] = {
            spelling: meaning
            for meaning, spellings in entries.get(name, {}).items()
            for spelling in spellings
        }
    entries["codings"] = tuple(Coding(**coding) for coding in entries.get("codings", ()))
    entries["splits"] = tuple(CustomarySplit(**split) for split in entries.get("splits", ()))
    entries["nature"] = ValueNature(entries.get("nature", ValueNature.CATEGORIES))
    return KindRow(kind=kind, **entries)


KIND_ROWS = tuple(map(read_kind, Kind))

_WORDS_OF_ANY_KIND = read_words("any_kind")

NO_ANSWERS = frozenset[str](_WORDS_OF_ANY_KIND["no_answers"])
"""Values such as `unknown`, which are in no group."""

NEUTRAL = frozenset[str](_WORDS_OF_ANY_KIND["neutral"])
"""Words that may be next to any name of a kind without changing its meaning."""

NEUTRAL_TO_CLEAR_NAMES = NEUTRAL | frozenset[str](_WORDS_OF_ANY_KIND["neutral_to_clear_names"])

YES_WORDS = frozenset[str](_WORDS_OF_ANY_KIND["yes"])
NO_WORDS = frozenset[str](_WORDS_OF_ANY_KIND["no"])
