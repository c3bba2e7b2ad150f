"""Rules about texts that are stored as names and values."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

MAX_NAME = 200

MAX_TEXT = 10_000

MAX_QUOTED = 10

TOGETHER = " × "
"""Joins the names of attributes that are watched together, and the labels of their groups."""

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")

_MOST_PRINTABLE = 400

_MOST_COMPARED = 100
"""Comparing long texts takes minutes."""

_CONTROL_OR_SURROGATE = {"Cc", "Cs"}


def name_problem(text: str) -> str | None:
    if not text.strip():
        return "must not be blank"
    if len(text) > MAX_NAME:
        return f"must have at most {MAX_NAME} characters, found {len(text)}"
    return character_problem(text)


def joining_problem(text: str, joined_names: Collection[str]) -> str | None:
    """Returns the problem of a name that is to be joined with any of the others by ` × `.

    Without this the label `a × b × c` could be of `a` and `b × c`, or of `a × b` and `c`.
    """
    # With blanks, so that a × at either end is found: `a ×` and `b` would be joined like `a` and `× b`.
    if f" {text} ".startswith(TOGETHER) or f" {text} ".endswith(TOGETHER):
        return "must neither begin nor end with × as a word of its own, which joins what is watched together; write x"
    pieces = text.split(TOGETHER)
    first = next((start for size in range(1, len(pieces)) if (start := TOGETHER.join(pieces[:size])) in joined_names), None)
    if first is not None:
        return f"must not be the name of the column {first!r}, × and more: × joins the names of what is watched together; write x"
    return None


def quote_names(names: Sequence[str]) -> str:
    """Returns the first names in quotes, and how many more there are."""
    shown = ", ".join(f"{name!r:.100}" for name in names[:MAX_QUOTED]) or "none"
    return f"{shown} and {len(names) - MAX_QUOTED:,} more" if len(names) > MAX_QUOTED else shown


def nearest(text: str, offered: Iterable[str]) -> str | None:
    """Returns the most similar of the offered texts, upper and lower case alike, if one is similar."""
    folded = {name.casefold()[:_MOST_COMPARED]: name for name in offered}
    close = get_close_matches(text.casefold()[:_MOST_COMPARED], folded, n=1)
    return folded[close[0]] if close else None


def character_problem(text: str) -> str | None:
    """Returns the problem of a text's characters. Postgres cannot store NUL, and UTF-8 no lone surrogates."""
    if any(unicodedata.category(character) in _CONTROL_OR_SURROGATE for character in text):
        return "must not hold control characters"
    return None


def printable(text: str, limit: int = _MOST_PRINTABLE) -> str:
    """Returns the text with lone surrogates and control characters as escapes, and without its end if it is very long."""
    if len(text) > limit:
        text = text[:limit] + "…"
    return CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text.encode("utf-8", "backslashreplace").decode())
