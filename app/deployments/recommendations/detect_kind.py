"""Detects the kind of attribute that a column holds, by its name and values together."""

from collections.abc import Mapping
from enum import StrEnum

from ...base.values import GroupValue, Range, frozen, name_value, read_number
from .age_groups import match_ages
from .attribute_kinds import NO_ANSWER, KindRow, ValueNature
from .category_groups import match_places
from .column_names import (
    KIND_ROWS,
    NO_WORDS,
    YES_WORDS,
    NameMatch,
    find_unfit_reason,
    fold_letters,
    match_name,
    split_words,
)
from .suggested_outcomes import (
    MAX_GROUP_VALUES,
    MIN_RECOGNISED_SHARE,
    Fit,
    ValueMatch,
    holds_phrase,
    is_no_answer,
    list_values,
)

MAX_CATEGORY_CHARACTERS = 80

MAX_CATEGORY_WORDS = 10

MAX_CATEGORIES = 20

MIN_NUMBER_BEYOND_CODES = 100
"""Whole numbers from this one on are taken for no codes."""

MIN_GROUPS = 2


def match_categories(
    row: KindRow, records_by_value: Mapping[GroupValue, int], name: NameMatch | None
) -> ValueMatch:
    if len(records_by_value) > MAX_GROUP_VALUES:
        return ValueMatch(
            Fit.UNFIT, f"it holds {len(records_by_value):,} different values, too many for groups"
        )
    if name is None or name.meaning is None:
        return (
            _match_words(row, records_by_value)
            or _match_codes(row, records_by_value, name)
            or _match_short_values(records_by_value)
        )

    meanings = _decode_values(
        records_by_value,
        dict.fromkeys(YES_WORDS, name.meaning) | dict.fromkeys(NO_WORDS, f"not {name.meaning}"),
    )
    foreign = [value for value in records_by_value if name_value(value) not in meanings]
    if foreign:
        return ValueMatch(Fit.UNFIT, f"its name asks for yes or no, and it holds {list_values(foreign[:1])}")
    if len({*meanings.values()} - {NO_ANSWER}) < MIN_GROUPS:
        return ValueMatch(Fit.UNFIT, "it holds one answer only")
    return ValueMatch(
        Fit.SPOKEN,
        f"its values say yes or no to {name.meaning}: {list_values(list(records_by_value))}",
        meanings,
    )


def _match_words(row: KindRow, records_by_value: Mapping[GroupValue, int]) -> ValueMatch | None:
    """None if too few records have a value that holds the kind's words."""
    meanings = {}
    is_clear = False
    for value in records_by_value:
        meaning = NO_ANSWER if is_no_answer(value) else _find_meaning(row.words, value)
        is_clear = is_clear or meaning not in (None, NO_ANSWER)
        meaning = meaning or _find_meaning(row.weak_words, value)
        if meaning is not None:
            meanings[name_value(value)] = meaning
    matched = sum(records for value, records in records_by_value.items() if name_value(value) in meanings)
    if matched < MIN_RECOGNISED_SHARE * sum(records_by_value.values()):
        return None

    groups = {*meanings.values()} - {NO_ANSWER}
    if len(groups) == 1:
        return ValueMatch(Fit.UNFIT, f"its values are all of one group: {groups.pop()}")
    if len(groups - {"other"}) < MIN_GROUPS:
        return None
    listed = list_values(
        [value for value in records_by_value if meanings.get(name_value(value), NO_ANSWER) != NO_ANSWER]
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
    if len(tokens) > MAX_CATEGORY_WORDS:
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
    row: KindRow, records_by_value: Mapping[GroupValue, int], name: NameMatch | None
) -> ValueMatch | None:
    for coding in row.codings:
        if coding.column_names and (name is None or name.phrase not in coding.column_names):
            continue
        meanings = _decode_values(records_by_value, coding.codes)
        answers = {code: meaning for code, meaning in meanings.items() if meaning != NO_ANSWER}
        if (
            any(name_value(value) not in meanings for value in records_by_value)
            or len({*answers.values()}) < MIN_GROUPS
        ):
            continue
        listed = ", ".join(f"{code} = {meaning}" for code, meaning in sorted(answers.items()))
        fit = Fit.SPOKEN if coding.is_certain else Fit.CODED
        if coding.is_distinctive:
            fit = Fit.BY_THEMSELVES
        if coding.is_certain:
            return ValueMatch(fit, f"its values are {coding.source}: {listed}", meanings, coding.warning)
        sentence = f"its values are codes: {list_values(list(records_by_value))}"
        return ValueMatch(fit, sentence, meanings, f"probably {listed}, {coding.source}; confirm")

    if name is None or {fold_letters(name_value(value)) for value in records_by_value} != {"0", "1"}:
        return None
    to_confirm = (
        "the data do not show which group 0 is and which 1 is: both conventions are in use; "
        "confirm before you accept"
    )
    return ValueMatch(Fit.CODED, "its values are 0 and 1", {}, to_confirm)


def _decode_values(records_by_value: Mapping[GroupValue, int], codes: Mapping[str, str]) -> dict[str, str]:
    meanings = {}
    for value in records_by_value:
        label = name_value(value)
        meaning = codes.get(fold_letters(label).strip()) or (NO_ANSWER if is_no_answer(value) else None)
        if meaning is not None:
            meanings[label] = meaning
    return meanings


def _match_short_values(records_by_value: Mapping[GroupValue, int]) -> ValueMatch:
    answers = [value for value in records_by_value if not is_no_answer(value)]
    if len(answers) < MIN_GROUPS:
        return ValueMatch(Fit.UNFIT, "it holds one value only, so there is nobody to compare with")
    if len(answers) > MAX_CATEGORIES:
        return ValueMatch(Fit.UNFIT, f"it holds {len(answers):,} different values, too many for groups")
    if any(
        len(name_value(value)) > MAX_CATEGORY_CHARACTERS
        or len(split_words(name_value(value))) > MAX_CATEGORY_WORDS
        for value in answers
    ):
        return ValueMatch(Fit.UNFIT, "it holds sentences, not categories")
    numbers = [read_number(value) for value in answers if not isinstance(value, Range)]
    if any(
        number is not None and not (number.is_integer() and 0 <= number < MIN_NUMBER_BEYOND_CODES)
        for number in numbers
    ):
        return ValueMatch(Fit.UNFIT, "it holds numbers that are no codes")
    to_confirm = (
        f"the meaning of {list_values(answers)} is not known; confirm that these are the groups to compare"
    )
    meanings = {name_value(value): NO_ANSWER for value in records_by_value if is_no_answer(value)}
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
    """Kind that a column's name suggests but that it does not hold, and why."""

    row: KindRow
    reason: str


def detect_kind(
    name: str, records_by_value: Mapping[GroupValue, int]
) -> DetectedKind | DismissedColumn | None:
    """The likeliest kind, else the first that the name suggests."""
    results: list[DetectedKind | DismissedColumn] = []
    for row in KIND_ROWS:
        unfit_reason = find_unfit_reason(row, name)
        if unfit_reason is not None:
            results.append(DismissedColumn(row, unfit_reason))
            continue
        name_match = match_name(row, name)
        if name_match is None and row.nature is ValueNature.QUANTITY:
            continue
        values = match_values(row, records_by_value, name_match)
        is_whole = name_match is not None and name_match.is_whole
        is_ambiguous = name_match is None or name_match.is_ambiguous
        is_sure = is_whole and values.fit >= Fit.SPOKEN
        is_likely = is_whole and (
            values.fit is Fit.CODED or (values.fit is Fit.CATEGORIES and not is_ambiguous)
        )

        if is_sure or is_likely or values.fit is Fit.BY_THEMSELVES:
            results.append(
                DetectedKind(row, Confidence.HIGH if is_sure else Confidence.MEDIUM, name_match, values)
            )
        elif name_match is None:
            continue
        elif is_whole:
            reason = "nothing is known of its values: upload training data with this column, or log payload"
            if records_by_value:
                reason = f"its name may mean {row.title}, but {values.sentence}"
            results.append(DismissedColumn(row, reason))
        elif records_by_value:
            neighbours = ", ".join(repr(token) for token in name_match.others[:5])
            reason = (
                f"{name_match.phrase!r} in its name may mean {row.title}, but {neighbours} next to it makes "
                "it something else"
            )
            results.append(DismissedColumn(row, f"{reason}, and {values.sentence}"))

    detected_kinds = [detected for detected in results if isinstance(detected, DetectedKind)]
    # Of equally sure kinds the first counts: KIND_ROWS has an order.
    best = min(
        detected_kinds,
        key=lambda detected: (detected.confidence is not Confidence.HIGH, -detected.values.fit),
        default=None,
    )
    return best or next(iter(results), None)


def is_named_after_kind(name: str) -> bool:
    return any(
        match_name(row, name) is not None or find_unfit_reason(row, name) is not None for row in KIND_ROWS
    )


def match_values(
    row: KindRow, records_by_value: Mapping[GroupValue, int], name: NameMatch | None
) -> ValueMatch:
    if not records_by_value:
        return ValueMatch(Fit.UNFIT, "no value is known")
    if row.nature is ValueNature.QUANTITY:
        return match_ages(records_by_value)
    if any(isinstance(value, Range) for value in records_by_value):
        return ValueMatch(Fit.UNFIT, "its values are counted in intervals, so there are too many for groups")
    if row.nature is ValueNature.PLACES:
        return match_places(records_by_value)
    return match_categories(row, records_by_value, name)
