"""Classes of the knowledge of attribute kinds; the words are in `words/`, a file for each kind."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from ...base.values import frozen_by_name


class Kind(StrEnum):
    """The subject of a recommended monitor. Each has a file in `words/`."""

    SEX = "sex"
    RACE = "race"
    MARITAL_STATUS = "marital_status"
    AGE = "age"
    POSTAL_CODE = "postal_code"


class ValueNature(StrEnum):
    """Nature of the values of a kind, which says how its groups are chosen."""

    CATEGORIES = "categories"
    """Each value is a group."""

    QUANTITY = "quantity"
    """Numbers, which are divided into ranges."""

    PLACES = "places"
    """Only some of them have enough records."""


@frozen_by_name
class Coding:
    """Codes (folded texts) and their meanings.

    `is_certain` false: other sources give the same codes other meanings. `is_distinctive`: no other coding
    uses them, so that they show the kind without a name. With `column_names` the coding is only of these
    columns.
    """

    source: str
    codes: Mapping[str, str]
    is_certain: bool = True
    is_distinctive: bool = False
    column_names: Sequence[str] = ()
    warning: str | None = None
    """Sentence to show with a certain coding."""


@frozen_by_name
class CustomarySplit:
    """Customary division of a quantity after `up_to`. `protects_above`: the group above is the protected one.

    `reason` says whose custom it is.
    """

    up_to: int
    protects_above: bool
    reason: str


@frozen_by_name
class KindRow:
    """Words by which a kind is recognised, and customs of its groups.

    Names and words are folded: small letters without accents, words separated by one blank.
    """

    kind: Kind
    title: str
    nature: ValueNature = ValueNature.CATEGORIES
    names: Sequence[str]
    ambiguous_names: Sequence[str] = ()
    """Names that mean something else elsewhere: they need values that fit."""
    neutral_words: Sequence[str] = ()
    """Words that may be next to the name, in addition to those that may be next to any."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Meanings by the spelling of a value."""
    weak_words: Mapping[str, str] = field(default_factory=dict)
    """Spellings that are so short that they count only where no word fits."""
    codings: tuple[Coding, ...] = ()
    indicators: Mapping[str, str] = field(default_factory=dict)
    """Meanings by the words of a column that says yes or no, such as `is_female`."""
    unfit_names: Mapping[str, str] = field(default_factory=dict)
    """Advice by the name of a column that shows the kind only after a computation."""
    customary_reference: str | None = None
    splits: tuple[CustomarySplit, ...] = ()


NO_ANSWER = "no answer"
"""Meaning of values such as `unknown`, which are in no group."""
