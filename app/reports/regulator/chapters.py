"""Chapters of a regulator's report, from its data alone, rounded."""

from collections.abc import Callable, Iterator, Sequence

from ...base.frozen import frozen
from ...charts.forest_headline import capitalise
from ...statistics.selections.local_law_144 import LEAST_SHARE
from ...statistics.sentences.left_out import list_lines
from ...statistics.sentences.rounding import write_minus
from ..document import (
    ABSENT,
    Block,
    Bullets,
    Json,
    Paragraph,
    ReportTable,
    Section,
    count,
    interval,
    number,
    p_value,
    share,
    share_interval,
)
from .check_chapters import (
    MOST_ROWS,
    add_ends,
    alert_blocks,
    alternative_blocks,
    evidence_blocks,
    flip_blocks,
    name_cut,
    show_ends,
)
from .cover import OF_PERIOD, count_checks


@frozen
class ReportTerm:
    """Term that these sheets use; without sheets every report does."""

    name: str
    meaning: str
    sheets: tuple[str, ...] = ()


TERMS = (
    ReportTerm("Favourable outcome", "an answer of the model that the monitor lists as good for the person."),
    ReportTerm(
        "Monitored, reference",
        "the groups that the monitor watches, and the group that they are compared with.",
    ),
    ReportTerm("Selection rate", "people with a favourable outcome, divided by all people of the category."),
    ReportTerm("95 % interval", "a range that holds the true value in about 95 of 100 such samples."),
    ReportTerm(
        "Ratio, impact ratio",
        "selection rate of a category, divided by the highest one among those that are large enough; 1 is "
        "equality.",
        ("adverse_impact", "ll144"),
    ),
    ReportTerm(
        "AIR",
        "adverse impact ratio: selection rate of a category, divided by that of the chosen reference.",
        ("lending",),
    ),
    ReportTerm(
        "z",
        "difference of two selection rates in standard deviations, with the pooled rate.",
        ("adverse_impact",),
    ),
    ReportTerm(
        "p; p, all pairs",
        "probability of rates at least as far apart if both are equal; of all pairs: with the choice of the "
        "highest allowed for (Holm).",
        ("adverse_impact",),
    ),
    ReportTerm(
        "Odds ratio",
        "odds of selection (selected : not selected) of a category, divided by those of the other one.",
        ("adverse_impact", "controls"),
    ),
    ReportTerm(
        "Short of 0.8, of equal rates",
        "further selections of the category that bring its ratio to four fifths, and to 1; below 0: it has "
        "more already.",
        ("adverse_impact",),
    ),
    ReportTerm(
        "SMD",
        "standardised mean difference: difference of two mean scores in standard deviations.",
        ("lending",),
    ),
    ReportTerm(
        "Residual SMD", "the part of it that is left between people with equal controls.", ("lending",)
    ),
    ReportTerm(
        "Mantel–Haenszel",
        "one odds ratio over all combinations of the controls, each compared within itself.",
        ("controls",),
    ),
    ReportTerm("CMH p", "p-value of the test that this common odds ratio is 1.", ("controls",)),
    ReportTerm(
        "Breslow–Day p",
        "p-value of the test that all combinations have the same odds ratio; if it is small, one number "
        "hides differences.",
        ("controls",),
    ),
    ReportTerm(
        "Logit",
        "odds ratio of a logistic regression with a term for each value of each control.",
        ("controls",),
    ),
    ReportTerm(
        "False-alarm budget",
        "how often, at most, all comparisons together raise an alarm on a model that is inside its limits "
        "in every hour.",
        ("alerts", "evidence"),
    ),
    ReportTerm(
        "Counterfactual, flip",
        "the model's answer for the same record with the attribute changed; a flip is another outcome.",
        ("flips",),
    ),
    ReportTerm(
        "Strength, level of chance",
        "association of two columns from 0 to 1, corrected for chance; the level that 95 of 100 shuffles of "
        "the records stay below.",
        ("indirect_bias",),
    ),
)


FLAGS = {
    "below_four_fifths": "below 4/5",
    "significant": "significant",
    "too_few": "under 2 %",
    "flips_with_two": "two more lift it to 4/5",
}
RATIO_ENDS = (("ratio_low", "ratio_high"), ("ratio_low_with_noise", "ratio_high_with_noise"))
COUNTED_OVER_THE_PERIOD = ("adverse_impact", "ll144", "lending", "probabilistic", "controls")

SIGNIFICANCE = (
    "Significant: p < 0.05 with all pairs of categories allowed for (Holm), because the highest rate was "
    "chosen; by Fisher's exact test"
    " where there are few people, else by z."
)


def chapters(data: Json) -> Iterator[Section]:
    yield population_section(data)
    for name, sheet in data["sheets"].items():
        window = (Paragraph(OF_PERIOD),) if name in COUNTED_OVER_THE_PERIOD and sheet["tables"] else ()
        yield Section(SHEETS[name].title, (*window, *SHEETS[name].blocks(sheet)))
    mapped = [describe_mapping(mapping) for mapping in data["categories"]]
    if mapped:
        yield Section(
            "Categories", (Paragraph("Values that a mapping does not name are unknown."), Bullets(mapped))
        )
    if data["preset"] is not None:
        yield missing_section(data)
    yield Section("What these figures cannot say", (Bullets(data["limits"]),))
    names = {name: SHEETS[name].name for name in data["sheets"]} | {
        "population": "who is in the report",
        "limits": "limits",
    }
    rows: list[tuple[str, ...]] = []
    for clause in data["clauses"]:
        chapters = [names[name] for name in clause["chapters"] if name in names]
        rows.append((clause["rule"], clause["place"], clause["state"], "; ".join(chapters) or "none"))
    columns = ("Rule", "Place", "State", "Chapters of this report")
    clauses = ReportTable("Rules, and what this report has for them", columns, rows, is_last_wide=True)
    yield Section("Clause map", (Paragraph(data["notice"], is_caution=True), clauses))
    terms = tuple(
        f"{term.name}: {term.meaning}"
        for term in TERMS
        if not term.sheets or data["sheets"].keys() & term.sheets
    )
    yield Section("Glossary", (Bullets(terms),))
    verified = (
        f"The chain has {count(count_checks(data))} checks and the configuration as it was when the report "
        "was made. Its last link is"
        f" {data['chain_head']}. `evenhand report verify FILE` of any form of this report computes it again "
        "from the database,"
        " and names a changed measurement, a deleted check and a changed configuration. It is no signature: "
        "somebody who can write to"
        " the database and to the file can change both."
    )
    yield Section("Hash chain", (Paragraph(verified),))


def missing_section(data: Json) -> Section:
    lacks = tuple(f"{capitalise(missing['what'])}. {missing['next_step']}" for missing in data["missing"])
    blocks: list[Block] = [Paragraph("The deployment lacks:"), Bullets(lacks)] if lacks else []
    blocks += [Paragraph("The rule also asks for, and no log holds:"), Bullets(data["elsewhere"])]
    return Section("What is missing for the rule", blocks)


def population_section(data: Json) -> Section:
    population, out = data["population"], data["population"]["not_in_report"]
    counted = (
        f"Records logged in the period: {count(population['logged'])}. In this report: "
        f"{count(population['in_report'])}, of which"
        f" {count(population['selected'])} with a favourable outcome "
        f"({', '.join(data['monitor']['favourable'])})."
    )
    lines = [
        counted,
        "A record is counted as one person; somebody with several records is counted several times.",
        (
            f"Without a ground-truth label: {count(population['without_label'])}. They are in the tables of "
            "selections, and in no accuracy."
        ),
    ]
    small = []
    for attribute in population["by_attribute"]:
        lines += [f"{attribute['attribute']}: {text}" for text in list_lines(attribute["records"])]
        if attribute["under_2_percent"]:
            small.append(f"{attribute['attribute']}: {', '.join(attribute['under_2_percent'])}")
    if population["sampling"] is not None:
        lines.append(describe_sampling(population["sampling"]))
    left_out = (
        ("Logged under another version of the schema", count(out["other_schema_version"])),
        ("Left out by a sender's sample", count(out["sampled_out"])),
    )
    if small:
        lines.append(
            "Under 2 % of the people, shown with their counts and left out of the choice of the highest "
            f"rate: {'; '.join(small)}."
        )
    revisions = tuple(
        (revision["model_revision"], count(revision["records"])) for revision in data["revisions"]
    )
    return Section(
        "Who is in this report, and who is not",
        (
            Bullets(lines),
            ReportTable("Not in the figures, in records", ("Why", "Records"), left_out),
            ReportTable("Model revisions within the period", ("Revision", "Records"), revisions),
        ),
    )


def describe_sampling(sampling: Json) -> str:
    low, high = f"{sampling['lowest_rate']:.4g}", f"{sampling['highest_rate']:.4g}"
    if sampling["is_unequal"]:
        return (
            f"Only shares of the traffic were logged, of {low} to {high}. Numbers of records are of "
            "those that were logged."
        )
    return (
        f"A share of {low} of the traffic was logged, so each record counts for about "
        f"{1 / sampling['lowest_rate']:,.4g} decisions. All"
        " numbers of people are of logged records; rates and ratios are estimates of those of all decisions."
    )


def impact_blocks(sheet: Json) -> Iterator[Block]:
    for table in sheet["tables"]:
        label, rows = table["attribute"], table["rows"]
        if table["compared_with"] is None:
            yield Paragraph(
                f"{label}: no category has at least 2 % of the people, so there is none to compare with."
            )
            continue
        cells = tuple(
            (
                *_count_people(row),
                number(row["impact_ratio"]),
                _ends(row, "impact_ratio"),
                *((number(row["ratio_to_reference"]),) if table["reference"] else ()),
                ", ".join(FLAGS[flag] for flag in row["flags"]) or ABSENT,
            )
            for row in rows[:MOST_ROWS]
        )
        against = f" To the reference: {table['reference']}." if table["reference"] else ""
        note = (
            f"Ratio: to {table['compared_with']}, the highest rate among categories with at least 2 % of "
            f"the people.{against}"
            f" {SIGNIFICANCE} Unknown category, in no row: {count(table['unknown'])}.{name_cut(rows)}"
        )
        of_reference = ("To the reference",) if table["reference"] else ()
        columns = (label, "People", "Selected", "Rate", "Ratio", "95 % interval", *of_reference, "Remarks")
        yield ReportTable(f"Selection by {label}", columns, cells, note, is_last_wide=True)
        compared = [row for row in rows if row["category"] != table["compared_with"]]
        tests = tuple(
            (
                row["category"],
                number(row["z"]),
                p_value(row["p_value"]),
                p_value(row["corrected_p"]),
                number(row["odds_ratio"]),
                _ends(row, "odds_ratio"),
                ABSENT if row["shortfall_to_four_fifths"] is None else count(row["shortfall_to_four_fifths"]),
                ABSENT
                if row["shortfall_to_parity"] is None
                else write_minus(f"{row['shortfall_to_parity']:,.1f}"),
            )
            for row in compared[:MOST_ROWS]
        )
        heads = (
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
            for row in compared
            for name in ("impact_ratio_reason", "z_reason", "odds_ratio_reason")
            if row[name]
        }
        yield ReportTable(f"Tests by {label}", heads, tests, ". ".join(sorted(reasons)) or None)


def audit_blocks(sheet: Json) -> Iterator[Block]:
    is_scoring = sheet["tool"] == "scoring"
    if sheet["caution"]:
        yield Paragraph(sheet["caution"], is_caution=True)
    yield Paragraph(sheet["data"])
    if sheet["not_asked_for"]:
        yield Paragraph(f"Watched too, but not asked for by this rule: {', '.join(sheet['not_asked_for'])}.")
    if is_scoring:
        yield Paragraph(
            f"A scoring tool. The median score of the full sample is {sheet['median_score']:.10g}; a tie is "
            "not above it."
        )
    for table in sheet["tables"]:
        rows: tuple[tuple[str, ...], ...] = tuple(
            (*_count_people(row), "left out" if row["excluded"] else number(row["impact_ratio"]))
            for row in table["rows"][:MOST_ROWS]
        )
        rows += list_empty_rows(table["without_people"])
        small = (
            f" {describe_left_out(sheet['assessed'])}"
            if any(row["excluded"] for row in table["rows"])
            else ""
        )
        best = describe_best(table["most_selected"], [row["impact_ratio"] for row in table["rows"]])
        note = (
            f"Unknown category, in no row: {count(table['unknown'])}.{best}{small}{name_cut(table['rows'])}"
        )
        last = ("Above the median", "Scoring rate") if is_scoring else ("Selected", "Selection rate")
        yield ReportTable(
            f"By {table['attribute']}", (table["attribute"], "People", *last, "Impact ratio"), rows, note
        )


def list_empty_rows(categories: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple((name, "0", "0", ABSENT, "nobody of it") for name in categories[:MOST_ROWS])


def describe_best(
    most_selected: str | None, ratios: Sequence[float | None], *, least_share: float = LEAST_SHARE
) -> str:
    """Category to which the ratios are taken, or why there are none; empty without categories."""
    if not ratios:
        return ""
    if most_selected is None:
        return f" Every category has less than {100 * least_share:g} % of the people, so there are no ratios."
    if all(ratio is None for ratio in ratios):
        return " Nobody of an included category was selected, so there are no ratios."
    return f" Ratios are taken to {most_selected}, the most selected of the included categories."


def describe_left_out(assessed: int, *, least_share: float = LEAST_SHARE) -> str:
    return (
        f"Categories with less than {100 * least_share:g} % of the {count(assessed)} people of the data, "
        "unknown ones among them, are left"
        " out of the ratios; say why."
    )


NO_RATIO = f"{ABSENT}: nobody of the reference is above."


def lending_blocks(sheet: Json) -> Iterator[Block]:
    if sheet["no_scores"]:
        yield Paragraph(f"Gaps in scores are missing: {sheet['no_scores']}.", is_caution=True)
    for table in sheet["tables"]:
        label = table["attribute"]
        if table["reason"]:
            yield Paragraph(f"{label}: {table['reason']}.")
            continue
        rows = tuple(
            (
                row["category"],
                count(row["applicants"]),
                share(row["rate"]),
                number(row["air"]),
                _ends(row, "air"),
                *_gap_cells(row["score"]),
            )
            for row in table["rows"]
        )
        controls = (
            f" Residual: given {', '.join(sheet['controls'])}."
            if sheet["controls"]
            else " Residual: no control was chosen."
        )
        note = (
            f"AIR: rate over that of the reference, {table['reference']}. SMD: mean score less the "
            "reference's, divided by the standard"
            f" deviation of everybody's scores; within: by that within the two categories.{controls}"
        )
        columns = (label, "People", "Rate", "AIR", "95 % interval", "SMD", "SMD within", "Residual SMD")
        yield ReportTable(f"Rates and scores by {label}", columns, rows, note)
        scored = [row for row in table["rows"] if row["score"] and row["score"]["quantiles"]]
        if scored:
            heads = tuple(
                f"top {round(100 - 100 * quantile['quantile'])} %"
                for quantile in scored[0]["score"]["quantiles"]
            )
            quantiles = tuple(
                (row["category"], *(number(quantile["ratio"]) for quantile in row["score"]["quantiles"]))
                for row in scored
            )
            note = (
                "Share with a score above the quantile of everybody's scores, over that of the "
                f"reference; a tie is not above. {NO_RATIO}"
            )
            yield ReportTable(f"AIR by quantile of the score, {label}", (label, *heads), quantiles, note)


def _gap_cells(score: Json | None) -> tuple[str, str, str]:
    if score is None:
        return ABSENT, ABSENT, ABSENT
    gap, residual = score["gap"], score["residual"]
    return (
        _with_ends(gap, "smd"),
        number(gap["smd_within"]),
        ABSENT if residual is None else _with_ends(residual, "smd"),
    )


def controls_blocks(sheet: Json) -> Iterator[Block]:
    divided = "".join(f" {note}." for note in sheet["notes"])
    yield Paragraph(
        f"Controls: {', '.join(sheet['controls'])}.{divided} The common odds ratio of Mantel and Haenszel "
        "(M–H) compares within each"
        " combination of their values; the logit has one term for each value of each control. A control "
        "that is itself shaped by the"
        " attribute hides a difference instead of explaining it."
    )
    for table in sheet["tables"]:
        if not table["rows"]:
            yield Paragraph(f"{table['attribute']}: no two categories have people to compare.")
            continue
        rows, notes = [], []
        for row in table["rows"]:
            pooled, logit, crude = row["mantel_haenszel"], row["logit"], row["crude"]
            reasons = [pooled["reason"], pooled["homogeneity"]["reason"], logit["odds"]["reason"]]
            notes += [f"{row['category']}: {reason}" for reason in dict.fromkeys(reasons) if reason]
            rows.append(
                (
                    *(row["category"], number(crude["value"])),
                    *(
                        _with_ends(pooled, "value"),
                        p_value(pooled["cmh"]["p_value"]),
                        p_value(pooled["homogeneity"]["p_value"]),
                    ),
                    *(_with_ends(logit["odds"], "value"), count(row["people"]), count(pooled["left_out"])),
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


def bounds_blocks(sheet: Json) -> Iterator[Block]:
    yield Paragraph(sheet["caution"], is_caution=True)
    for table in sheet["tables"]:
        rows = tuple(
            (
                *(
                    row["category"],
                    f"{row['people']:,.1f}",
                    share_interval(row["rate_low"], row["rate_high"]),
                ),
                *(ABSENT if row[low] is None else interval(row[low], row[high]) for low, high in RATIO_ENDS),
            )
            for row in table["rows"]
        )
        reference = (
            f"to {table['reference']}" if table["reference"] else "none, because no reference is named"
        )
        reasons = "".join(f" {row['category']}: {row['reason']}." for row in table["rows"] if row["reason"])
        note = (
            f"People: sum of probabilities. Ratio: {reference}. With noise: 95 % limits of both ends."
            f" People without probabilities, in no row: {count(table['unknown'])}.{reasons}"
        )
        columns = ("Category", "People", "Rate between", "Ratio between", "With noise")
        yield ReportTable(f"Selection by {table['attribute']}, from probabilities", columns, rows, note)


def indirect_blocks(sheet: Json) -> Iterator[Block]:
    even = "" if sheet["one_in"] == 1 else f", about one in {sheet['one_in']} of the period, evenly spread"
    yield Paragraph(
        "A column that goes together with an attribute, such as a postcode, can carry a difference into "
        "decisions although the model never"
        " sees the attribute. It may also be a legitimate reason: these figures do not tell. Strengths of "
        "association are from 0 to 1,"
        f" corrected for chance, of {count(sheet['records'])} records{even}. Columns that reveal an "
        "attribute only together are not found."
    )
    for table in sheet["tables"]:
        rows = tuple(
            (
                *(
                    row["column"],
                    "yes" if row["sent_to_model"] else "no",
                    number(row["strength"]),
                    number(row["chance_level"]),
                ),
                number(row["outcome_strength"]),
                row["reason"] or ("reveals it" if row["reveals"] else ABSENT),
            )
            for row in table["rows"][:MOST_ROWS]
        )
        columns = (
            "Column",
            "Sent to the model",
            "Strength",
            "Level of chance",
            "With the outcome",
            "Remarks",
        )
        note = (
            f"Reveals it: a strength above {sheet['limit']:g}, a small effect by convention, and above "
            f"chance.{name_cut(table['rows'])}"
        )
        yield ReportTable(
            f"Columns that go together with {table['attribute']}", columns, rows, note, is_last_wide=True
        )


def describe_mapping(mapping: Json) -> str:
    scheme = f", scheme {mapping['scheme']}" if mapping["scheme"] else ""
    of = mapping["values"] or mapping["weights"]
    named = ", ".join(f"{value} → {category}" for value, category in of.items())
    return (
        f"{mapping['attribute']}{scheme}: {'values' if mapping['values'] else 'columns of weights'} {named}."
    )


@frozen
class SheetChapter:
    title: str
    name: str
    write: Callable[[Json], Iterator[Block]]
    absent: str = "There are no figures"
    is_caution: bool = False

    def blocks(self, sheet: Json) -> Iterator[Block]:
        if sheet.get("reason"):
            yield Paragraph(f"{self.absent}: {sheet['reason']}.", is_caution=self.is_caution)
        else:
            yield from self.write(sheet)


SHEETS = {
    "adverse_impact": SheetChapter("Adverse impact", "adverse impact", impact_blocks, is_caution=True),
    "ll144": SheetChapter(
        "Local Law 144: impact ratios",
        "impact ratios",
        audit_blocks,
        absent="There is no sheet",
        is_caution=True,
    ),
    "lending": SheetChapter(
        "Lending: rates and scores next to the reference", "lending", lending_blocks, is_caution=True
    ),
    "probabilistic": SheetChapter("Probabilistic categories", "probabilistic categories", bounds_blocks),
    "controls": SheetChapter("Given the controls", "controls", controls_blocks),
    "evidence": SheetChapter("Evidence over time", "evidence", evidence_blocks),
    "alerts": SheetChapter("Alerts, and who acknowledged what", "alerts", alert_blocks),
    "flips": SheetChapter("Counterfactual flips", "flips", flip_blocks),
    "alternative": SheetChapter(
        "Less discriminatory alternative: before and after mitigation",
        "less discriminatory alternative",
        alternative_blocks,
    ),
    "indirect_bias": SheetChapter(
        "Indirect bias: columns that reveal an attribute", "indirect bias", indirect_blocks, is_caution=True
    ),
}


def _count_people(row: Json) -> tuple[str, str, str, str]:
    return row["category"], count(row["applicants"]), count(row["selected"]), share(row["rate"])


def _ends(row: Json, name: str) -> str:
    return show_ends(row[f"{name}_low"], row[f"{name}_high"])


def _with_ends(figure: Json, name: str) -> str:
    return add_ends(number(figure[name]), show_ends(figure["lower"], figure["upper"]))
