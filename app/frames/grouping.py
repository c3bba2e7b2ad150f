"""Which group of an attribute, or of several together, each record of a frame is in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from app.domain.monitor_rules import INTERSECTION_SIZES, MAX_GROUPS, MAX_GROUPS_TOGETHER
from app.domain.texts import TOGETHER
from app.domain.values import Range, Scalar, canonical, number_of
from app.errors import InvalidInput
from app.frames.columns import (
    Codes,
    Column,
    Encoded,
    as_listed,
    checked_name,
    column_of,
    encode,
    looked_up,
    narrowest,
    numbers_of,
    shown,
    sizes_of,
)
from app.metrics.groups import NEITHER, FloatArray, Group, Groups, IntArray, Role

Said: TypeAlias = tuple[Scalar | Range, ...] | None
"""The values or ranges of one side of an attribute; None where it was left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The groups, monitored ones first, and per record the position of its group or NEITHER.

    `sizes` are the records of each group and, at the end, of none. `chosen` says in words which reference was taken because none
    was given; None where it was given. `warnings` name listed groups that no record is in.
    """

    attribute: str
    groups: Groups
    codes: Codes
    sizes: IntArray
    chosen: str | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """Records divided by several attributes at once: into the cells that any of their groups, or none, have together.

    `codes` say per record which of so many `cells` it is in. Each of `groupings` says so of the cells, which stand in it for
    records; its sizes are those of the records.
    """

    codes: Codes
    cells: int
    groupings: tuple[Grouping, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """One attribute: the labels of its groups, their roles (None where neither side was given), and the records' codes.

    `unseen` says of each listed group without a record what the column holds instead.
    """

    name: str
    labels: tuple[str, ...]
    roles: tuple[Role | None, ...]
    codes: Codes
    unseen: tuple[str, ...] = ()


class _Cell(NamedTuple):
    """One combination of the attributes' values."""

    place: int
    label: str
    may_be_reference: bool


def group_records(frame: pd.DataFrame, attribute: str | Sequence[str], monitored: object = None, reference: object = None) -> Grouping:
    """The groups of one attribute, or the combinations of several.

    A side lists values or ranges; for several attributes it is a mapping from attribute to these. `monitored` left out is
    every value but the reference, `reference` left out every value but the monitored; both left out, the largest group is the
    reference. A listed group that no record is in is kept, so that its figures say so. Of several attributes the combinations of
    reference values only are the reference, all others monitored; combinations without a record are left out, unless no reference
    would be left.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    parts = _parts(frame, attribute_names(attribute), monitored, reference)
    codes = _codes_together(parts)
    return _grouping(parts, codes, sizes_of(codes, _beyond(parts)))


def cross_records(frame: pd.DataFrame, attributes: Sequence[str], monitored: object = None, reference: object = None) -> Crossing:
    """The groups of each of several attributes and, last, of all together; each as `group_records` has it.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    names = attribute_names(attributes)
    parts = _parts(frame, names, monitored, reference)
    # A record without one attribute still has the others, so that none of an attribute's groups counts as a group here.
    whole = [
        replace(part, labels=(*part.labels, ""), codes=looked_up(range(len(part.labels)), part.codes, missing=len(part.labels)))
        for part in parts
    ]
    codes = _codes_together(whole)
    sizes = sizes_of(codes, _beyond(whole))[:-1]
    filled = np.flatnonzero(sizes)
    places = np.unravel_index(filled, [len(part.labels) for part in whole])
    cells = [replace(part, codes=np.where(place == len(part.labels), NEITHER, place)) for part, place in zip(parts, places, strict=True)]
    each = [[cell] for cell in cells] + ([cells] if len(cells) > 1 else [])
    renumbered = np.zeros(sizes.size, np.int64)
    renumbered[filled] = np.arange(filled.size)
    return Crossing(
        looked_up(renumbered, codes, missing=NEITHER),
        filled.size,
        tuple(_grouping_of_cells(some, sizes[filled]) for some in each),
    )


def _grouping_of_cells(cells: Sequence[_Part], records: IntArray) -> Grouping:
    """The grouping of cells that each hold so many records."""
    codes = _codes_together(cells)
    sizes = np.zeros(_beyond(cells) + 1, np.int64)
    np.add.at(sizes, codes, records)
    return _grouping(cells, codes, sizes)


def _grouping(parts: Sequence[_Part], codes: Codes, counted: IntArray) -> Grouping:
    """The groups that the combinations of the parts' values make, of which there are so many records and, at the end, of none."""
    sizes = counted[:-1]
    # Of one attribute what was listed is kept, so that an empty group is seen; of several most combinations may be empty.
    places = range(sizes.size) if len(parts) == 1 else np.flatnonzero(sizes).tolist()
    _refuse_many(parts, len(places))
    cells = [_cell(parts, place) for place in places]
    if len(parts) > 1 and not any(cell.may_be_reference for cell in cells):
        cells += _empty_reference(parts)
        _refuse_many(parts, len(cells))
    groups, chosen = _with_roles(parts, cells, sizes)
    renumbered = np.full(sizes.size, NEITHER, dtype=np.int64)
    renumbered[list(groups)] = np.arange(len(groups))
    return Grouping(
        attribute=TOGETHER.join(part.name for part in parts),
        groups=tuple(groups.values()),
        codes=looked_up(renumbered, codes, missing=NEITHER),
        sizes=np.append(sizes[list(groups)], counted.sum() - sizes[list(groups)].sum()),
        chosen=chosen,
        warnings=tuple(sentence for part in parts for sentence in part.unseen),
    )


def _empty_reference(parts: Sequence[_Part]) -> list[_Cell]:
    """The combinations of reference values alone, none of which has a record."""
    roles = [[place for place, role in enumerate(part.roles) if role == "reference"] for part in parts]
    sizes = [len(part.labels) for part in parts]
    return [_cell(parts, int(np.ravel_multi_index(places, sizes))) for places in islice(product(*roles), MAX_GROUPS_TOGETHER + 1)]


def _parts(frame: pd.DataFrame, names: tuple[str, ...], monitored: object, reference: object) -> list[_Part]:
    sides = (_sides(names, monitored, "monitored"), _sides(names, reference, "reference"))
    return [_part(frame, name, sides[0].get(name), sides[1].get(name)) for name in names]


def _beyond(parts: Sequence[_Part]) -> int:
    """How many combinations the parts' values have."""
    return prod(len(part.labels) for part in parts)


def attribute_names(attribute: str | Sequence[str]) -> tuple[str, ...]:
    """The attributes that one argument names.

    Raises:
        InvalidInput: too many or none, one twice, or one that is no text.
    """
    several = [attribute] if isinstance(attribute, str) or not isinstance(attribute, Iterable) else list(attribute)
    names = tuple(checked_name(name, "attribute") for name in several)
    if not 1 <= len(names) <= max(INTERSECTION_SIZES) or len(set(names)) < len(names):
        raise InvalidInput.of(
            "attribute", f"must name one to {max(INTERSECTION_SIZES)} columns, each once; found {', '.join(names) or 'none'}"
        )
    return names


def _sides(names: tuple[str, ...], said: object, option: str) -> dict[str, Said]:
    """What one side lists, by attribute."""
    if said is None:
        return {}
    if not isinstance(said, Mapping):
        if len(names) > 1:
            raise InvalidInput.of(
                option, f"must say which attribute it lists values of, because {' and '.join(names)} are compared together"
            )
        return {names[0]: as_listed(said, option)}
    unknown = [str(name) for name in said if name not in names]
    if unknown:
        raise InvalidInput.of(option, f"{shown(unknown)} is not among the attributes, which are {shown(names)}")
    return {name: as_listed(listed, option) for name, listed in said.items()}


def _part(frame: pd.DataFrame, name: str, monitored: Said, reference: Said) -> _Part:
    column = column_of(frame, name, "attribute")
    forms = {isinstance(value, Range) for value in (*(monitored or ()), *(reference or ()))}
    if len(forms) > 1:
        raise InvalidInput.of("reference", f"lists values where monitored lists ranges of {name!r}, or the other way round; use one form")
    if forms == {True}:
        return _by_ranges(column, name, monitored, reference)
    return _by_values(encode(column, "attribute"), monitored, reference)


def _by_ranges(column: Column, name: str, monitored: Said, reference: Said) -> _Part:
    if monitored is None or reference is None:
        option, other = ("monitored", "reference") if monitored is None else ("reference", "monitored")
        raise InvalidInput.of(option, f"is needed for {name!r}, because {other} lists ranges")
    ranges = [value for value in (*monitored, *reference) if isinstance(value, Range)]
    for later in ranges[len(monitored) :]:
        for earlier in ranges[: len(monitored)]:
            if later.overlaps(earlier):
                raise InvalidInput.of(
                    "reference", f"{later.label} overlaps {earlier.label}, which is listed as monitored (both ends belong to a range)"
                )
    numbers = numbers_of(column, "attribute")
    codes = np.full(numbers.size, NEITHER, dtype=narrowest(len(ranges)))
    unseen = []
    for place, bounds in enumerate(ranges):
        inside = (numbers >= bounds.lo) & (numbers <= bounds.hi)
        codes[inside] = place
        if not inside.any():
            unseen.append(f"no number of {name!r} lies in {bounds.label}{_ends(numbers)}")
    roles: list[Role | None] = ["monitored" for _ in monitored]
    roles += ["reference" for _ in reference]
    return _Part(name, tuple(bounds.label for bounds in ranges), tuple(roles), codes, tuple(unseen))


def _ends(numbers: FloatArray) -> str:
    known = numbers[~np.isnan(numbers)]
    return f"; they go from {canonical(float(known.min()))} to {canonical(float(known.max()))}" if known.size else ""


def _by_values(encoded: Encoded, monitored: Said, reference: Said) -> _Part:
    if not encoded.texts and monitored is None and reference is None:
        raise InvalidInput.of("attribute", f"{encoded.name!r} holds no value")
    positions = {text: position for position, text in enumerate(encoded.texts)}
    watched, compared = _places(encoded, positions, monitored, "monitored"), _places(encoded, positions, reference, "reference")
    texts = list(positions)
    for place in compared:
        if place in watched:
            raise InvalidInput.of("reference", f"{texts[place]!r} is listed as monitored, too")
    others = [] if watched and compared else [place for place in _sorted_places(encoded) if place not in {*watched, *compared}]
    if len(watched) + len(compared) + len(others) > MAX_GROUPS:
        raise InvalidInput.of(
            "attribute",
            f"{encoded.name!r} has {len(watched) + len(compared) + len(others):,} groups where at most {MAX_GROUPS} are compared;"
            " list the monitored and the reference values, or divide it into ranges",
        )
    left_out: Role | None = "reference" if watched else "monitored" if compared else None
    roles: dict[int, Role | None] = dict.fromkeys(watched, "monitored")
    roles |= dict.fromkeys(compared, "reference")
    roles |= dict.fromkeys(others, left_out)
    order = list(roles)
    renumbered = np.full(len(texts), NEITHER, dtype=np.int64)
    renumbered[order] = np.arange(len(order))
    codes = looked_up(renumbered, encoded.codes, missing=NEITHER)
    unseen = tuple(
        f"{text!r} is not a value of {encoded.name!r}, which holds {encoded.described()}" for text in texts[len(encoded.texts) :]
    )
    return _Part(encoded.name, tuple(texts[place] for place in order), tuple(roles.values()), codes, unseen)


def _places(encoded: Encoded, positions: dict[str, int], said: Said, option: str) -> list[int]:
    """Where among the column's values those listed are; nowhere where the side was left out.

    What is no value of the column gets the next of `positions`: a group without a record.
    """
    if said is None:
        return []
    spelled = [encoded.spelled(value) for value in said if not isinstance(value, Range)]
    if len(set(spelled)) < len(spelled):
        raise InvalidInput.of(option, f"lists a value of {encoded.name!r} twice")
    return [positions.setdefault(text, len(positions)) for text in spelled]


def _codes_together(parts: Sequence[_Part]) -> Codes:
    """Per record its combination, counted through with the last attribute fastest, or NEITHER."""
    if len(parts) == 1:
        return parts[0].codes
    codes = np.zeros(parts[0].codes.size, dtype=narrowest(_beyond(parts) + 1))
    neither = np.zeros(codes.size, dtype=np.bool_)
    for part in parts:
        neither |= part.codes < 0
        codes *= len(part.labels)
        codes += part.codes.astype(codes.dtype, copy=False)
    codes[neither] = NEITHER
    return codes


def _refuse_many(parts: Sequence[_Part], groups: int) -> None:
    if groups > MAX_GROUPS_TOGETHER:
        raise InvalidInput.of("attribute", f"{_named(parts)} make {groups:,} groups where at most {MAX_GROUPS_TOGETHER:,} are compared")


def _named(parts: Sequence[_Part]) -> str:
    return " and ".join(repr(part.name) for part in parts)


def _cell(parts: Sequence[_Part], place: int) -> _Cell:
    labels, roles, rest = [], set(), place
    for part in reversed(parts):
        rest, own = divmod(rest, len(part.labels))
        labels.append(part.labels[own])
        roles.add(part.roles[own])
    return _Cell(place, TOGETHER.join(reversed(labels)), may_be_reference="monitored" not in roles)


def _with_roles(parts: Sequence[_Part], cells: Sequence[_Cell], sizes: IntArray) -> tuple[dict[int, Group], str | None]:
    """The groups by their place, monitored ones first, and in words which reference was chosen."""
    named = _named(parts)
    reference = [cell for cell in cells if cell.may_be_reference]
    chosen = None
    if any(None in part.roles for part in parts):
        if not reference:
            raise InvalidInput.of("reference", f"no record of {named} is left to compare the monitored ones with")
        reference = [max(reference, key=lambda cell: int(sizes[cell.place]))]
        chosen = f"the largest group, {reference[0].label}, is the reference because none was given"
    monitored = [cell for cell in cells if cell not in reference]
    _refuse_unfit(named, monitored, reference)
    groups = {cell.place: Group(cell.label, "monitored") for cell in monitored}
    return groups | {cell.place: Group(cell.label, "reference") for cell in reference}, chosen


def _refuse_unfit(named: str, monitored: Sequence[_Cell], reference: Sequence[_Cell]) -> None:
    if not monitored:
        raise InvalidInput.of("monitored", f"every record of {named} is in {reference[0].label}; there is nothing to compare it with")
    if len({cell.label for cell in (*monitored, *reference)}) < len(monitored) + len(reference):
        raise InvalidInput.of("attribute", f"{named} make two groups of one name, because of values that hold × as a word of its own")


def _sorted_places(encoded: Encoded) -> list[int]:
    return sorted(range(len(encoded.texts)), key=lambda place: _sort_key(encoded.texts[place]))


def _sort_key(text: str) -> tuple[float, str]:
    number = number_of(text)
    return (float("inf") if number is None else number, text)
