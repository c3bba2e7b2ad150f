"""Categories of people that a tool assessed."""

from collections.abc import Sequence
from typing import Any

from ...base.frozen import frozen
from ...domain.monitor import Comparison


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
