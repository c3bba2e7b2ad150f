"""Impact ratios as New York City's Local Law 144 asks for them (6 RCNY 5-300 to 5-304).

The impact ratio of a category is its selection rate over that of the most selected category. For a tool that scores, the rate is the
share of the category with a score above the median of the whole sample. A category with less than 2 % of the data may be left out of the
ratios. Its count and rate are shown all the same, and the most selected category is looked for among the included ones only: one
person hired out of one must not make every other category fail. The rule has no limit and no test of significance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from ..domain.category_schemes import SCHEMES
from .categories import Category, CategoryTable, highest_rate

LEAST_SHARE = 0.02
"""Share of the data below which a category may be left out of the impact ratios (6 RCNY 5-301 d)."""


RULE_SCHEMES = (SCHEMES["sex"], SCHEMES["eeo-1"])
"""Categories that the rule asks for: of sex, and of race or ethnicity (6 RCNY 5-301, by the form EEO-1)."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One category: `impact_ratio` is None if the category `is_excluded`, or if no included category was selected at all."""

    category: Category
    impact_ratio: float | None
    is_excluded: bool


@dataclass(frozen=True, slots=True)
class AuditTable:
    """Rows of one attribute or intersection, and the category that their ratios are taken to; None if all are excluded."""

    table: CategoryTable
    rows: tuple[AuditRow, ...]
    most_selected: Category | None


@dataclass(frozen=True, slots=True)
class AuditSheet:
    """Tables of the attributes and of their intersection. `unknown` counts assessed people who are missing in at least one of them.

    `assessed` counts all of them, of which a category must have `least_share` to be in the ratios.
    """

    tables: tuple[AuditTable, ...]
    assessed: int
    unknown: int
    least_share: float


def audit_tables(tables: Sequence[CategoryTable], *, assessed: int, unknown: int, least_share: float = LEAST_SHARE) -> AuditSheet:
    """Returns the impact ratios of these tables.

    A category with less than `least_share` of the `assessed` people, those of unknown categories among them, is left out. The rule says
    "of the data being used for the bias audit", which are the same for each of its tables.
    """
    audits = []
    for table in tables:
        excluded = {one for one in table.categories if one.applicants < least_share * assessed}
        best = highest_rate([one for one in table.categories if one not in excluded])
        divisor = 0.0 if best is None else best.rate
        rows = [AuditRow(one, one.rate / divisor if divisor and one not in excluded else None, one in excluded) for one in table.categories]
        audits.append(AuditTable(table, tuple(rows), best))
    return AuditSheet(tuple(audits), assessed, unknown, least_share)


def list_without_people(table: CategoryTable, known: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns the categories of a table that nobody is of, of several attributes each combination.

    They are those of the rule, where every category of an attribute is called as the rule calls its own, and those that are `known` by
    attribute.
    """
    members = []
    for place, feature in enumerate(table.comparison.features):
        named = dict.fromkeys((*(one.names[place] for one in table.categories), *known.get(feature, ())))
        of_rule = next((scheme for scheme in RULE_SCHEMES if named and set(named) <= set(scheme)), ())
        members.append(sorted({*named, *of_rule}))
    seen = {one.names for one in table.categories}
    return [Category(names, 0, 0).label for names in product(*members) if names not in seen]
