"""Which texts may be stored as names and values."""

import unicodedata

MAX_NAME = 200
"""Characters of a name for people, a column or a value of a category."""

TOGETHER = " × "
"""Joins the names of attributes that are watched together, and the labels of their groups."""

_CONTROL_OR_SURROGATE = {"Cc", "Cs"}


def name_problem(text: str) -> str | None:
    """What is wrong with a name; None if nothing."""
    if not text.strip():
        return "must not be blank"
    if len(text) > MAX_NAME:
        return f"must have at most {MAX_NAME} characters, found {len(text)}"
    return character_problem(text)


def joining_problem(text: str) -> str | None:
    """What is wrong with a text that is to be joined with others by ` × `; None if nothing.

    Without this `a × b` and `c` would be called like `a` and `b × c`, and so would `a ×` and `b` like `a` and `× b`.
    """
    if TOGETHER in f" {text} ":
        return "must not hold × as a word of its own, which joins what is watched together; write x"
    return None


def character_problem(text: str) -> str | None:
    """What is wrong with a text's characters; None if nothing. Postgres cannot store NUL, and UTF-8 no lone surrogates."""
    if any(unicodedata.category(character) in _CONTROL_OR_SURROGATE for character in text):
        return "must not hold control characters"
    return None
