"""People by category, with outcome, controls and scores; and the mappings that make categories.

Schemes of categories are those of rules as read in November 2026; not legal advice.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ...base.errors import FieldProblem, InvalidInput, refuse
from ...base.values import frozen, frozen_arrays, frozen_by_name
from ...domain.monitor import Comparison, Outcome
from ..group_labels import MISSING, BoolArray, Codes, FloatArray, IntArray, cross_codes

SCHEMES = {
    "sex": ("Female", "Male"),
    "eeo-1": (
        "Hispanic or Latino",
        "White",
        "Black or African American",
        "Native Hawaiian or Pacific Islander",
        "Asian",
        "Native American or Alaska Native",
        "Two or more races",
    ),
    "bisg": (
        "Hispanic",
        "White",
        "Black",
        "Asian or Pacific Islander",
        "American Indian or Alaska Native",
        "Multiracial",
    ),
}
"""Categories of EEO-1 reports and Local Law 144, and those with probabilities by surname and place (BISG)."""

MAX_MAPPINGS = 20

MAX_VALUES = 500
"""Values, or columns of weights, that one attribute may map."""

MAX_MAPPING_CHARACTERS = 6_000
"""Length of the mappings in the address of a request; bodies and files take longer ones."""

EXAMPLE_MAPPING = '{"sex": {"scheme": "sex", "values": {"f": "Female", "m": "Male"}}}'

MAX_CONTROL_VALUES = 20
"""Different numbers of a control; more are divided into ranges."""

CONTROL_RANGES = 5
"""Ranges of a control of many numbers, ending at quantiles."""

Json = dict[str, Any]
RowMask = BoolArray


@frozen_by_name
class CategoryMapping:
    """Categories of one attribute, by its values or by weights.

    A value that is not in `values` is unknown. `weights` names a category for each column of probabilities;
    `attribute` is then a title only, and others are compared with `reference`. `scheme` None: any names.
    """

    attribute: str
    scheme: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)
    reference: str | None = None


def require_mappings(mappings: Sequence[CategoryMapping]) -> None:
    """Checks mappings. Raises InvalidInput: one contradicts itself, its scheme or another one."""
    refuse(list(_find_problems(mappings)))


def _find_problems(mappings: Sequence[CategoryMapping]) -> Iterator[FieldProblem]:
    if len(mappings) > MAX_MAPPINGS:
        yield FieldProblem("categories", f"must map at most {MAX_MAPPINGS} attributes, found {len(mappings)}")
    names = [mapping.attribute for mapping in mappings]
    for mapping in mappings:
        field = f"categories.{mapping.attribute}"
        weighed = mapping.weights.values()
        if names.count(mapping.attribute) > 1:
            yield FieldProblem(field, "is mapped twice")
        if bool(mapping.values) == bool(mapping.weights):
            yield FieldProblem(
                field, "must have `values`, a category for each value, or `weights`, one for each column"
            )
        if max(len(mapping.values), len(mapping.weights)) > MAX_VALUES:
            yield FieldProblem(field, f"must have at most {MAX_VALUES} values or columns")
        if mapping.scheme not in [None, *SCHEMES]:
            yield FieldProblem(
                f"{field}.scheme", f"must be one of {', '.join(SCHEMES)}, found {mapping.scheme!r:.100}"
            )
            continue
        categories = [*mapping.values.values(), *weighed]
        allowed = categories if mapping.scheme is None else SCHEMES[mapping.scheme]
        for category in dict.fromkeys(categories):
            if category not in allowed:
                yield FieldProblem(
                    field,
                    f"{category!r:.100} is not a category of {mapping.scheme}, which has "
                    f"{', '.join(allowed)}",
                )
        if any(not category.strip() for category in categories):
            yield FieldProblem(
                field, "has a category without a name; leave out values whose category is unknown"
            )
        if len(set(weighed)) < len(mapping.weights):
            yield FieldProblem(field, "has two columns of weights for one category")
        if mapping.reference not in [None, *weighed]:
            named = ", ".join(weighed) or "none"
            yield FieldProblem(
                f"{field}.reference",
                f"must be a category that has weights ({named}), found {mapping.reference!r:.100}",
            )


def parse_mappings(text: str) -> tuple[CategoryMapping, ...]:
    """Reads JSON by attribute: `{"race": {"scheme": "eeo-1", "values": {"W": "White"}}}`."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InvalidInput("categories", f"must be JSON: {error}") from error
    if not isinstance(document, dict):
        raise InvalidInput(
            "categories", 'must be an object such as {"race": {"scheme": "eeo-1", "values": {"W": "White"}}}'
        )
    mappings = tuple(_read_mapping(name, stored) for name, stored in document.items())
    require_mappings(mappings)
    return mappings


def _read_mapping(name: str, stored: Any) -> CategoryMapping:  # noqa: ANN401 - any JSON
    members = {"scheme", "values", "weights", "reference"}
    if not isinstance(stored, dict) or not set(stored) <= members:
        raise InvalidInput(
            f"categories.{name}", f"must be an object with the members {', '.join(sorted(members))}"
        )
    for member in ("values", "weights"):
        texts = stored.get(member, {})
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            raise InvalidInput(
                f"categories.{name}.{member}",
                "must be an object of texts: the name of the category by value or column",
            )
    return CategoryMapping(attribute=name, **stored)


@frozen
class Category:
    """People of a category, named by its value of each attribute, and how many of them were selected."""

    names: tuple[str, ...]
    applicants: int
    selected: int

    @property
    def label(self) -> str:
        return name_category(self.names)

    @property
    def rate(self) -> float:
        return self.selected / self.applicants

    @property
    def rejected(self) -> int:
        return self.applicants - self.selected

    def to_json(self) -> dict[str, Any]:
        return {
            "category": self.label,
            "applicants": self.applicants,
            "selected": self.selected,
            "rate": self.rate,
        }


@frozen
class CategoryTable:
    """Categories of one attribute, or several, of at least one person each; `unknown` people are in none."""

    comparison: Comparison
    categories: tuple[Category, ...]
    unknown: int

    @property
    def applicants(self) -> int:
        return sum(category.applicants for category in self.categories)


def name_category(names: Sequence[str]) -> str:
    return " × ".join(names)


def find_highest_rate(categories: Sequence[Category]) -> Category | None:
    """Category of the highest rate, of equal ones the largest; None without a category."""
    return max(
        categories, key=lambda category: (category.rate, category.applicants, category.label), default=None
    )


@frozen_arrays
class AttributeCategories:
    """Categories of one attribute, with their roles in the monitor; `codes` per row are positions or MISSING.

    `values` are as in the log, `labels` are display names.
    """

    feature: str
    labels: tuple[str, ...]
    roles: tuple[str | None, ...]
    codes: Codes
    values: tuple[str, ...]


@frozen_arrays
class Control:
    """Values of a control; `codes` per row are positions or MISSING. `note` says how numbers were divided."""

    name: str
    labels: tuple[str, ...]
    codes: Codes
    note: str = ""


@dataclass(frozen=True, eq=False)
class CountedPeople:
    """People in rows of alike ones, `records` of them each. `scores` is None where `no_scores` says why.

    `bounds` are tables of categories by probabilities.
    """

    records: IntArray
    outcomes: Codes
    attributes: tuple[AttributeCategories, ...]
    controls: tuple[Control, ...]
    scores: FloatArray | None
    no_scores: str
    bounds: tuple[Json, ...] = ()

    def count(self, is_chosen: RowMask) -> int:
        return int(np.dot(self.records, is_chosen))

    def get_attribute(self, feature: str) -> AttributeCategories:
        return next(attribute for attribute in self.attributes if attribute.feature == feature)

    @cached_property
    def is_assessed(self) -> RowMask:
        return np.asarray(self.outcomes != Outcome.UNCLASSIFIED)

    @cached_property
    def is_selected(self) -> RowMask:
        return np.asarray(self.outcomes == Outcome.FAVOURABLE)


def divide_numbers(name: str, numbers: FloatArray, records: IntArray) -> Control:
    """Divides the numbers [rows] into fifths; NaN is missing."""
    is_known = ~np.isnan(numbers)
    expanded = np.repeat(numbers[is_known], records[is_known])
    cuts = np.unique(np.quantile(expanded, np.arange(1, CONTROL_RANGES) / CONTROL_RANGES))
    codes = np.where(is_known, np.searchsorted(cuts, np.nan_to_num(numbers), side="left"), MISSING).astype(
        int
    )
    ends = [f"{cut:.6g}" for cut in cuts]
    labels = (
        f"up to {ends[0]}",
        *(f"above {low} to {high}" for low, high in pairwise(ends)),
        f"above {ends[-1]}",
    )
    return Control(name, labels, codes, f"{name} is divided at its fifths, {', '.join(ends)}")


def has_many_numbers(numbers: FloatArray | None) -> bool:
    return numbers is not None and np.unique(numbers[~np.isnan(numbers)]).size > MAX_CONTROL_VALUES


def select_reference(attribute: AttributeCategories) -> RowMask:
    # MISSING is -1, and so the position at the end.
    return np.array([*(role == "reference" for role in attribute.roles), False])[attribute.codes]


def name_reference(attribute: AttributeCategories) -> str:
    return ", ".join(
        label for label, role in zip(attribute.labels, attribute.roles, strict=True) if role == "reference"
    )


def count_category(people: CountedPeople, label: str, is_chosen: RowMask) -> Category:
    return Category(
        (label,), people.count(is_chosen & people.is_assessed), people.count(is_chosen & people.is_selected)
    )


def compare_categories(
    people: CountedPeople, attribute: AttributeCategories
) -> Iterator[tuple[RowMask, Category, Category]]:
    """Yields rows, category and reference of each comparison in which both have assessed people."""
    reference = count_category(people, name_reference(attribute), select_reference(attribute))
    for position, (label, role) in enumerate(zip(attribute.labels, attribute.roles, strict=True)):
        is_category = attribute.codes == position
        category = count_category(people, label, is_category)
        if role != "reference" and category.applicants and reference.applicants:
            yield is_category, category, reference


def combine_controls(people: CountedPeople) -> Codes:
    """Combination [rows] of the values of all controls, or MISSING."""
    return np.asarray(
        cross_codes(
            [control.codes for control in people.controls],
            [len(control.labels) for control in people.controls],
        ),
        int,
    )
