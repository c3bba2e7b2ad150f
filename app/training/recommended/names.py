"""What a column's name says: which kind it names, and whether every other word in it leaves that alone."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from app.training.recommended.kinds import NEUTRAL, NEUTRAL_OF_CLEAR_NAMES, KindRow

_UNFOLDED = str.maketrans({"ł": "l", "ß": "ss", "ø": "o", "æ": "ae", "đ": "d", "\u0131": "i", "œ": "oe", "þ": "th"})
_RUN = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SHORTEST_AFFIX = 4
"""Letters of a word that may be written together with the name: `custage`, but no word that merely ends in `age`."""

LONGEST = 200
"""Characters that are read of a name or a value."""


@dataclass(frozen=True, slots=True)
class NameMatch:
    """The part of a name that names the kind.

    `is_whole` = the other words change nothing. `meaning` is set where the column says yes or no to that one meaning.
    """

    phrase: str
    is_whole: bool
    is_ambiguous: bool
    others: tuple[str, ...] = ()
    meaning: str | None = None


def folded(text: str) -> str:
    """Small letters without accents."""
    lowered = text[:LONGEST].lower().translate(_UNFOLDED)
    return "".join(letter for letter in unicodedata.normalize("NFKD", lowered) if not unicodedata.combining(letter))


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name or of a value, folded: `PersonalStatusSex` has three, `RAC1P` has three."""
    return tuple(folded(part) for run in _RUN.findall(name[:LONGEST]) for part in _CAMEL.split(run) if part)


def name_match(row: KindRow, name: str) -> NameMatch | None:
    """The best match of a column's name with a kind; None where nothing in it speaks of the kind."""
    words = words_of(name)
    best = _indicator(row, words)
    for phrase in sorted({*row.names, *row.ambiguous_names}, key=lambda one: (-len(one), one)):
        is_ambiguous = phrase in row.ambiguous_names
        others = _around(phrase, words, name)
        if others is None:
            continue
        found = NameMatch(phrase, _changes_nothing(others, row, is_ambiguous=is_ambiguous), is_ambiguous, others)
        if best is None or (found.is_whole and not best.is_whole):
            best = found
    return best


def unfit_reason(row: KindRow, name: str) -> str | None:
    """Why a column so called is not proposed, though it speaks of the kind."""
    words = words_of(name)
    return next((reason for phrase, reason in row.unfit_names.items() if _without(phrase.split(), words) is not None), None)


def _indicator(row: KindRow, words: tuple[str, ...]) -> NameMatch | None:
    """The match of `is_female` or `race_black`, whose values say yes or no."""
    rest = words
    for phrase in (*row.names, *row.ambiguous_names):
        found = _without(phrase.split(), words)
        if found is not None:
            rest = found
            break
    left = " ".join(word for word in rest if word not in NEUTRAL_OF_CLEAR_NAMES and not word.isdigit())
    named = len(rest) < len(words)
    meaning = row.indicators.get(left) or ((row.words.get(left) or row.weak_words.get(left)) if named else None)
    return None if meaning is None else NameMatch(" ".join(words), is_whole=True, is_ambiguous=False, meaning=meaning)


def _around(phrase: str, words: tuple[str, ...], name: str) -> tuple[str, ...] | None:
    """The other words; None where the phrase is not in the name."""
    if phrase != folded(phrase):
        # A name that only its accent tells from another: età is an age, eta a time of arrival.
        return () if name.strip().lower() == phrase else None
    parts = phrase.split()
    found = _without(parts, words)
    if found is not None:
        return found
    joined = "".join(parts)
    for place, word in enumerate(words):
        rest = words[:place] + words[place + 1 :]
        if word == joined:
            return rest
        affix = word.removesuffix(joined) if word.endswith(joined) else word.removeprefix(joined) if word.startswith(joined) else ""
        if len(affix) >= _SHORTEST_AFFIX and affix in NEUTRAL:
            return rest
    return None


def _without(parts: list[str], words: tuple[str, ...]) -> tuple[str, ...] | None:
    size = len(parts)
    starts = (start for start in range(len(words) - size + 1) if list(words[start : start + size]) == parts)
    return next((words[:start] + words[start + size :] for start in starts), None)


def _changes_nothing(others: tuple[str, ...], row: KindRow, *, is_ambiguous: bool) -> bool:
    neutral = NEUTRAL if is_ambiguous else NEUTRAL_OF_CLEAR_NAMES
    return all(word in neutral or word in row.neutral or word.isdigit() or word in row.names for word in others)
