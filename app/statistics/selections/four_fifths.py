"""The four-fifths rule of the Uniform Guidelines (29 CFR 1607.4 D), its tests, and odds ratios (Woolf's
interval); impact ratios as New York City's Local Law 144 asks for them (6 RCNY 5-300 to 5-304).

The impact ratio is a category's selection rate over that of the most selected included category. For a tool
that scores, the rate is the share above the median score of the whole sample. A category with less than 2 %
of the data may be left out of the ratios; its count and rate are shown.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import combinations, product

import numpy as np

from ...base.values import frozen
from ..intervals.intervals import Z, log_ratio
from .category_people import SCHEMES, Category, CategoryTable, Json, highest_rate, name_category

SIGNIFICANT = 0.05
"""Two standard deviations."""

FEW_PEOPLE, FEW_EXPECTED = 30, 5
"""People of both categories, and expected people of a cell, below which Fisher's test replaces the z test."""

FURTHER = 2
"""Further selections by which the guidelines ask whether the finding changes (Questions and Answers, 21)."""


class Flag(StrEnum):
    BELOW_FOUR_FIFTHS = "below_four_fifths"
    SIGNIFICANT = "significant"
    TOO_FEW = "too_few"
    FLIPS_WITH_TWO = "flips_with_two"


@frozen
class OddsRatio:
    """Numbers are None with a `reason` where a cell is empty."""

    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class ImpactRow:
    """The category compared with has no comparison itself.

    `corrected_p` allows for the choice of the other among several.
    """

    category: Category
    compared_with: Category | None
    is_small: bool = False
    corrected_p: float | None = None

    @property
    def _other(self) -> Category | None:
        return None if self.compared_with == self.category else self.compared_with

    @cached_property
    def ratio(self) -> float | None:
        """None without another, or if nobody of it was selected."""
        compared = self._other
        return self.category.rate / compared.rate if compared and compared.selected else None

    @property
    def ratio_reason(self) -> str | None:
        if not self.compared_with:
            return (
                f"every category has less than {100 * LEAST_SHARE:g} % of the people, so there is none "
                "to compare with"
            )
        if not self._other:
            return "the category that others are compared with"
        return (
            None
            if self._other.selected
            else f"nobody of {self._other.label} was selected, so there is no ratio"
        )

    @property
    def z_reason(self) -> str | None:
        if not self._other:
            return self.ratio_reason
        names = f"{self.category.label} and {self._other.label}"
        who = "everybody" if self.category.selected else "nobody"
        return f"{who} of {names} was selected, so rates do not vary" if self.z is None else None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """95 %; None for an open end, or without a ratio."""
        compared = self._other
        if not (compared and compared.selected):
            return None, None
        lower, upper, _ = log_ratio(
            self.category.selected, self.category.applicants, compared.selected, compared.applicants
        )
        return lower, upper if math.isfinite(upper) else None

    @cached_property
    def z(self) -> float | None:
        """Pooled rate; None if all or none of both were selected."""
        compared = self._other
        if not compared:
            return None
        pooled = (self.category.selected + compared.selected) / (
            self.category.applicants + compared.applicants
        )
        if pooled in {0, 1}:
            return None
        return (self.category.rate - compared.rate) / math.sqrt(
            pooled * (1 - pooled) * (1 / self.category.applicants + 1 / compared.applicants)
        )

    @cached_property
    def fisher_p(self) -> float | None:
        category = self.category
        compared = self._other
        if not compared:
            return None
        from scipy.stats import fisher_exact  # noqa: PLC0415 - scipy.stats takes a second to import

        return min(
            1.0,
            float(
                fisher_exact(
                    [[category.selected, category.rejected], [compared.selected, compared.rejected]]
                ).pvalue
            ),
        )

    @cached_property
    def odds_ratio(self) -> OddsRatio | None:
        category = self.category
        compared = self._other
        if not compared:
            return None
        cells = (
            (category.rejected, f"everybody of {category.label}"),
            (compared.selected, f"nobody of {compared.label}"),
            (category.selected, f"nobody of {category.label}"),
            (compared.rejected, f"everybody of {compared.label}"),
        )
        empty = next((people for count, people in cells if not count), None)
        if not category.rejected or not compared.selected:
            return OddsRatio(reason=f"{empty} was selected, so the odds ratio has no finite value")
        value = category.selected * compared.rejected / (category.rejected * compared.selected)
        if empty:
            return OddsRatio(value, reason=f"{empty} was selected, so the odds ratio has no interval")
        half = Z * math.sqrt(math.fsum(1 / count for count, _ in cells))
        return OddsRatio(value, value * math.exp(-half), value * math.exp(half))

    @property
    def is_exact(self) -> bool:
        """Whether Fisher's test decides, because there are few people."""
        compared = self._other
        if not compared:
            return False
        everybody = self.category.applicants + compared.applicants
        selected = self.category.selected + compared.selected
        expected = (
            min(self.category.applicants, compared.applicants)
            * min(selected, everybody - selected)
            / everybody
        )
        return everybody < FEW_PEOPLE or expected < FEW_EXPECTED

    @property
    def p_value(self) -> float | None:
        if self.is_exact or self.z is None:
            return self.fisher_p
        return math.erfc(abs(self.z) / math.sqrt(2))

    @property
    def shortfall_to_parity(self) -> float | None:
        """Further selections to the other's rate; below 0 beyond it."""
        return self._other.rate * self.category.applicants - self.category.selected if self._other else None

    @property
    def shortfall_to_four_fifths(self) -> int | None:
        """Further selections that bring the ratio to four fifths; 0 if it is there."""
        compared = self._other
        if not compared:
            return None
        # In whole numbers: 0.8 has no exact binary form.
        needed = -(-4 * compared.selected * self.category.applicants // (5 * compared.applicants))
        return max(0, needed - self.category.selected)

    @property
    def flags(self) -> tuple[Flag, ...]:
        flags = []
        further = self.shortfall_to_four_fifths
        if further:
            flags.append(Flag.BELOW_FOUR_FIFTHS)
        if self.corrected_p is not None and self.corrected_p < SIGNIFICANT:
            flags.append(Flag.SIGNIFICANT)
        if self.is_small:
            flags.append(Flag.TOO_FEW)
        if further and further <= FURTHER:
            flags.append(Flag.FLIPS_WITH_TWO)
        return tuple(flags)


@dataclass(frozen=True)
class ImpactTable:
    """Each compared with the category of the highest rate."""

    table: CategoryTable

    @cached_property
    def large(self) -> list[Category]:
        return [
            category
            for category in self.table.categories
            if category.applicants >= LEAST_SHARE * self.table.applicants
        ]

    @property
    def compared_with(self) -> Category | None:
        return highest_rate(self.large)

    @property
    def rows(self) -> Iterator[ImpactRow]:
        """P-values allow for the choice of the highest: Holm's over all pairs that are not small.

        Those of small categories are Bonferroni's over all pairs.
        """
        best = self.compared_with
        large = self.large
        pairs = sorted(
            (ImpactRow(*pair) for pair in combinations(large, 2)), key=lambda row: row.p_value or 0.0
        )
        raw = np.array([row.p_value or 0.0 for row in pairs])
        corrected = np.maximum.accumulate(np.minimum(1.0, raw * np.arange(raw.size, 0, -1))).tolist()
        holm = dict(
            zip((frozenset((row.category, row.compared_with)) for row in pairs), corrected, strict=True)
        )
        for category in self.table.categories:
            row = ImpactRow(category, best, category not in large)
            p_value = holm.get(frozenset((category, best)))
            if row.is_small and row.p_value is not None:
                p_value = min(1.0, math.comb(len(self.table.categories), 2) * row.p_value)
            yield replace(row, corrected_p=p_value)


LEAST_SHARE = 0.02
"""Below, a category may be left out (6 RCNY 5-301 d)."""


RULE_SCHEMES = (SCHEMES["sex"], SCHEMES["eeo-1"])
"""6 RCNY 5-301, by the form EEO-1."""


@frozen
class AuditRow:
    """`impact_ratio` is None if it `is_excluded`, or if no included category was selected."""

    category: Category
    impact_ratio: float | None
    is_excluded: bool


@frozen
class AuditTable:
    """Ratios are to the `most_selected`, None if all are excluded."""

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
                impact_ratio=category.rate / most_selected.rate
                if category in included and most_selected and most_selected.rate
                else None,
                is_excluded=category not in included,
            )
            for category in table.categories
        ]
        audits.append(AuditTable(table, tuple(rows), most_selected))
    return AuditSheet(tuple(audits), assessed, unknown, least_share)


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


@frozen
class ImpactSheet:
    tables: tuple[ImpactTable, ...]
    unknown: int


Sheet = AuditSheet | ImpactSheet


def as_json(sheet: Sheet) -> Json:
    if isinstance(sheet, AuditSheet):
        audits = [
            {
                "attribute": audit_table.table.comparison.label,
                "rows": [
                    row.category.to_json() | {"impact_ratio": row.impact_ratio, "excluded": row.is_excluded}
                    for row in audit_table.rows
                ],
            }
            for audit_table in sheet.tables
        ]
        return {"tables": audits, "unknown": sheet.unknown}
    tables = [
        {
            "attribute": impact_table.table.comparison.label,
            "unknown": impact_table.table.unknown,
            "compared_with": impact_table.compared_with.label if impact_table.compared_with else None,
            "rows": [_impact_row(row) for row in impact_table.rows],
        }
        for impact_table in sheet.tables
    ]
    return {"tables": tables, "unknown": sheet.unknown, "reason": None}


def compare_with_reference(written: Json, table: CategoryTable, reference: Category | None) -> None:
    """Adds to each row the ratio to it; None without one, or of the reference."""
    written["reference"] = reference.label if reference else None
    for category, row in zip(table.categories, written["rows"], strict=True):
        against = ImpactRow(category, reference)
        low, high = against.ends
        row |= {
            "ratio_to_reference": against.ratio,
            "ratio_to_reference_low": low,
            "ratio_to_reference_high": high,
        }


def _impact_row(row: ImpactRow) -> Json:
    odds, (low, high) = row.odds_ratio or OddsRatio(), row.ends
    return row.category.to_json() | {
        "impact_ratio": row.ratio,
        "impact_ratio_low": low,
        "impact_ratio_high": high,
        "impact_ratio_reason": row.ratio_reason,
        "z": row.z,
        "z_reason": row.z_reason,
        "fisher_p": row.fisher_p,
        "p_value": row.p_value,
        "corrected_p": row.corrected_p,
        "odds_ratio": odds.value,
        "odds_ratio_low": odds.lower,
        "odds_ratio_high": odds.upper,
        "odds_ratio_reason": odds.reason,
        "shortfall_to_four_fifths": row.shortfall_to_four_fifths,
        "shortfall_to_parity": row.shortfall_to_parity,
        "flags": [str(flag) for flag in row.flags],
    }
