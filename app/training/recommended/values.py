"""What a column's values say: whether they are spelt or coded as a kind's are, and what each means."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice

from app.domain.values import GroupValue, Range, label_of, number_of
from app.training.recommended.kinds import NO_ANSWER, NO_ANSWERS, Coding, Form, KindRow
from app.training.recommended.names import NameMatch, folded, words_of

ENOUGH = 0.95
"""Share of the records whose value must be recognised. The rest are misspellings and rarities."""

LONGEST_CATEGORY = 80
MOST_WORDS = 10
"""Of a value that is a category. Sentences are longer."""

LOOKED_AT_FIRST = 50
"""Values by which a spelling of postal codes is ruled out, before all are looked at."""

MOST_CATEGORIES = 20
"""Values of a column that is believed by its name alone."""

MOST_VALUES = 300
"""Of a column that is looked at for words: texts and ids have more."""

OLDEST = 120
LEAST_OLDEST = 16
"""A column of numbers that never reach this holds codes or something else than ages of people who are decided about."""
LEAST_AGES = 3

YES = frozenset(("1", "true", "yes", "y", "t", "ja", "oui", "si"))
NO = frozenset(("0", "false", "no", "n", "f", "nein", "non", "nee"))

_BAND = re.compile(r"[\[(]?\s*\d{1,3}\s*(-|–|to|,|bis)\s*\d{1,3}\s*[\])]?(\s*(years|yrs|jahre|ans))?")
_OPEN_BAND = re.compile(
    r"(<=?|>=?|under|over|less than|greater than|more than|older than|younger than)\s*\d{1,3}"
    r"|\d{1,3}\s*(\+|and over|and older|or older|plus)"
)
_PLACES = {
    "ZIP+4": re.compile(r"\d{5}-\d{4}"),
    "British postcodes": re.compile(r"[a-z]{1,2}\d[a-z\d]? \d[a-z]{2}"),
    "Canadian postal codes": re.compile(r"[a-z]\d[a-z] \d[a-z]\d"),
}
_CODED_PLACES = {
    "five digits": re.compile(r"\d{5}"),
    "three digits": re.compile(r"\d{3}"),
    "four digits": re.compile(r"\d{4}"),
    "masked zip codes": re.compile(r"\d{3}x{2}"),
    "Dutch postcodes": re.compile(r"\d{4} ?[a-z]{2}"),
    "Polish or Portuguese postal codes": re.compile(r"\d{2}-\d{3}|\d{4}-\d{3}"),
    "British postcode areas": re.compile(r"[a-z]{1,2}\d{0,2}[a-z]?"),
    "postal codes with blanks left out": re.compile(r"[a-z]\d[a-z]\d[a-z]\d|[a-z]{1,2}\d[a-z\d]?\d[a-z]{2}"),
    "digits": re.compile(r"\d{4,8}"),
}


class Fit(IntEnum):
    """How far values speak of a kind, from not at all to by themselves."""

    UNFIT = 0
    CATEGORIES = 1
    """A few short values that are not recognised."""
    CODED = 2
    """They fit, and fit other things, too."""
    SPOKEN = 3
    """They are the kind's own words or numbers, which say enough beside its name."""
    BY_THEMSELVES = 4
    """They need no name."""


@dataclass(frozen=True, slots=True)
class ValueMatch:
    """The fit of a column's values with a kind, as a sentence, and the meaning of each value by its label.

    `to_confirm` is what a person should make sure of.
    """

    fit: Fit
    sentence: str
    meanings: Mapping[str, str] = field(default_factory=dict)
    to_confirm: str | None = None


def value_match(row: KindRow, counted: Mapping[GroupValue, int], name: NameMatch | None) -> ValueMatch:
    """How the values, with their records, fit the kind under that name."""
    if not counted:
        return ValueMatch(Fit.UNFIT, "no value is known")
    if row.form is Form.QUANTITY:
        return _ages(counted)
    single: dict[GroupValue, int] = {value: records for value, records in counted.items() if not isinstance(value, Range)}
    if len(single) < len(counted):
        return ValueMatch(Fit.UNFIT, "its values are counted in intervals, so there are too many for groups")
    if row.form is Form.PLACES:
        return _places(single)
    if len(single) > MOST_VALUES:
        return ValueMatch(Fit.UNFIT, f"it holds {len(single):,} different values, too many for groups")
    return _groups(row, single, name)


def _groups(row: KindRow, counted: Mapping[GroupValue, int], name: NameMatch | None) -> ValueMatch:
    if name is not None and name.meaning is not None:
        return _yes_or_no(counted, name.meaning)
    return _words(row, counted) or _coded(row, counted, name) or _categories(counted)


def is_no_answer(value: GroupValue) -> bool:
    """Whether the value says that nobody knows."""
    spelt = " ".join(words_of(label_of(value)))
    return spelt == "" or spelt in NO_ANSWERS or any(len(one) > LEAST_ANSWER and _holds(spelt, one) for one in NO_ANSWERS)


LEAST_ANSWER = 7
"""Letters of a spelling that may stand within a longer value; shorter ones are parts of names."""


def _words(row: KindRow, counted: Mapping[GroupValue, int]) -> ValueMatch | None:
    meanings: dict[str, str] = {}
    is_clear = False
    for value in counted:
        meaning = NO_ANSWER if is_no_answer(value) else _meaning(row.words, value)
        is_clear = is_clear or meaning not in (None, NO_ANSWER)
        meaning = meaning or _meaning(row.weak_words, value)
        if meaning is not None:
            meanings[label_of(value)] = meaning
    known = sum(records for value, records in counted.items() if label_of(value) in meanings)
    if known < ENOUGH * sum(counted.values()):
        return None
    groups = {*meanings.values()} - {NO_ANSWER}
    if len(groups) < 2:  # noqa: PLR2004 - groups are compared in pairs
        return ValueMatch(Fit.UNFIT, f"its values are all of one group: {groups.pop()}") if groups else None
    if len(groups - {"other"}) < 2:  # noqa: PLR2004 - as above
        return None
    shown = _shown([value for value in counted if label_of(value) in meanings and meanings[label_of(value)] != NO_ANSWER])
    return ValueMatch(Fit.BY_THEMSELVES if is_clear else Fit.SPOKEN, f"its values are words for {row.title}: {shown}", meanings)


def _meaning(words: Mapping[str, str], value: GroupValue) -> str | None:
    """The meaning of the longest word or phrase in the value; None where two equally long ones differ."""
    label = label_of(value)
    if not isinstance(value, str) or len(label) > LONGEST_CATEGORY:
        return None
    parts = words_of(label)
    spelt, joined = " ".join(parts), "".join(parts)
    if spelt in words or joined in words:
        return words.get(spelt) or words[joined]
    if len(parts) > MOST_WORDS:
        return None
    held = [(len(phrase.split()), meaning) for phrase, meaning in words.items() if _holds(spelt, phrase)]
    longest = max((size for size, _ in held), default=0)
    meanings = {meaning for size, meaning in held if size == longest}
    return meanings.pop() if len(meanings) == 1 else None


def _coded(row: KindRow, counted: Mapping[GroupValue, int], name: NameMatch | None) -> ValueMatch | None:
    for coding in row.codings:
        if coding.names and (name is None or name.phrase not in coding.names):
            continue
        found = _under(coding, counted)
        if found is not None:
            return found
    codes = {folded(label_of(value)) for value in counted}
    if name is None or not codes <= {"0", "1"} or len(codes) < 2:  # noqa: PLR2004 - as above
        return None
    to_confirm = "which group 0 is and which 1 is cannot be told from the data: both conventions are in use; confirm before you accept"
    return ValueMatch(Fit.CODED, "its values are 0 and 1", {}, to_confirm)


def _under(coding: Coding, counted: Mapping[GroupValue, int]) -> ValueMatch | None:
    meanings: dict[str, str] = {}
    for value in counted:
        meaning = coding.codes.get(folded(label_of(value)).strip())
        if meaning is None and is_no_answer(value):
            meaning = NO_ANSWER
        if meaning is None:
            return None
        meanings[label_of(value)] = meaning
    known = {code: meaning for code, meaning in meanings.items() if meaning != NO_ANSWER}
    if len(set(known.values())) < 2:  # noqa: PLR2004 - groups are compared in pairs
        return None
    listed = ", ".join(f"{code} = {meaning}" for code, meaning in sorted(known.items()))
    fit = Fit.BY_THEMSELVES if coding.is_distinctive else Fit.SPOKEN if coding.is_certain else Fit.CODED
    if coding.is_certain:
        return ValueMatch(fit, f"its values are {coding.source}: {listed}", meanings, coding.also)
    return ValueMatch(fit, f"its values are codes: {_shown(list(counted))}", meanings, f"probably {listed}, {coding.source}; confirm")


def _yes_or_no(counted: Mapping[GroupValue, int], meaning: str) -> ValueMatch:
    meanings: dict[str, str] = {}
    for value in counted:
        spelt = folded(label_of(value)).strip()
        if is_no_answer(value):
            meanings[label_of(value)] = NO_ANSWER
        elif spelt in YES or spelt in NO:
            meanings[label_of(value)] = meaning if spelt in YES else f"not {meaning}"
        else:
            return ValueMatch(Fit.UNFIT, f"its name asks for yes or no, and it holds {_shown([value])}")
    if len(set(meanings.values()) - {NO_ANSWER}) < 2:  # noqa: PLR2004 - groups are compared in pairs
        return ValueMatch(Fit.UNFIT, "it holds one answer only")
    return ValueMatch(Fit.SPOKEN, f"its values say yes or no to {meaning}: {_shown(list(counted))}", meanings)


def _categories(counted: Mapping[GroupValue, int]) -> ValueMatch:
    known = [value for value in counted if not is_no_answer(value)]
    if len(known) < 2:  # noqa: PLR2004 - groups are compared in pairs
        return ValueMatch(Fit.UNFIT, "it holds one value only, so there is nobody to compare with")
    if len(known) > MOST_CATEGORIES:
        return ValueMatch(Fit.UNFIT, f"it holds {len(known):,} different values, too many for groups")
    if any(len(label_of(value)) > LONGEST_CATEGORY or len(words_of(label_of(value))) > MOST_WORDS for value in known):
        return ValueMatch(Fit.UNFIT, "it holds sentences, not categories")
    if any(number is not None and not (number.is_integer() and 0 <= number < 100) for number in map(number_of, _single(known))):  # noqa: PLR2004 - codes have two digits at most
        return ValueMatch(Fit.UNFIT, "it holds numbers that are no codes")
    to_confirm = f"what {_shown(known)} mean is not known; confirm that these are the groups to compare"
    meanings = {label_of(value): NO_ANSWER for value in counted if is_no_answer(value)}
    return ValueMatch(Fit.CATEGORIES, f"it holds {len(known)} short values: {_shown(known)}", meanings, to_confirm)


def _ages(counted: Mapping[GroupValue, int]) -> ValueMatch:
    numbers = [(number, records) for value, records in counted.items() for number in _ends(value)]
    whole = sum(counted.values())
    if sum(records for _, records in numbers) >= ENOUGH * whole:
        plausible = [number for number, _ in numbers if 0 <= number <= OLDEST]
        share = sum(records for number, records in numbers if 0 <= number <= OLDEST) / sum(records for _, records in numbers)
        if share < ENOUGH or not plausible or max(plausible) < LEAST_OLDEST or len(set(plausible)) < LEAST_AGES:
            return ValueMatch(Fit.UNFIT, "its numbers are no ages of people in years")
        return ValueMatch(Fit.SPOKEN, f"its numbers are ages in years: from {min(plausible):g} to {max(plausible):g}")
    bands = [value for value in counted if isinstance(value, str) and is_band(value)]
    known = sum(counted[value] for value in bands) + sum(records for value, records in counted.items() if is_no_answer(value))
    if known < ENOUGH * whole or len(bands) < 2:  # noqa: PLR2004 - groups are compared in pairs
        return ValueMatch(Fit.UNFIT, "its values are neither ages in years nor bands of ages")
    meanings = {label_of(value): NO_ANSWER for value in counted if is_no_answer(value)}
    return ValueMatch(Fit.SPOKEN, f"its values are bands of ages: {_shown(bands)}", meanings)


def is_band(value: str) -> bool:
    """Whether the text is a band of ages."""
    spelt = value.strip().lower()
    return bool(_BAND.fullmatch(spelt) or _OPEN_BAND.fullmatch(spelt))


def _ends(value: GroupValue) -> tuple[float, ...]:
    if isinstance(value, Range):
        return (value.lo, value.hi)
    number = number_of(value)
    return () if number is None else (number,)


def _places(counted: Mapping[GroupValue, int]) -> ValueMatch:
    whole, some = sum(counted.values()), [folded(label_of(value)).strip() for value in islice(counted, LOOKED_AT_FIRST)]
    for fit, patterns in ((Fit.BY_THEMSELVES, _PLACES), (Fit.SPOKEN, _CODED_PLACES)):
        for title, pattern in patterns.items():
            if not any(map(pattern.fullmatch, some)):
                continue
            fitting = sum(records for value, records in counted.items() if pattern.fullmatch(folded(label_of(value)).strip()))
            if fitting >= ENOUGH * whole and len(counted) > 1:
                return ValueMatch(fit, f"its values are spelt as {title}: {_shown(list(counted))}")
    return ValueMatch(Fit.UNFIT, "its values are not spelt as postal codes")


def _single(values: Sequence[GroupValue]) -> list[str | int | float | bool]:
    return [value for value in values if not isinstance(value, Range)]


def _holds(spelt: str, phrase: str) -> bool:
    return f" {phrase} " in f" {spelt} "


def _shown(values: Sequence[GroupValue], most: int = 6) -> str:
    listed = ", ".join(f"{label_of(value):.40}" for value in values[:most])
    return f"{listed} and {len(values) - most:,} more" if len(values) > most else listed
