"""What is known of one kind of attribute: how its column is called, how its values are spelt and coded, and where custom divides it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What a recommended monitor is about."""

    SEX = "sex"
    RACE = "race"
    MARITAL_STATUS = "marital_status"
    AGE = "age"
    POSTAL_CODE = "postal_code"


class Form(StrEnum):
    """What the values are: groups by themselves, a quantity that is divided, or places of which only some have enough records."""

    CATEGORIES = "categories"
    QUANTITY = "quantity"
    PLACES = "places"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """Codes and what they mean, as a source writes them. Codes are folded texts.

    `is_certain` False = others use the same codes otherwise. `is_distinctive` = nobody else uses them, so that they tell the kind
    without a name. With `names` the coding is of columns so called only.
    """

    source: str
    codes: Mapping[str, str]
    is_certain: bool = True
    is_distinctive: bool = False
    names: tuple[str, ...] = ()
    also: str | None = None
    """What else the codes say, which groups made of them do not tell apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A customary place to divide a quantity, up to `upto` and above, and which of the sides is the one to protect."""

    upto: int
    protects_above: bool
    custom: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRow:
    """One kind. Names and words are folded: small letters without accents, words apart by one blank."""

    kind: Kind
    title: str
    form: Form = Form.CATEGORIES
    names: tuple[str, ...]
    ambiguous_names: tuple[str, ...] = ()
    """Names that mean something else elsewhere: they need values that fit."""
    neutral: tuple[str, ...] = ()
    """Words that may stand beside the name, besides those that may stand beside any."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What values are called, and what that means."""
    weak_words: Mapping[str, str] = field(default_factory=dict)
    """Words that are used of other things, too: they say nothing without the name or another word."""
    codings: tuple[Coding, ...] = ()
    indicators: Mapping[str, str] = field(default_factory=dict)
    """Names of columns that say yes or no to one meaning."""
    unfit_names: Mapping[str, str] = field(default_factory=dict)
    """Names of columns that tell the kind only after a computation, and what to do."""
    customary_reference: str | None = None
    splits: tuple[Split, ...] = ()


NO_ANSWER = "no answer"
"""The meaning of values that put a record into no group."""

NO_ANSWERS = (
    *("unknown", "not available", "na", "n a", "nan", "none", "null", "missing", "not known", "not provided", "not applicable"),
    *("information not provided", "prefer not to say", "prefer not to answer", "declined", "refused", "undisclosed", "unspecified"),
    *("not specified", "not stated", "not reported", "not disclosed", "xna", "u", "unbekannt", "keine angabe", "inconnu", "desconocido"),
    *(
        "sconosciuto",
        "onbekend",
        "free form text only",
        "joint",
        "not collected",
        "unable to obtain",
        "patient declined to answer",
        "8888",
        "9999",
        "no co applicant",
    ),
)
"""Spellings of that meaning. `joint` is HMDA's for two applicants who differ, of whom neither is meant."""

_NEUTRAL_TEXT = (
    "applicant applicants app co coapplicant borrower coborrower customer customers cust client clients patient person personal user"
    " member employee emp worker driver owner holder policyholder cardholder subject defendant candidate respondent student insured"
    " primary main principal head householder kunde kunden klant cliente clientes demandeur richiedente solicitante kredit"
    " cd code codes coded desc description type cat category categories group groups grp band bands range bucket bin class status value"
    " val label flag ind indicator is derived self reported identity identified at of in the years yrs yr year current application"
    " mailing home residence residential residenza address addr field col column x feature attr attribute demo demographic demographics"
    " encoded enc dummy raw clean orig original new p d de du des la le el del della di anni ans jahre jahren jaar anos"
)
NEUTRAL = frozenset(_NEUTRAL_TEXT.split())
"""Words beside a name that change nothing of what the column holds."""

NEUTRAL_OF_CLEAR_NAMES = NEUTRAL | frozenset(("id", "no", "nr", "num", "number"))
"""The same beside a name that means nothing else: GenderID is a code, race_id is not."""
