"""Rules about texts that are stored as names and values, and the form in which any text is shown."""

import re
import unicodedata

MAX_NAME = 200
"""Max characters of a name for people, a column or a value of a category."""

MAX_TEXT = 10_000
"""Max characters of a text in a record."""

TOGETHER = " × "
"""Joins the names of attributes that are watched together, and the labels of their groups."""

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
"""A control character."""

_MOST_PRINTABLE = 400
"""Max characters of a text that a message quotes."""

_CONTROL_OR_SURROGATE = {"Cc", "Cs"}


def name_problem(text: str) -> str | None:
    """Returns the problem of a name; None if it has none."""
    if not text.strip():
        return "must not be blank"
    if len(text) > MAX_NAME:
        return f"must have at most {MAX_NAME} characters, found {len(text)}"
    return character_problem(text)


def joining_problem(text: str) -> str | None:
    """Returns the problem of a name that is to be joined with others by ` × `; None if it has none.

    Without this `a × b` and `c` would be named like `a` and `b × c`, and so would `a ×` and `b` like `a` and `× b`.
    """
    # With blanks around it, so that a × at either end is found, too.
    if TOGETHER in f" {text} ":
        return "must not hold × as a word of its own, which joins what is watched together; write x"
    return None


def character_problem(text: str) -> str | None:
    """Returns the problem of a text's characters; None if it has none. Postgres cannot store NUL, and UTF-8 no lone surrogates."""
    if any(unicodedata.category(character) in _CONTROL_OR_SURROGATE for character in text):
        return "must not hold control characters"
    return None


def printable(text: str) -> str:
    """Returns the text with lone surrogates and control characters as escapes, and without its end if it is very long."""
    if len(text) > _MOST_PRINTABLE:
        text = text[:_MOST_PRINTABLE] + "…"
    # A lone surrogate cannot be encoded, so writing it to a log or an answer would fail.
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text.encode("utf-8", "backslashreplace").decode())
