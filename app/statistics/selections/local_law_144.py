"""Impact ratios as New York City's Local Law 144 asks for them (6 RCNY 5-300 to 5-304).

The impact ratio is a category's selection rate over that of the most selected included category. For a
tool that scores, the rate is the share above the median score of the whole sample. A category with less
than 2 % of the data may be left out of the ratios; its count and rate are shown.
"""

from collections.abc import Mapping, Sequence
from itertools import product

from ...base.values import frozen
from .category_people import SCHEMES, Category, CategoryTable, highest_rate, name_category

LEAST_SHARE = 0.02
"""Share of the data below which a category may be left out (6 RCNY 5-301 d)."""


RULE_SCHEMES = (SCHEMES["sex"], SCHEMES["eeo-1"])
"""Sex, and race or ethnicity (6 RCNY 5-301, by the form EEO-1)."""


@frozen
class AuditRow:
    """One category: `impact_ratio` is None if it `is_excluded`, or if no included category was selected."""

    category: Category
    impact_ratio: float | None
    is_excluded: bool


@frozen
class AuditTable:
    """Rows of one attribute or intersection, and the category that their ratios are taken to; None if all
    are excluded.
    """

    table: CategoryTable
    rows: tuple[AuditRow, ...]
    most_selected: Category | None


@frozen
class AuditSheet:
    """Tables of the attributes and their intersection. `unknown` people miss at least one of them.

    `assessed` counts all, of which a category must have `least_share` to be in the ratios.
    """

    tables: tuple[AuditTable, ...]
    assessed: int
    unknown: int
    least_share: float


def audit_tables(
    tables: Sequence[CategoryTable], *, assessed: int, unknown: int, least_share: float = LEAST_SHARE
) -> AuditSheet:
    """Impact ratios of these tables, without categories of less than `least_share` of the `assessed` people.

    The rule says "of the data being used for the bias audit": the same for each table, with unknown
    categories.
    """
    audits = []
    for table in tables:
        included = [
            category for category in table.categories if category.applicants >= least_share * assessed
        ]
        most_selected = highest_rate(included)
        rows = [
            AuditRow(
                category=category,
                impact_ratio=_impact_ratio(category, most_selected) if category in included else None,
                is_excluded=category not in included,
            )
            for category in table.categories
        ]
        audits.append(AuditTable(table, tuple(rows), most_selected))
    return AuditSheet(tuple(audits), assessed, unknown, least_share)


def _impact_ratio(category: Category, most_selected: Category | None) -> float | None:
    return category.rate / most_selected.rate if most_selected and most_selected.rate else None


def list_empty_categories(table: CategoryTable, listed: Mapping[str, Sequence[str]]) -> list[str]:
    """Categories that nobody is of: those of the rule, where an attribute's categories are called so, and
    the `listed` ones.
    """
    members = []
    for position, feature in enumerate(table.comparison.features):
        named = dict.fromkeys(
            (*(category.names[position] for category in table.categories), *listed.get(feature, ()))
        )
        of_rule = next((scheme for scheme in RULE_SCHEMES if named and set(named) <= set(scheme)), ())
        members.append(sorted({*named, *of_rule}))
    present = {category.names for category in table.categories}
    return [name_category(names) for names in product(*members) if names not in present]
