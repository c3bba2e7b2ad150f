"""The kind that a column's name names, and whether every other word in it leaves that unchanged."""

import re
import unicodedata
from functools import lru_cache

from ..frozen import frozen
from .kinds import KindRow
from .vocabulary import NEUTRAL, NEUTRAL_TO_CLEAR_NAMES

# NFKD does not take these letters apart.
_UNFOLDED = str.maketrans({"ł": "l", "ß": "ss", "ø": "o", "æ": "ae", "đ": "d", "\u0131": "i", "œ": "oe", "þ": "th"})
_RUN = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MIN_AFFIX = 4
"""Min letters of a word that may be written together with the name: `custage`, but no word that merely ends in `age`."""

MAX_READ = 200


@frozen
class NameMatch:
    """The part of a name that names the kind.

    `is_whole` = the other words change nothing. `meaning` is set where the column says yes or no to that one meaning.
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
        others = ", ".join(repr(word) for word in self.others[:5])
        return f"{self.phrase!r} in its name" + (f", next to {others}" if others else "")


def fold(text: str) -> str:
    """Returns small letters without accents."""
    lowered = text[:MAX_READ].lower().translate(_UNFOLDED)
    return "".join(letter for letter in unicodedata.normalize("NFKD", lowered) if not unicodedata.combining(letter))


@lru_cache(maxsize=4096)
def split_words(name: str) -> tuple[str, ...]:
    """Returns the words of a name or of a value, folded: `PersonalStatusSex` has three, `RAC1P` has three."""
    return tuple(fold(part) for run in _RUN.findall(name[:MAX_READ]) for part in _CAMEL.split(run) if part)


def match_name(row: KindRow, name: str) -> NameMatch | None:
    words = split_words(name)
    best = None

    # `is_female` and `race_black` name one meaning, and their values say yes or no to it.
    removed = (_remove(phrase.split(), words) for phrase in (*row.names, *row.ambiguous_names))
    rest = next((found for found in removed if found is not None), words)
    left = " ".join(word for word in rest if word not in NEUTRAL_TO_CLEAR_NAMES and not word.isdigit())
    meaning = row.indicators.get(left)
    if meaning is None and len(rest) < len(words):
        meaning = row.words.get(left) or row.weak_words.get(left)
    if meaning is not None:
        best = NameMatch(" ".join(words), is_whole=True, is_ambiguous=False, meaning=meaning)

    # Longest first, because it says most; by text, because a set has no order.
    for phrase in sorted({*row.names, *row.ambiguous_names}, key=lambda one: (-len(one), one)):
        others = _other_words(phrase, words, name)
        if others is None:
            continue
        is_ambiguous = phrase in row.ambiguous_names
        neutral = NEUTRAL if is_ambiguous else NEUTRAL_TO_CLEAR_NAMES
        is_whole = all(word in neutral or word in row.neutral or word.isdigit() or word in row.names for word in others)
        if best is None or (is_whole and not best.is_whole):
            best = NameMatch(phrase, is_whole, is_ambiguous, others)
    return best


def unfit_reason(row: KindRow, name: str) -> str | None:
    words = split_words(name)
    return next((reason for phrase, reason in row.unfit_names.items() if _remove(phrase.split(), words) is not None), None)


def _other_words(phrase: str, words: tuple[str, ...], name: str) -> tuple[str, ...] | None:
    """Returns the words of the name next to the phrase; None if the phrase is not in the name."""
    if phrase != fold(phrase):
        # A name that only its accent distinguishes from another: età is an age, eta a time of arrival.
        return () if name.strip().lower() == phrase else None
    parts = phrase.split()
    found = _remove(parts, words)
    if found is not None:
        return found
    joined = "".join(parts)
    for place, word in enumerate(words):
        rest = words[:place] + words[place + 1 :]
        if word == joined:
            return rest
        affix = word.removesuffix(joined) if word.endswith(joined) else word.removeprefix(joined) if word.startswith(joined) else ""
        if len(affix) >= _MIN_AFFIX and affix in NEUTRAL:
            return rest
    return None


def _remove(parts: list[str], words: tuple[str, ...]) -> tuple[str, ...] | None:
    size = len(parts)
    starts = (start for start in range(len(words) - size + 1) if list(words[start : start + size]) == parts)
    return next((words[:start] + words[start + size :] for start in starts), None)
