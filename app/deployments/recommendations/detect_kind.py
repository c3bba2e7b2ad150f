"""The kind of a column, by name and values together."""

from collections.abc import Mapping
from enum import StrEnum

from ...base.values import GroupValue, Range, frozen, name_value, read_number
from .attribute_kinds import NO_ANSWER, KindRow, ValueNature
from .category_groups import match_places
from .column_names import KINDS, NO, YES, NameMatch, fold, match_name, split_words, unfit_reason
from .group_choice import match_ages
from .suggested_outcomes import (
    MAX_VALUES,
    MIN_RECOGNISED_SHARE,
    Fit,
    ValueMatch,
    holds_phrase,
    is_no_answer,
    list_values,
)

MAX_CATEGORY_CHARACTERS = 80

MAX_WORDS = 10

MAX_CATEGORIES = 20

MAX_CODE = 100

MIN_GROUPS = 2


def match_categories(row: KindRow, counted: Mapping[GroupValue, int], name: NameMatch | None) -> ValueMatch:
    if len(counted) > MAX_VALUES:
        return ValueMatch(Fit.UNFIT, f"it holds {len(counted):,} different values, too many for groups")
    if name is None or name.meaning is None:
        return _match_words(row, counted) or _match_codes(row, counted, name) or _match_short_values(counted)

    meanings = _decode(counted, dict.fromkeys(YES, name.meaning) | dict.fromkeys(NO, f"not {name.meaning}"))
    foreign = [value for value in counted if name_value(value) not in meanings]
    if foreign:
        return ValueMatch(Fit.UNFIT, f"its name asks for yes or no, and it holds {list_values(foreign[:1])}")
    if len({*meanings.values()} - {NO_ANSWER}) < MIN_GROUPS:
        return ValueMatch(Fit.UNFIT, "it holds one answer only")
    return ValueMatch(
        Fit.SPOKEN, f"its values say yes or no to {name.meaning}: {list_values(list(counted))}", meanings
    )


def _match_words(row: KindRow, counted: Mapping[GroupValue, int]) -> ValueMatch | None:
    """Matches values that hold the kind's words; None if too few records have such a value."""
    meanings = {}
    is_clear = False
    for value in counted:
        meaning = NO_ANSWER if is_no_answer(value) else _find_meaning(row.words, value)
        is_clear = is_clear or meaning not in (None, NO_ANSWER)
        meaning = meaning or _find_meaning(row.weak_words, value)
        if meaning is not None:
            meanings[name_value(value)] = meaning
    matched = sum(records for value, records in counted.items() if name_value(value) in meanings)
    if matched < MIN_RECOGNISED_SHARE * sum(counted.values()):
        return None

    groups = {*meanings.values()} - {NO_ANSWER}
    if len(groups) == 1:
        return ValueMatch(Fit.UNFIT, f"its values are all of one group: {groups.pop()}")
    if len(groups - {"other"}) < MIN_GROUPS:
        return None
    listed = list_values(
        [value for value in counted if meanings.get(name_value(value), NO_ANSWER) != NO_ANSWER]
    )
    return ValueMatch(
        Fit.BY_THEMSELVES if is_clear else Fit.SPOKEN,
        f"its values are words for {row.title}: {listed}",
        meanings,
    )


def _find_meaning(vocabulary: Mapping[str, str], value: GroupValue) -> str | None:
    """Finds the meaning of the longest word or phrase in a value; None if two equally long ones differ."""
    label = name_value(value)
    if not isinstance(value, str) or len(label) > MAX_CATEGORY_CHARACTERS:
        return None
    tokens = split_words(label)
    spelled = " ".join(tokens)
    joined = "".join(tokens)
    if spelled in vocabulary or joined in vocabulary:
        return vocabulary.get(spelled) or vocabulary[joined]
    if len(tokens) > MAX_WORDS:
        return None
    phrases = [
        (len(phrase.split()), meaning)
        for phrase, meaning in vocabulary.items()
        if holds_phrase(spelled, phrase)
    ]
    longest = max((size for size, _ in phrases), default=0)
    meanings = {meaning for size, meaning in phrases if size == longest}
    return meanings.pop() if len(meanings) == 1 else None


def _match_codes(
    row: KindRow, counted: Mapping[GroupValue, int], name: NameMatch | None
) -> ValueMatch | None:
    for coding in row.codings:
        if coding.names and (name is None or name.phrase not in coding.names):
            continue
        meanings = _decode(counted, coding.codes)
        answers = {code: meaning for code, meaning in meanings.items() if meaning != NO_ANSWER}
        if (
            any(name_value(value) not in meanings for value in counted)
            or len({*answers.values()}) < MIN_GROUPS
        ):
            continue
        listed = ", ".join(f"{code} = {meaning}" for code, meaning in sorted(answers.items()))
        fit = Fit.SPOKEN if coding.is_certain else Fit.CODED
        fit = Fit.BY_THEMSELVES if coding.is_distinctive else fit
        if coding.is_certain:
            return ValueMatch(fit, f"its values are {coding.source}: {listed}", meanings, coding.also)
        sentence = f"its values are codes: {list_values(list(counted))}"
        return ValueMatch(fit, sentence, meanings, f"probably {listed}, {coding.source}; confirm")

    if name is None or {fold(name_value(value)) for value in counted} != {"0", "1"}:
        return None
    to_confirm = (
        "the data do not show which group 0 is and which 1 is: both conventions are in use; "
        "confirm before you accept"
    )
    return ValueMatch(Fit.CODED, "its values are 0 and 1", {}, to_confirm)


def _decode(counted: Mapping[GroupValue, int], codes: Mapping[str, str]) -> dict[str, str]:
    meanings = {}
    for value in counted:
        label = name_value(value)
        meaning = codes.get(fold(label).strip()) or (NO_ANSWER if is_no_answer(value) else None)
        if meaning is not None:
            meanings[label] = meaning
    return meanings


def _match_short_values(counted: Mapping[GroupValue, int]) -> ValueMatch:
    answers = [value for value in counted if not is_no_answer(value)]
    if len(answers) < MIN_GROUPS:
        return ValueMatch(Fit.UNFIT, "it holds one value only, so there is nobody to compare with")
    if len(answers) > MAX_CATEGORIES:
        return ValueMatch(Fit.UNFIT, f"it holds {len(answers):,} different values, too many for groups")
    if any(
        len(name_value(value)) > MAX_CATEGORY_CHARACTERS or len(split_words(name_value(value))) > MAX_WORDS
        for value in answers
    ):
        return ValueMatch(Fit.UNFIT, "it holds sentences, not categories")
    numbers = [read_number(value) for value in answers if not isinstance(value, Range)]
    if any(number is not None and not (number.is_integer() and 0 <= number < MAX_CODE) for number in numbers):
        return ValueMatch(Fit.UNFIT, "it holds numbers that are no codes")
    to_confirm = (
        f"the meaning of {list_values(answers)} is not known; confirm that these are the groups to compare"
    )
    meanings = {name_value(value): NO_ANSWER for value in counted if is_no_answer(value)}
    return ValueMatch(
        Fit.CATEGORIES, f"it holds {len(answers)} short values: {list_values(answers)}", meanings, to_confirm
    )


class Confidence(StrEnum):
    """Certainty that the column is of that kind."""

    HIGH = "high"
    MEDIUM = "medium"


@frozen
class DetectedKind:
    """Kind that a column seems to be of, by its name (None: by its values alone) and values."""

    row: KindRow
    confidence: Confidence
    name: NameMatch | None
    values: ValueMatch


@frozen
class DismissedColumn:
    """Kind that a column suggests but is not of, and why."""

    row: KindRow
    reason: str


def detect(name: str, counted: Mapping[GroupValue, int]) -> DetectedKind | DismissedColumn | None:
    results: list[DetectedKind | DismissedColumn] = []
    for row in KINDS:
        unfit = unfit_reason(row, name)
        if unfit is not None:
            results.append(DismissedColumn(row, unfit))
            continue
        named = match_name(row, name)
        if named is None and row.form is ValueNature.QUANTITY:
            continue
        values = match_values(row, counted, named)
        is_whole = named is not None and named.is_whole
        is_ambiguous = named is None or named.is_ambiguous
        is_sure = is_whole and values.fit >= Fit.SPOKEN
        is_likely = is_whole and (
            values.fit is Fit.CODED or (values.fit is Fit.CATEGORIES and not is_ambiguous)
        )

        if is_sure or is_likely or values.fit is Fit.BY_THEMSELVES:
            results.append(
                DetectedKind(row, Confidence.HIGH if is_sure else Confidence.MEDIUM, named, values)
            )
        elif named is None:
            continue
        elif is_whole:
            unknown = "nothing is known of its values: upload training data with this column, or log payload"
            results.append(
                DismissedColumn(
                    row, f"its name may mean {row.title}, but {values.sentence}" if counted else unknown
                )
            )
        elif counted:
            neighbours = ", ".join(repr(token) for token in named.others[:5])
            reason = (
                f"{named.phrase!r} in its name may mean {row.title}, but {neighbours} next to it makes "
                "it something else"
            )
            results.append(DismissedColumn(row, f"{reason}, and {values.sentence}"))

    sure = [detected for detected in results if isinstance(detected, DetectedKind)]
    # Of equally sure kinds the first counts: KINDS has an order.
    best = min(
        sure,
        key=lambda detected: (detected.confidence is not Confidence.HIGH, -detected.values.fit),
        default=None,
    )
    return best or next(iter(results), None)


def is_named(name: str) -> bool:
    return any(match_name(row, name) is not None or unfit_reason(row, name) is not None for row in KINDS)


def match_values(row: KindRow, counted: Mapping[GroupValue, int], name: NameMatch | None) -> ValueMatch:
    if not counted:
        return ValueMatch(Fit.UNFIT, "no value is known")
    if row.form is ValueNature.QUANTITY:
        return match_ages(counted)
    if any(isinstance(value, Range) for value in counted):
        return ValueMatch(Fit.UNFIT, "its values are counted in intervals, so there are too many for groups")
    return match_places(counted) if row.form is ValueNature.PLACES else match_categories(row, counted, name)
