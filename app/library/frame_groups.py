"""Groups of one or several attributes of a frame, and the group of each record."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from math import prod
from typing import NamedTuple

import numpy as np
from pandas import DataFrame

from ..base.errors import InvalidInput
from ..base.values import TOGETHER, Range, Scalar, canonical, frozen_arrays, quote_names
from ..domain.groups import (
    EVERYBODY_ELSE,
    MAX_GROUPS_TOGETHER,
    MAX_REFERENCE_VALUES,
    count_twins,
    describe_twins,
    drop_twins,
    find_twins,
    make_sort_key,
)
from ..domain.monitor import ValueTest
from ..domain.monitor_rules import INTERSECTION_SIZES, MAX_GROUPS
from ..sources.arrays.favourable_scores import mark_in_ranges
from ..statistics.group_labels import NEITHER, ComparedGroup, Groups, IntArray, Role, cross_codes
from .frame_columns import (
    Codes,
    Column,
    Encoded,
    check_names,
    choose_integer_type,
    convert_some_numbers,
    count_codes,
    encode,
    look_up,
    read_listing,
    require_column,
)

Names = tuple[str, ...]

Listing = tuple[Scalar | Range, ...] | None


@frozen_arrays
class FrameGrouping:
    """Groups, the monitored ones first, and `codes`: the position of each record's group, or NEITHER.

    `sizes` are the groups' records and, last, those of none. `chosen` says that the largest group became the
    reference; `warnings` name listed groups without records, and values that look like a group.
    """

    names: Names
    groups: Groups
    codes: Codes
    sizes: IntArray
    chosen: str | None
    warnings: Names = ()

    @property
    def attribute(self) -> str:
        return TOGETHER.join(self.names)

    @property
    def reference_label(self) -> str:
        return ", ".join(group.label for group in self.groups if group.role == "reference")


@frozen_arrays
class _AttributeGroups:
    """Groups of one attribute: labels, roles (None where neither side was given), and each record's code."""

    name: str
    labels: Names
    roles: tuple[Role | None, ...]
    codes: Codes
    notes: Names = ()


class _GroupCell(NamedTuple):
    """Combination of the groups of each attribute, by its position among all combinations."""

    position: int
    label: str
    may_be_reference: bool


def group_records(
    frame: DataFrame, attribute: str | Sequence[str], monitored: object = None, reference: object = None
) -> FrameGrouping:
    """Finds the groups of one attribute, or the combinations of several.

    A side lists values or ranges; for several attributes it maps them to these. `monitored` left out is every
    value but the reference, and the reverse; both left out, the largest group is the reference. More than 100
    other values are one reference group, everybody else. Listed groups without records are kept. Of several
    attributes the combinations of reference values only are the reference; those without a record are left
    out, unless no reference would be left.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    return _build_grouping(_divide_attributes(frame, read_attribute_names(attribute), monitored, reference))


def group_each(
    frame: DataFrame, attributes: Sequence[str], monitored: object = None, reference: object = None
) -> list[FrameGrouping]:
    """Finds the groups of each attribute and, last, of all together, as `group_records` does.

    If some cannot be made, the warnings of the others say why.
    """
    names = read_attribute_names(attributes)
    errors = dict[str, InvalidInput]()
    divisions = _divide_attributes(frame, names, monitored, reference, errors)
    combinations = [[division] for division in divisions]
    if len(divisions) == len(names) > 1:
        combinations.append(divisions)
    groupings = []
    for combination in combinations:
        try:
            groupings.append(_build_grouping(combination))
        except InvalidInput as error:
            errors[_join_names(combination)] = error
    if not groupings:
        raise next(iter(errors.values()))
    reasons = [f"{name}: not measured, because {error.problems[0].message}" for name, error in errors.items()]
    return [replace(grouping, warnings=(*grouping.warnings, *reasons)) for grouping in groupings]


def _build_grouping(divisions: Sequence[_AttributeGroups]) -> FrameGrouping:
    codes = _cross_codes(divisions)
    cell_sizes = count_codes(codes, prod(len(division.labels) for division in divisions))
    sizes = cell_sizes[:-1]
    positions = range(sizes.size) if len(divisions) == 1 else np.flatnonzero(sizes).tolist()
    _refuse_many(divisions, len(positions))
    cells = [_build_cell(divisions, position) for position in positions]
    if len(divisions) > 1 and not any(cell.may_be_reference for cell in cells):
        # The combinations of reference values, without a record.
        of_reference = [
            [position for position, role in enumerate(division.roles) if role == "reference"]
            for division in divisions
        ]
        shape = [len(division.labels) for division in divisions]
        combined = islice(product(*of_reference), MAX_GROUPS_TOGETHER + 1)
        cells += [_build_cell(divisions, int(np.ravel_multi_index(parts, shape))) for parts in combined]
        _refuse_many(divisions, len(cells))

    text = _join_names(divisions)
    choice_note = None
    reference = [cell for cell in cells if cell.may_be_reference]
    if any(None in division.roles for division in divisions):
        if not reference:
            raise InvalidInput("reference", f"no record of {text} is left to compare the monitored ones with")
        reference = [max(reference, key=lambda cell: int(sizes[cell.position]))]
        choice_note = f"the largest group, {reference[0].label!r}, is the reference because none was given"
    monitored = [cell for cell in cells if cell not in reference]
    if not monitored:
        raise InvalidInput(
            "monitored",
            f"every record of {text} is in {reference[0].label!r}; there is nothing to compare it with",
        )
    if len({cell.label for cell in cells}) < len(cells):
        raise InvalidInput(
            "attribute",
            f"{text} make two groups of one name, because of values that hold × as a word of its own",
        )
    groups = {
        cell.position: ComparedGroup(cell.label, "reference" if cell in reference else "monitored")
        for cell in monitored + reference
    }

    renumbered = np.full(sizes.size, NEITHER, int)
    renumbered[list(groups)] = np.arange(len(groups))
    return FrameGrouping(
        names=tuple(division.name for division in divisions),
        groups=tuple(groups.values()),
        codes=look_up(renumbered, codes, missing=NEITHER),
        sizes=np.append(sizes[list(groups)], cell_sizes.sum() - sizes[list(groups)].sum()),
        chosen=choice_note,
        warnings=tuple(sentence for division in divisions for sentence in division.notes),
    )


def _divide_attributes(
    frame: DataFrame,
    names: Names,
    monitored: object,
    reference: object,
    errors_by_name: dict[str, InvalidInput] | None = None,
) -> list[_AttributeGroups]:
    watched = _read_sides(names, monitored, "monitored")
    compared = _read_sides(names, reference, "reference")
    divisions = []
    for name in names:
        column = require_column(frame, name, "attribute")
        sides = (watched.get(name), compared.get(name))
        forms = {isinstance(value, Range) for side in sides for value in side or ()}
        if len(forms) > 1:
            raise InvalidInput(
                "reference",
                f"lists values where monitored lists ranges of {name!r}, or the other way round; use one "
                "form",
            )
        try:
            divisions.append(
                _divide_by_ranges(column, name, *sides)
                if forms == {True}
                else _divide_by_values(column, *sides)
            )
        except InvalidInput as error:
            if errors_by_name is None:
                raise
            errors_by_name[repr(name)] = error
    return divisions


def read_attribute_names(attribute: str | Sequence[str]) -> Names:
    """Reads the names of one or several attributes. Raises InvalidInput: too many or none, one twice, or no
    text.
    """
    names = check_names(attribute, "attribute")
    if not 1 <= len(names) <= max(INTERSECTION_SIZES) or len(set(names)) < len(names):
        raise InvalidInput(
            "attribute",
            f"must name one to {max(INTERSECTION_SIZES)} columns, each once; found {quote_names(names)}",
        )
    return names


def _read_sides(names: Names, listing: object, option: str) -> dict[str, Listing]:
    if listing is None:
        return {}
    if not isinstance(listing, Mapping):
        if len(names) > 1:
            raise InvalidInput(
                option,
                f"must say which attribute it lists values of, because {' and '.join(names)} are compared "
                "together",
            )
        return {names[0]: read_listing(listing, option)}
    unknown = [str(name) for name in listing if name not in names]
    if unknown:
        raise InvalidInput(
            option, f"{quote_names(unknown)} is not among the attributes, which are {quote_names(names)}"
        )
    return {name: read_listing(listed, option) for name, listed in listing.items()}


def _divide_by_ranges(column: Column, name: str, monitored: Listing, reference: Listing) -> _AttributeGroups:
    if monitored is None or reference is None:
        option, opposite = ("monitored", "reference") if monitored is None else ("reference", "monitored")
        raise InvalidInput(option, f"is needed for {name!r}, because {opposite} lists ranges")
    ranges = [value for value in (*monitored, *reference) if isinstance(value, Range)]
    for later, earlier in product(ranges[len(monitored) :], ranges[: len(monitored)]):
        if later.overlaps(earlier):
            raise InvalidInput(
                "reference",
                f"{later.label} overlaps {earlier.label}, which is listed as monitored (both ends belong to "
                "a range)",
            )
    notes = list[str]()
    numbers = convert_some_numbers(column, "attribute", notes)
    codes = np.full(numbers.size, NEITHER, choose_integer_type(len(ranges)))
    for position, bounds in enumerate(ranges):
        inside = mark_in_ranges(numbers, ValueTest(ranges=(bounds,)))
        codes[inside] = position
        if not inside.any():
            filled = numbers[~np.isnan(numbers)]
            ends = ""
            if filled.size:
                ends = f"; they go from {canonical(float(filled.min()))} to {canonical(float(filled.max()))}"
            notes.append(f"no number of {name!r} lies in {bounds.label}{ends}")
    roles: list[Role | None] = ["monitored" for _ in monitored]
    roles += ["reference" for _ in reference]
    return _AttributeGroups(name, tuple(bounds.label for bounds in ranges), tuple(roles), codes, tuple(notes))


def _divide_by_values(column: Column, monitored: Listing, reference: Listing) -> _AttributeGroups:
    may_have_rest = monitored is not None and reference is None
    encoded = encode(column, "attribute", limit=len(column)) if may_have_rest else encode(column, "attribute")
    if not encoded.texts and monitored is None and reference is None:
        raise InvalidInput("attribute", f"{encoded.name!r} holds no value")
    positions = {text: position for position, text in enumerate(encoded.texts)}
    watched = _number_values(encoded, positions, monitored, "monitored")
    compared = _number_values(encoded, positions, reference, "reference")
    texts = list(positions)
    for code in compared:
        if code in watched:
            raise InvalidInput("reference", f"{texts[code]!r} is listed as monitored, too")
    unlisted = []
    if not (watched and compared):
        unlisted = [
            positions[text]
            for text in sorted(encoded.texts, key=make_sort_key)
            if positions[text] not in {*watched, *compared}
        ]
    records = encoded.count_values()
    listed = [texts[code] for code in (*watched, *compared)]
    if not watched:
        # Each other value is a group of its own: the one with the most records of those that look alike.
        listed = list(dict.fromkeys((*listed, *drop_twins((*listed, *records)))))
    twins = find_twins(records, listed)
    unlisted = [code for code in unlisted if texts[code] not in twins]
    has_rest = may_have_rest and len(unlisted) > MAX_REFERENCE_VALUES
    groups = len(watched) + len(compared) + (1 if has_rest else len(unlisted))
    if groups > MAX_GROUPS:
        raise InvalidInput(
            "attribute",
            f"{encoded.name!r} has {groups:,} groups where at most {MAX_GROUPS} are compared; list the "
            "monitored values, or divide it into ranges",
        )
    left_out: Role | None = "reference" if watched else "monitored" if compared else None
    roles: dict[int, Role | None] = dict.fromkeys(watched, "monitored")
    roles |= dict.fromkeys(compared, "reference")
    roles |= dict.fromkeys(unlisted, left_out)
    order = list(roles)
    renumbered = np.full(len(texts), NEITHER, int)
    renumbered[order] = np.arange(len(order))
    labels = [texts[code] for code in order]
    if has_rest:
        renumbered[unlisted] = len(watched)
        labels[len(watched) :] = [EVERYBODY_ELSE]
    codes = look_up(renumbered, encoded.codes, missing=NEITHER)
    notes = [
        f"{text!r} is not a value of {encoded.name!r}, which holds {quote_names(list(records))}"
        for text in texts[len(encoded.texts) :]
    ]
    notes += describe_twins(
        count_twins(encoded.name, records, listed, () if has_rest else [texts[code] for code in unlisted])
    )
    return _AttributeGroups(
        encoded.name, tuple(labels), tuple(roles.values())[: len(labels)], codes, tuple(notes)
    )


def _number_values(encoded: Encoded, positions: dict[str, int], listing: Listing, option: str) -> list[int]:
    """Codes of a side's listed values, none if it was left out; a new value gets the next code."""
    if listing is None:
        return []
    spelled = [encoded.spell(value) for value in listing if not isinstance(value, Range)]
    if len(set(spelled)) < len(spelled):
        raise InvalidInput(option, f"lists a value of {encoded.name!r} twice")
    return [positions.setdefault(text, len(positions)) for text in spelled]


def _cross_codes(divisions: Sequence[_AttributeGroups]) -> Codes:
    """Position [records] of each record's combination, in which the last attribute counts fastest; or
    NEITHER.
    """
    if len(divisions) == 1:
        return divisions[0].codes
    sizes = [len(division.labels) for division in divisions]
    return cross_codes(
        [division.codes for division in divisions], sizes, choose_integer_type(prod(sizes) + 1)
    )


def _refuse_many(divisions: Sequence[_AttributeGroups], groups: int) -> None:
    if groups > MAX_GROUPS_TOGETHER:
        raise InvalidInput(
            "attribute",
            f"{_join_names(divisions)} make {groups:,} groups where at most {MAX_GROUPS_TOGETHER:,} are "
            "compared",
        )


def _join_names(divisions: Sequence[_AttributeGroups]) -> str:
    return " and ".join(repr(division.name) for division in divisions)


def _build_cell(divisions: Sequence[_AttributeGroups], position: int) -> _GroupCell:
    codes = np.unravel_index(position, [len(division.labels) for division in divisions])
    named = list(zip(divisions, codes, strict=True))
    return _GroupCell(
        position,
        TOGETHER.join(division.labels[code] for division, code in named),
        may_be_reference=all(division.roles[code] != "monitored" for division, code in named),
    )
