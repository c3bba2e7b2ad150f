"""People by category, with outcome, controls and scores; alike people added up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ...base.values import frozen, frozen_arrays
from ...domain.monitor import Comparison, Outcome
from ..group_labels import MISSING, BoolArray, Codes, FloatArray, IntArray, cross


@frozen
class Category:
    """The name of its value of each attribute, people assessed, and people selected."""

    names: tuple[str, ...]
    applicants: int
    selected: int

    @property
    def label(self) -> str:
        return name_category(self.names)

    @property
    def rate(self) -> float:
        """Selected share, 0 to 1."""
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
    """Categories of one attribute, or of several together, with at least one person each; `unknown` people
    are in none.
    """

    comparison: Comparison
    categories: tuple[Category, ...]
    unknown: int

    @property
    def applicants(self) -> int:
        return sum(category.applicants for category in self.categories)


def name_category(names: Sequence[str]) -> str:
    return " × ".join(names)


def highest_rate(categories: Sequence[Category]) -> Category | None:
    """Category with the highest selection rate, of equal ones the largest."""
    return max(
        categories, key=lambda category: (category.rate, category.applicants, category.label), default=None
    )


Json = dict[str, Any]
Rows = BoolArray

MOST_CONTROL_VALUES = 20
"""Max different values of a numeric control that is not divided into fifths."""

FIFTHS = 5


@frozen_arrays
class AttributeCategories:
    """Categories of one attribute; `codes` per row are positions or MISSING, `roles` those of each in the
    monitor.

    `values` are as in the log, `labels` are display names.
    """

    feature: str
    labels: tuple[str, ...]
    roles: tuple[str | None, ...]
    codes: Codes
    values: tuple[str, ...]


@frozen_arrays
class Control:
    """Values of a control; `codes` per row are positions or MISSING. `note` says how a numeric one was
    divided.
    """

    name: str
    labels: tuple[str, ...]
    codes: Codes
    note: str = ""


@dataclass(frozen=True, eq=False)
class CountedPeople:
    """Records of a period or file: row i counts `records[i]` alike ones. `scores` is None where `no_scores`
    says why.

    `bounds` are tables of categories by probabilities.
    """

    records: IntArray
    outcomes: Codes
    attributes: tuple[AttributeCategories, ...]
    controls: tuple[Control, ...]
    scores: FloatArray | None
    no_scores: str
    bounds: tuple[Json, ...] = ()

    def count(self, chosen: Rows) -> int:
        return int(np.dot(self.records, chosen))

    @cached_property
    def is_assessed(self) -> Rows:
        """Per row, whether the outcome is in one of the monitor's lists."""
        return np.asarray(self.outcomes != Outcome.UNCLASSIFIED)

    @cached_property
    def is_selected(self) -> Rows:
        return np.asarray(self.outcomes == Outcome.FAVOURABLE)


def divide_numbers(name: str, numbers: FloatArray, records: IntArray) -> Control:
    """Numeric control by the fifths of its numbers [rows], NaN where missing; row i counts `records[i]`."""
    is_known = ~np.isnan(numbers)
    expanded = np.repeat(numbers[is_known], records[is_known])
    cuts = np.unique(np.quantile(expanded, np.arange(1, FIFTHS) / FIFTHS))
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
    """Whether a numeric control has too many values to compare one by one."""
    return numbers is not None and np.unique(numbers[~np.isnan(numbers)]).size > MOST_CONTROL_VALUES


def reference_rows(attribute: AttributeCategories) -> Rows:
    # MISSING is -1, and so the place at the end.
    return np.array([*(role == "reference" for role in attribute.roles), False])[attribute.codes]


def name_reference(attribute: AttributeCategories) -> str:
    return ", ".join(
        label for label, role in zip(attribute.labels, attribute.roles, strict=True) if role == "reference"
    )


def count_category(people: CountedPeople, label: str, chosen: Rows) -> Category:
    """Assessed people of these rows."""
    return Category(
        (label,), people.count(chosen & people.is_assessed), people.count(chosen & people.is_selected)
    )


def compare_categories(
    people: CountedPeople, attribute: AttributeCategories
) -> Iterator[tuple[Rows, Category, Category]]:
    """Yields each category's rows, the category and the reference, if both have assessed people."""
    reference = count_category(people, name_reference(attribute), reference_rows(attribute))
    for position, (label, role) in enumerate(zip(attribute.labels, attribute.roles, strict=True)):
        chosen = attribute.codes == position
        category = count_category(people, label, chosen)
        if role != "reference" and category.applicants and reference.applicants:
            yield chosen, category, reference


def combine_controls(people: CountedPeople) -> Codes:
    """Per row, the combination of the values of all controls, or MISSING."""
    return np.asarray(
        cross(
            [control.codes for control in people.controls],
            [len(control.labels) for control in people.controls],
        ),
        int,
    )
