"""Impact ratios of the Uniform Guidelines (29 CFR 1607.4 D) with tests, and of Local Law 144 (6 RCNY 5-300 to
5-304).

The impact ratio is a category's selection rate over that of the most selected included category; for a tool
that scores, the rate is the share above the median score. A category with less than 2 % of the people may be
left out of the ratios; its count and rate are shown.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import combinations, product

import numpy as np

from ...base.values import frozen
from ..intervals.intervals import Z, build_ratio_interval
from .category_people import SCHEMES, Category, CategoryTable, Json, find_highest_rate, name_category

SIGNIFICANCE_LEVEL = 0.05
"""P-value below which a gap is significant: about two standard deviations."""

MIN_PEOPLE = 30

MIN_EXPECTED_PEOPLE = 5
"""People of both categories, and expected in each cell: with fewer Fisher's test replaces the z test."""

FURTHER_SELECTIONS = 2
"""Selections more that might change the finding, as the guidelines ask (Questions and Answers, 21)."""

MIN_SHARE_OF_PEOPLE = 0.02
"""Share of the people; a category with less may be left out (6 RCNY 5-301 d)."""

AUDIT_SCHEMES = (SCHEMES["sex"], SCHEMES["eeo-1"])
"""Categories that 6 RCNY 5-301 names, by the form EEO-1."""

_COMPARISON_MEMBERS = (
    "z",
    "z_reason",
    "fisher_p",
    "p_value",
    "corrected_p",
    "odds_ratio",
    "odds_ratio_low",
    "odds_ratio_high",
    "odds_ratio_reason",
    "shortfall_to_four_fifths",
    "shortfall_to_parity",
)


class Flag(StrEnum):
    """Finding on a category compared with the one of the highest rate."""

    BELOW_FOUR_FIFTHS = "below_four_fifths"
    SIGNIFICANT = "significant"
    TOO_FEW = "too_few"
    FLIPS_WITH_TWO = "flips_with_two"


@frozen
class OddsRatio:
    """Odds ratio with its 95 % interval. Numbers are None with a `reason` where a cell is empty."""

    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    reason: str | None = None


def compare_rates(name: str, category: Category, other: Category | None) -> Json:
    """Ratio of both rates and its 95 % interval (None for an open end), or the reason why there is none."""
    ratio = low = high = reason = None
    if other is None:
        reason = (
            f"every category has less than {100 * MIN_SHARE_OF_PEOPLE:g} % of the people, so there is none "
            "to compare with"
        )
    elif other == category:
        reason = "the category that others are compared with"
    elif not other.selected:
        reason = f"nobody of {other.label} was selected, so there is no ratio"
    else:
        ratio = category.rate / other.rate
        low, upper, _ = build_ratio_interval(
            category.selected, category.applicants, other.selected, other.applicants
        )
        high = upper if math.isfinite(upper) else None
    return {name: ratio, f"{name}_low": low, f"{name}_high": high, f"{name}_reason": reason}


def compute_z_score(category: Category, other: Category) -> float | None:
    """Difference of the rates in standard errors of the pooled rate; None without both outcomes."""
    pooled = (category.selected + other.selected) / (category.applicants + other.applicants)
    if pooled in {0, 1}:
        return None
    scatter = pooled * (1 - pooled) * (1 / category.applicants + 1 / other.applicants)
    return (category.rate - other.rate) / math.sqrt(scatter)


def compute_fisher_p(category: Category, other: Category) -> float:
    from scipy.stats import fisher_exact  # noqa: PLC0415 - scipy.stats takes a second to import

    cells = [[category.selected, category.rejected], [other.selected, other.rejected]]
    return min(1.0, float(fisher_exact(cells).pvalue))


def is_exact(category: Category, other: Category) -> bool:
    """Whether so few people need Fisher's exact test."""
    everybody = category.applicants + other.applicants
    selected = category.selected + other.selected
    fewest_expected = min(category.applicants, other.applicants) * min(selected, everybody - selected)
    return everybody < MIN_PEOPLE or fewest_expected / everybody < MIN_EXPECTED_PEOPLE


def compute_p_value(category: Category, other: Category) -> float:
    z = compute_z_score(category, other)
    if z is None or is_exact(category, other):
        return compute_fisher_p(category, other)
    return math.erfc(abs(z) / math.sqrt(2))


def compute_odds_ratio(category: Category, other: Category) -> OddsRatio:
    """Odds ratio with Woolf's interval."""
    if not category.rejected or not other.selected:
        empty = (
            f"nobody of {other.label} was selected"
            if category.rejected
            else f"everybody of {category.label} was selected"
        )
        return OddsRatio(reason=f"{empty}, so the odds ratio has no finite value")
    value = category.selected * other.rejected / (category.rejected * other.selected)
    if not category.selected or not other.rejected:
        empty = (
            f"everybody of {other.label} was selected"
            if category.selected
            else f"nobody of {category.label} was selected"
        )
        return OddsRatio(value, reason=f"{empty}, so the odds ratio has no interval")
    cells = (category.selected, category.rejected, other.selected, other.rejected)
    half = Z * math.sqrt(sum(1 / count for count in cells))
    return OddsRatio(value, value * math.exp(-half), value * math.exp(half))


def build_impact_row(
    category: Category, best: Category | None, *, is_small: bool = False, corrected_p: float | None = None
) -> Json:
    """Figures of a category compared with the `best` one, which has no comparison itself.

    `corrected_p` allows for the choice of the best among several. Shortfalls are further selections to four
    fifths of its rate (0 if it is there), and to its rate (below 0 beyond it).
    """
    row = (
        category.to_json()
        | compare_rates("impact_ratio", category, best)
        | dict.fromkeys(_COMPARISON_MEMBERS)
    )
    shortfall = 0
    if best is None or best == category:
        row["z_reason"] = row["impact_ratio_reason"]
    else:
        z = compute_z_score(category, best)
        who = "everybody" if category.selected else "nobody"
        names = f"{category.label} and {best.label}"
        odds = compute_odds_ratio(category, best)
        # In whole numbers: 0.8 has no exact binary form.
        needed = -(-4 * best.selected * category.applicants // (5 * best.applicants))
        shortfall = max(0, needed - category.selected)
        row |= {
            "z": z,
            "z_reason": f"{who} of {names} was selected, so rates do not vary" if z is None else None,
            "fisher_p": compute_fisher_p(category, best),
            "p_value": compute_p_value(category, best),
            "corrected_p": corrected_p,
            "odds_ratio": odds.value,
            "odds_ratio_low": odds.lower,
            "odds_ratio_high": odds.upper,
            "odds_ratio_reason": odds.reason,
            "shortfall_to_four_fifths": shortfall,
            "shortfall_to_parity": best.rate * category.applicants - category.selected,
        }
    flags = {
        Flag.BELOW_FOUR_FIFTHS: shortfall > 0,
        Flag.SIGNIFICANT: corrected_p is not None and corrected_p < SIGNIFICANCE_LEVEL,
        Flag.TOO_FEW: is_small,
        Flag.FLIPS_WITH_TWO: 0 < shortfall <= FURTHER_SELECTIONS,
    }
    return row | {"flags": [flag.value for flag, is_set in flags.items() if is_set]}


def list_large(table: CategoryTable) -> list[Category]:
    """Categories of at least `MIN_SHARE_OF_PEOPLE`."""
    least = MIN_SHARE_OF_PEOPLE * table.applicants
    return [category for category in table.categories if category.applicants >= least]


def compare_impact(table: CategoryTable) -> Iterator[Json]:
    """Yields each category compared with the large one of the highest rate.

    P-values allow for the choice of the highest: Holm's over all pairs that are not small. Those of small
    categories are Bonferroni's over all pairs.
    """
    large = list_large(table)
    best = find_highest_rate(large)
    p_values: dict[frozenset[Category | None], float] = {
        frozenset(pair): compute_p_value(*pair) for pair in combinations(large, 2)
    }
    pairs = sorted(p_values, key=p_values.__getitem__)
    raw = np.array([p_values[pair] for pair in pairs])
    corrected = np.maximum.accumulate(np.minimum(1.0, raw * np.arange(raw.size, 0, -1))).tolist()
    holm = dict(zip(pairs, corrected, strict=True))
    for category in table.categories:
        is_small = category not in large
        corrected_p = holm.get(frozenset({category, best}))
        if is_small and best is not None:
            corrected_p = min(1.0, math.comb(len(table.categories), 2) * compute_p_value(category, best))
        yield build_impact_row(category, best, is_small=is_small, corrected_p=corrected_p)


@frozen
class AuditTable:
    """Table of impact ratios to the `most_selected` category, None if all are excluded.

    The `impact_ratio` of a row is None if it is `excluded`, or if no included category was selected.
    """

    table: CategoryTable
    rows: Sequence[Json]
    most_selected: Category | None

    def describe(self, listed: Mapping[str, Sequence[str]]) -> Json:
        return {
            "attribute": self.table.comparison.label,
            "rows": self.rows,
            "unknown": self.table.unknown,
            "most_selected": self.most_selected and self.most_selected.label,
            "without_people": list_empty_categories(self.table, listed),
        }


@frozen
class AuditSheet:
    """Impact ratios by attribute and intersection. `unknown` people lack a value of one.

    A category must have `least_share` of all `assessed` people to be in the ratios.
    """

    tables: tuple[AuditTable, ...]
    assessed: int
    unknown: int
    least_share: float

    def to_json(self) -> Json:
        tables = [{"attribute": table.table.comparison.label, "rows": table.rows} for table in self.tables]
        return {"tables": tables, "unknown": self.unknown}


def audit_tables(
    tables: Sequence[CategoryTable], *, assessed: int, unknown: int, least_share: float = MIN_SHARE_OF_PEOPLE
) -> AuditSheet:
    """Computes impact ratios, without categories of less than `least_share` of the `assessed` people.

    The rule says "of the data being used for the bias audit": the same for each table, with unknown
    categories.
    """
    audits = []
    for table in tables:
        included = [
            category for category in table.categories if category.applicants >= least_share * assessed
        ]
        most_selected = find_highest_rate(included)
        highest = most_selected.rate if most_selected else 0.0
        rows = [
            category.to_json()
            | {
                "impact_ratio": category.rate / highest if category in included and highest else None,
                "excluded": category not in included,
            }
            for category in table.categories
        ]
        audits.append(AuditTable(table, rows, most_selected))
    return AuditSheet(tuple(audits), assessed, unknown, least_share)


def list_empty_categories(table: CategoryTable, listed: Mapping[str, Sequence[str]]) -> list[str]:
    """Categories without people: the `listed` ones, and those of the rule if an attribute has its names."""
    members = []
    for position, feature in enumerate(table.comparison.features):
        category_names = dict.fromkeys(
            (*(category.names[position] for category in table.categories), *listed.get(feature, ()))
        )
        rule_scheme = next(
            (scheme for scheme in AUDIT_SCHEMES if category_names and set(category_names) <= set(scheme)), ()
        )
        members.append(sorted({*category_names, *rule_scheme}))
    present = {category.names for category in table.categories}
    return [name_category(names) for names in product(*members) if names not in present]


def describe_impact(tables: Sequence[CategoryTable], unknown: int) -> Json:
    sheet: Json = {"tables": [], "unknown": unknown, "reason": None}
    for table in tables:
        best = find_highest_rate(list_large(table))
        sheet["tables"].append(
            {
                "attribute": table.comparison.label,
                "unknown": table.unknown,
                "compared_with": best and best.label,
                "rows": list(compare_impact(table)),
            }
        )
    return sheet


def compare_with_reference(sheet: Json, table: CategoryTable, reference: Category | None) -> None:
    """Adds to each row of an impact table the ratio to the reference.

    It is None in the row of the reference itself, and if there is none.
    """
    sheet["reference"] = reference.label if reference else None
    for category, row in zip(table.categories, sheet["rows"], strict=True):
        comparison = compare_rates("ratio_to_reference", category, reference)
        del comparison["ratio_to_reference_reason"]
        row.update(comparison)
