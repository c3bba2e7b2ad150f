"""Categories of people that a tool assessed, and how many of each it selected."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..domain.comparisons import Comparison


@dataclass(frozen=True, slots=True)
class Category:
    """One category: the name of its value of each attribute, how many people of it the tool assessed, and how many it selected."""

    names: tuple[str, ...]
    applicants: int
    selected: int

    @property
    def label(self) -> str:
        """Returns the name of the category, as tables show it."""
        return " × ".join(self.names)

    @property
    def rate(self) -> float:
        """Returns the share of the category's people that were selected, 0 to 1."""
        return self.selected / self.applicants

    @property
    def rejected(self) -> int:
        """Returns how many people of the category were not selected."""
        return self.applicants - self.selected


@dataclass(frozen=True, slots=True)
class CategoryTable:
    """The categories of one attribute, or of several together. Each has at least one person.

    `unknown` counts assessed people who are in no category: a value of one of the attributes is unknown.
    """

    comparison: Comparison
    categories: tuple[Category, ...]
    unknown: int

    @property
    def applicants(self) -> int:
        """Returns the number of people in all categories."""
        return sum(one.applicants for one in self.categories)

    def below(self, share: float) -> frozenset[Category]:
        """Returns the categories with less than that share of the people in all categories."""
        return frozenset(one for one in self.categories if one.applicants < share * self.applicants)


def highest_rate(categories: Sequence[Category]) -> Category | None:
    """Returns the category with the highest selection rate, of equal ones the largest; None of none."""
    return max(categories, key=lambda one: (one.rate, one.applicants, one.label), default=None)
