"""Knowledge of kinds of attributes, whose words are in `words/`."""

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
    """Groups by themselves, a quantity that is divided, or places of which only some have enough records."""

    CATEGORIES = "categories"
    QUANTITY = "quantity"
    PLACES = "places"


@frozen_by_name
class Coding:
    """Codes (folded texts) and their meanings.

    `is_certain` False = others use the same codes otherwise. `is_distinctive` = no other coding uses them, so
    that they show the kind without a name. With `names` the coding is only of columns with these names.
    """

    source: str
    codes: Mapping[str, str]
    is_certain: bool = True
    is_distinctive: bool = False
    names: Sequence[str] = ()
    also: str | None = None


@frozen_by_name
class Split:
    upto: int
    protects_above: bool
    custom: str


@frozen_by_name
class KindRow:
    """Names and words are folded: small letters without accents, words separated by one blank."""

    kind: Kind
    title: str
    form: ValueNature = ValueNature.CATEGORIES
    names: Sequence[str]
    ambiguous_names: Sequence[str] = ()
    """Names that mean something else elsewhere: they need values that fit."""
    neutral: Sequence[str] = ()
    """Words that may be next to the name, in addition to those that may be next to any."""
    words: Mapping[str, str] = field(default_factory=dict)
    weak_words: Mapping[str, str] = field(default_factory=dict)
    codings: tuple[Coding, ...] = ()
    indicators: Mapping[str, str] = field(default_factory=dict)
    unfit_names: Mapping[str, str] = field(default_factory=dict)
    """Names of columns that show the kind only after a computation, and what to do."""
    customary_reference: str | None = None
    splits: tuple[Split, ...] = ()


NO_ANSWER = "no answer"
