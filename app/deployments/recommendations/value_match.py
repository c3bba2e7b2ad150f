"""The evidence that a column's values give of a kind."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from functools import lru_cache

from ...base.values import GroupValue, frozen, name_value
from .column_names import NO_ANSWERS, split_words

ENOUGH = 0.95
"""Min share of the records whose value must be recognised."""

MAX_VALUES = 300
"""Max values of a column that is searched for words: texts and ids have more."""

_MAX_SHORT_ANSWER = 7
"""Max letters of a spelling of no answer that must be the whole value; shorter ones are also parts of
names.
"""


class Fit(IntEnum):
    """Strength of the evidence that values give of a kind."""

    UNFIT = 0
    CATEGORIES = 1
    """A few short values that are not recognised."""
    CODED = 2
    """Values that fit, and fit other things, too."""
    SPOKEN = 3
    """The kind's own words or numbers, which are enough together with its name."""
    BY_THEMSELVES = 4
    """Values that are enough without a name."""


@frozen
class ValueMatch:
    """The fit of a column's values with a kind, as a sentence, and the meaning of each value by its label.

    `to_confirm` is what a person should make sure of.
    """

    fit: Fit
    sentence: str
    meanings: Mapping[str, str] = field(default_factory=dict)
    to_confirm: str | None = None


# Typed: 1 and True are equal keys with different labels.
@lru_cache(maxsize=4096, typed=True)
def is_no_answer(value: GroupValue) -> bool:
    """Returns whether the value says that it is not known."""
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
    listed = ", ".join(f"{name_value(value):.40}" for value in values[:limit])
    return f"{listed} and {len(values) - limit:,} more" if len(values) > limit else listed
