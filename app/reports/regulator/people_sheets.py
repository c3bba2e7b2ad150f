"""Sheets that count the people of a period.

First `make_…` functions, which give the data of a sheet, unrounded; then `write_…` functions, which give its
chapter, rounded.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import combinations

import numpy as np

from ...base.values import name_value
from ...domain.check import Span
from ...domain.groups import GroupWords
from ...domain.monitor import Comparison, Monitor
from ...statistics.group_labels import MISSING, cross_codes
from ...statistics.selections.category_people import (
    Category,
    CategoryTable,
    CountedPeople,
    RowMask,
    count_category,
    name_reference,
    select_reference,
)
from ...statistics.selections.controls_sheet import build_controls_sheet
from ...statistics.selections.four_fifths import (
    MIN_SHARE_OF_PEOPLE,
    audit_tables,
    compare_with_reference,
    describe_impact,
)
from ...statistics.selections.lending_sheet import build_bounds_sheet, build_lending_sheet
from ...statistics.sentences.figure_sentences import write_minus
from ..document import (
    ABSENT,
    Block,
    Json,
    Paragraph,
    ReportTable,
    build_caution,
    write_count,
    write_interval,
    write_number,
    write_p_value,
    write_share,
    write_share_interval,
)
from .attribute_names import order_for_audit
from .clauses import ToolKind
from .sheet_parts import MAX_ROWS, SheetParts, cut_table, say_cut, write_ends_or_dash, write_number_and_ends

MAX_PAIRED_ATTRIBUTES = 3
"""Attributes that are paired without combinations in the monitor, and that an audit combines."""

NO_SCORED_RECORDS = "no record of the period has a score"
AUDITED_DATA = (
    "Data: every decision of the tool that is in the log and lies between {start} and {end} UTC; the log may "
    "begin later or end earlier. The rule asks for an audit that is at most one year old when the tool is "
    "used, and for the source and the period of its data."
)
LONGER_THAN_A_YEAR = (
    "The period is longer than one year ({days:,} days), so that its oldest decisions are older than an "
    "audit under this rule may be. Choose a period of at most one year."
)

FLAG_WORDS = {
    "below_four_fifths": "below 4/5",
    "significant": "significant",
    "too_few": "under 2 %",
    "flips_with_two": "two more lift it to 4/5",
}
RATIO_END_NAMES = (("ratio_low", "ratio_high"), ("ratio_low_with_noise", "ratio_high_with_noise"))

SIGNIFICANCE = (
    "Significant: p < 0.05 with all pairs of categories allowed for (Holm), because the highest rate was "
    "chosen; by Fisher's exact test where there are few people, else by z."
)


def make_impact(parts: SheetParts) -> Json:
    """Rows of one attribute also have the ratio to its reference."""
    people = parts.people
    features = parts.order.attributes
    tables = [
        count_categories(people, comparison, people.is_assessed, people.is_selected)
        for comparison in list_comparisons_of(parts.monitor, features)
    ]
    sheet = describe_impact(tables, _count_unknown(people, features, people.is_assessed))
    for table, content in zip(tables, sheet["tables"], strict=True):
        compare_with_reference(content, table, _count_reference(people, table.comparison))
    return sheet


def make_audit(parts: SheetParts) -> Json:
    """Makes the sheet of Local Law 144: a table of each attribute, and one of all together.

    A table names the categories of the monitor also where nobody is of them. A scoring tool selects
    everybody above the median of the full sample, of unknown categories, too; a tie is not above.
    """
    people = parts.people
    order = parts.order
    span = parts.source.span
    features = order_for_audit(order.attributes, is_chosen=order.has_chosen_attributes)
    sheet = {"tables": [], "unknown": 0, "assessed": 0}
    assessed = people.is_assessed
    selected = people.is_selected
    median = reason = None
    if order.tool is ToolKind.SCORING:
        if people.scores is None:
            reason = people.no_scores
        elif np.isnan(people.scores).all():
            reason = NO_SCORED_RECORDS
        else:
            assessed = ~np.isnan(people.scores)
            median = float(np.median(np.repeat(people.scores[assessed], people.records[assessed])))
            # NaN is above no number.
            selected = people.scores > median
    if reason is None:
        comparisons = [Comparison((feature,)) for feature in features]
        if 1 < len(features) <= MAX_PAIRED_ATTRIBUTES:
            comparisons.append(Comparison(features))
        tables = [count_categories(people, comparison, assessed, selected) for comparison in comparisons]
        audit = audit_tables(
            tables, assessed=people.count(assessed), unknown=_count_unknown(people, features, assessed)
        )
        names = GroupWords.of(parts.monitor)
        mapped_attributes = {category.attribute for category in order.categories if category.values}
        labels = {
            attribute.feature: [
                names.label(attribute.feature, name_value(value)) for value in attribute.listed
            ]
            for attribute in parts.monitor.attributes
            if attribute.feature not in mapped_attributes
        }
        sheet = {
            "tables": [table.describe(labels) for table in audit.tables],
            "unknown": audit.unknown,
            "assessed": audit.assessed,
        }
    return sheet | {
        "tool": order.tool.value,
        "median_score": median,
        "reason": reason,
        "not_asked_for": [feature for feature in order.attributes if feature not in features],
        "data": AUDITED_DATA.format(start=f"{span.start:%Y-%m-%d %H:%M}", end=f"{span.end:%Y-%m-%d %H:%M}"),
        "caution": LONGER_THAN_A_YEAR.format(days=(span.end - span.start).days)
        if is_longer_than_a_year(span)
        else None,
    }


def _count_unknown(people: CountedPeople, features: Sequence[str], assessed: RowMask) -> int:
    is_missing = np.logical_or.reduce(
        [attribute.codes == MISSING for attribute in people.attributes if attribute.feature in features]
    )
    return people.count(is_missing & assessed)


def _count_reference(people: CountedPeople, comparison: Comparison) -> Category | None:
    if comparison.is_combination:
        return None
    attribute = people.get_attribute(comparison.features[0])
    reference = count_category(people, name_reference(attribute), select_reference(attribute))
    return reference if reference.applicants else None


def list_comparisons_of(monitor: Monitor, features: Sequence[str]) -> list[Comparison]:
    """Lists each attribute, and the monitor's combinations or else each pair of attributes.

    More than `MAX_PAIRED_ATTRIBUTES` are not paired.
    """
    intersections = [
        intersection for intersection in monitor.intersections if set(intersection) <= set(features)
    ]
    if not intersections and len(features) <= MAX_PAIRED_ATTRIBUTES:
        intersections = list(combinations(features, 2))
    return [Comparison((feature,)) for feature in features] + [
        Comparison(intersection) for intersection in intersections
    ]


def count_categories(
    people: CountedPeople, comparison: Comparison, assessed: RowMask, selected: RowMask
) -> CategoryTable:
    """Counts the people of each category; `assessed` and `selected` have a value for each row of `people`."""
    members = list(map(people.get_attribute, comparison.features))
    sizes = [len(member.labels) for member in members]
    codes = np.asarray(cross_codes([member.codes for member in members], sizes), dtype=np.int64)
    is_known = (codes != MISSING) & assessed
    total = int(np.prod(sizes))
    # Sums of floats, which are exact up to 2⁵³ people.
    applicants, selections = (
        np.bincount(codes[rows], people.records[rows], total).astype(int)
        for rows in (is_known, is_known & selected)
    )
    categories = []
    for position in np.flatnonzero(applicants).tolist():
        names = tuple(
            member.labels[int(code)]
            for member, code in zip(members, np.unravel_index(position, sizes), strict=True)
        )
        categories.append(Category(names, int(applicants[position]), int(selections[position])))
    return CategoryTable(comparison, tuple(categories), people.count(assessed & ~is_known))


def is_longer_than_a_year(span: Span) -> bool:
    """True if the span ends after the same day and hour of the next year."""
    last_day = span.end - timedelta.resolution
    # The year 4 has a 29 February.
    return (last_day.year - 1, last_day.replace(year=4)) >= (span.start.year, span.start.replace(year=4))


def make_lending(parts: SheetParts) -> Json:
    return build_lending_sheet(parts.people)


def make_bounds(parts: SheetParts) -> Json:
    return build_bounds_sheet(parts.people.bounds)


def make_controls(parts: SheetParts) -> Json:
    return build_controls_sheet(parts.people)


def build_impact_row(sheet: Json) -> Iterator[Block]:
    for table in sheet["tables"]:
        label = table["attribute"]
        rows = table["rows"]
        best = table["compared_with"]
        reference = table["reference"]
        if best is None:
            yield Paragraph(
                f"{label}: no category has at least 2 % of the people, so there is none to compare with."
            )
            continue
        cells = [
            (
                *_count_people(row),
                write_number(row["impact_ratio"]),
                _write_ends(row, "impact_ratio"),
                *((write_number(row["ratio_to_reference"]),) if reference else ()),
                ", ".join(FLAG_WORDS[flag] for flag in row["flags"]) or ABSENT,
            )
            for row in rows
        ]
        reference_note = f" To the reference: {reference}." if reference else ""
        note = (
            f"Ratio: to {best}, the highest rate among categories with at least 2 % of the "
            f"people.{reference_note}"
            f" {SIGNIFICANCE} Unknown category, in no row: {write_count(table['unknown'])}."
        )
        reference_column = ("To the reference",) if reference else ()
        columns = (
            label,
            "People",
            "Selected",
            "Rate",
            "Ratio",
            "95 % interval",
            *reference_column,
            "Remarks",
        )
        yield cut_table(f"Selection by {label}", columns, cells, note, is_last_wide=True)
        tested_rows = [row for row in rows if row["category"] != best]
        tests = [
            (
                row["category"],
                write_number(row["z"]),
                write_p_value(row["p_value"]),
                write_p_value(row["corrected_p"]),
                write_number(row["odds_ratio"]),
                _write_ends(row, "odds_ratio"),
                ABSENT
                if row["shortfall_to_four_fifths"] is None
                else write_count(row["shortfall_to_four_fifths"]),
                ABSENT
                if row["shortfall_to_parity"] is None
                else write_minus(f"{row['shortfall_to_parity']:,.1f}"),
            )
            for row in tested_rows[:MAX_ROWS]
        ]
        columns = (
            label,
            "z",
            "p",
            "p, all pairs",
            "Odds ratio",
            "95 % interval",
            "Short of 0.8",
            "Short of equal rates",
        )
        reasons = {
            row[name]
            for row in tested_rows
            for name in ("impact_ratio_reason", "z_reason", "odds_ratio_reason")
            if row[name]
        }
        yield ReportTable(f"Tests by {label}", columns, tests, ". ".join(sorted(reasons)) or None)


def write_audit(sheet: Json) -> Iterator[Block]:
    is_scoring = sheet["tool"] == ToolKind.SCORING
    if sheet["caution"]:
        yield build_caution(sheet["caution"])
    yield Paragraph(sheet["data"])
    if sheet["not_asked_for"]:
        yield Paragraph(f"Watched too, but not asked for by this rule: {', '.join(sheet['not_asked_for'])}.")
    if is_scoring:
        yield Paragraph(
            f"A scoring tool. The median score of the full sample is {sheet['median_score']:.10g}; a tie is "
            "not above it."
        )
    for table in sheet["tables"]:
        note = f"Unknown category, in no row: {write_count(table['unknown'])}."
        yield tabulate_audit(
            table,
            sheet["assessed"],
            MIN_SHARE_OF_PEOPLE,
            is_scoring=is_scoring,
            note=note,
            most_rows=MAX_ROWS,
        )


def tabulate_audit(
    table: Json,
    assessed: int,
    least_share: float,
    *,
    is_scoring: bool,
    note: str = "",
    most_rows: int | None = None,
) -> ReportTable:
    """`note` is continued by the category the ratios are taken to."""
    rows = [
        (*_count_people(row), "left out" if row["excluded"] else write_number(row["impact_ratio"]))
        for row in table["rows"][:most_rows]
    ]
    rows += [(name, "0", "0", ABSENT, "nobody of it") for name in table["without_people"][:MAX_ROWS]]
    share = f"less than {100 * least_share:g} % of the"
    if table["rows"] and table["most_selected"] is None:
        note += f" Every category has {share} people, so there are no ratios."
    elif table["rows"] and all(row["impact_ratio"] is None for row in table["rows"]):
        note += " Nobody of an included category was selected, so there are no ratios."
    elif table["rows"]:
        note += (
            f" Ratios are taken to {table['most_selected']}, the most selected of the included categories."
        )
    if any(row["excluded"] for row in table["rows"]):
        note += (
            f" Categories with {share} {write_count(assessed)} people of the data, unknown ones "
            "among them, are left out of the ratios; say why."
        )
    if most_rows is not None:
        note += say_cut(table["rows"])
    selection_columns = ("Above the median", "Scoring rate") if is_scoring else ("Selected", "Selection rate")
    return ReportTable(
        f"By {table['attribute']}",
        (table["attribute"], "People", *selection_columns, "Impact ratio"),
        rows,
        note.strip(),
    )


def write_lending(sheet: Json) -> Iterator[Block]:
    if sheet["no_scores"]:
        yield build_caution(f"Gaps in scores are missing: {sheet['no_scores']}.")
    for table in sheet["tables"]:
        label = table["attribute"]
        if table["reason"]:
            yield Paragraph(f"{label}: {table['reason']}.")
            continue
        rows = [
            (
                row["category"],
                write_count(row["applicants"]),
                write_share(row["rate"]),
                write_number(row["air"]),
                _write_ends(row, "air"),
                *_write_gap(row["score"]),
            )
            for row in table["rows"]
        ]
        controls = f"given {', '.join(sheet['controls'])}" if sheet["controls"] else "no control was chosen"
        note = (
            f"AIR: rate over that of the reference, {table['reference']}. SMD: mean score less the "
            "reference's, divided by the standard deviation of everybody's scores; within: by that within "
            f"the two categories. Residual: {controls}."
        )
        columns = (label, "People", "Rate", "AIR", "95 % interval", "SMD", "SMD within", "Residual SMD")
        yield ReportTable(f"Rates and scores by {label}", columns, rows, note)
        scored_rows = [row for row in table["rows"] if row["score"] and row["score"]["quantiles"]]
        if scored_rows:
            titles = (
                f"top {round(100 - 100 * quantile['quantile'])} %"
                for quantile in scored_rows[0]["score"]["quantiles"]
            )
            quantiles = [
                (
                    row["category"],
                    *(write_number(quantile["ratio"]) for quantile in row["score"]["quantiles"]),
                )
                for row in scored_rows
            ]
            note = (
                "Share with a score above the quantile of everybody's scores, over that of the "
                f"reference; a tie is not above. {ABSENT}: nobody of the reference is above."
            )
            yield ReportTable(f"AIR by quantile of the score, {label}", (label, *titles), quantiles, note)


def _write_gap(score: Json | None) -> tuple[str, str, str]:
    if score is None:
        return ABSENT, ABSENT, ABSENT
    gap = score["gap"]
    residual = score["residual"]
    return (
        _write_with_ends(gap, "smd"),
        write_number(gap["smd_within"]),
        ABSENT if residual is None else _write_with_ends(residual, "smd"),
    )


def write_controls(sheet: Json) -> Iterator[Block]:
    division_notes = "".join(f" {note}." for note in sheet["notes"])
    yield Paragraph(
        f"Controls: {', '.join(sheet['controls'])}.{division_notes} "
        "The common odds ratio of Mantel and Haenszel (M–H) compares within each combination of their "
        "values; the logit has one term for each value of each control. A control that is itself shaped by "
        "the attribute hides a difference instead of explaining it."
    )
    for table in sheet["tables"]:
        if not table["rows"]:
            yield Paragraph(f"{table['attribute']}: no two categories have people to compare.")
            continue
        rows = []
        notes = []
        for row in table["rows"]:
            pooled = row["mantel_haenszel"]
            logit = row["logit"]
            reasons = (pooled["reason"], pooled["homogeneity"]["reason"], logit["odds"]["reason"])
            notes += [f"{row['category']}: {reason}" for reason in dict.fromkeys(reasons) if reason]
            rows.append(
                (
                    row["category"],
                    write_number(row["crude"]["value"]),
                    _write_with_ends(pooled, "value"),
                    write_p_value(pooled["cmh"]["p_value"]),
                    write_p_value(pooled["homogeneity"]["p_value"]),
                    _write_with_ends(logit["odds"], "value"),
                    write_count(row["people"]),
                    write_count(pooled["left_out"]),
                )
            )
        columns = (
            "Category",
            "Odds ratio",
            "Common (M–H)",
            "CMH p",
            "Breslow–Day p",
            "Logit",
            "People",
            "Without information",
        )
        note = f"Odds of selection over those of {table['reference']}. {'. '.join(notes)}"
        yield ReportTable(f"Odds ratios by {table['attribute']}, given the controls", columns, rows, note)


def write_bounds(sheet: Json) -> Iterator[Block]:
    yield build_caution(sheet["caution"])
    for table in sheet["tables"]:
        rows = [
            (
                row["category"],
                f"{row['people']:,.1f}",
                write_share_interval(row["rate_low"], row["rate_high"]),
                *(
                    ABSENT if row[low] is None else write_interval(row[low], row[high])
                    for low, high in RATIO_END_NAMES
                ),
            )
            for row in table["rows"]
        ]
        reference = (
            f"to {table['reference']}" if table["reference"] else "none, because no reference is named"
        )
        reasons = "".join(f" {row['category']}: {row['reason']}." for row in table["rows"] if row["reason"])
        note = (
            f"People: sum of probabilities. Ratio: {reference}. With noise: 95 % limits of both ends."
            f" People without probabilities, in no row: {write_count(table['unknown'])}.{reasons}"
        )
        columns = ("Category", "People", "Rate between", "Ratio between", "With noise")
        yield ReportTable(f"Selection by {table['attribute']}, from probabilities", columns, rows, note)


def _count_people(row: Json) -> tuple[str, str, str, str]:
    return (
        row["category"],
        write_count(row["applicants"]),
        write_count(row["selected"]),
        write_share(row["rate"]),
    )


def _write_ends(row: Json, name: str) -> str:
    return write_ends_or_dash(row[f"{name}_low"], row[f"{name}_high"])


def _write_with_ends(figure: Json, name: str) -> str:
    return write_number_and_ends(figure[name], figure["lower"], figure["upper"])
