"""Facts on the period for the cover, and sentences on the records of each figure."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime

import msgspec

from ...base.values import frozen
from ...statistics.e_values.state_words import capitalise
from ...statistics.sentences.left_out import list_lines
from ..document import Block, Bullets, Fact, FirstPage, Json, Made, Paragraph, ReportTable, Section, count
from .clauses import RuleClause
from .sheets import PRESETS, PeriodSheet


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


def chapters(data: Json) -> Iterator[Section]:
    yield population_section(data)
    sheets = {sheet: data["sheets"][sheet] for sheet in PeriodSheet if sheet in data["sheets"]}
    for sheet, content in sheets.items():
        notes = (Paragraph(OF_PERIOD),) if sheet.row.counts_people and content["tables"] else ()
        yield sheet.row.chapter(content, *notes)
    mapped = [describe_mapping(mapping) for mapping in data["categories"]]
    if mapped:
        yield Section(
            "Categories", (Paragraph("Values that a mapping does not name are unknown."), Bullets(mapped))
        )
    if data["preset"] is not None:
        lacks = [f"{capitalise(missing['what'])}. {missing['next_step']}" for missing in data["missing"]]
        blocks: list[Block] = [Paragraph("The deployment lacks:"), Bullets(lacks)] if lacks else []
        blocks += [Paragraph("The rule also asks for, and no log holds:"), Bullets(data["elsewhere"])]
        yield Section("What is missing for the rule", blocks)
    yield Section("What these figures cannot say", (Bullets(data["limits"]),))
    yield Section("Clause map", (clause_table(data, sheets),))
    terms = [
        f"{term.name}: {term.meaning}" for term in TERMS if not term.sheets or sheets.keys() & term.sheets
    ]
    yield Section("Glossary", (Bullets(terms),))
    verified = (
        f"The chain has {count(count_checks(data))} checks and the configuration as it was when the report "
        f"was made. Its last link is {data['chain_head']}. `evenhand report verify FILE` of any form of this "
        "report computes it again from the database, and names a changed measurement, a deleted check and a "
        "changed configuration. It is no signature: somebody who can write to the database and to the file "
        "can change both."
    )
    yield Section("Hash chain", (Paragraph(verified),))


def clause_table(data: Json, sheets: Collection[PeriodSheet]) -> ReportTable:
    clauses = msgspec.convert(data["clauses"], list[RuleClause])
    rules = {clause.id: clause.rule for clause in clauses}
    day = datetime.fromisoformat(data["made"]["at"]).date()
    in_report = {"chapter:population", "chapter:limits", *(f"sheet:{sheet}" for sheet in sheets)}
    in_report.add(f"preset:{data['preset']}")
    rows = []
    for clause in clauses:
        here = [name for name in clause.answered_by if name in in_report]
        elsewhere = [name for name in clause.answered_by if name not in in_report]
        rows.append(
            (
                f"{clause.rule}: {clause.clause}",
                clause.describe_state(day, rules),
                "; ".join(map(name_answer, here)) or "–",
                "; ".join(map(name_answer, elsewhere)) or "–",
                "; ".join(clause.not_answered) or "–",
                f"{clause.wording} Open: {clause.open}." if clause.open else clause.wording,
            )
        )
    return ReportTable(
        "Rules, what answers them, and what does not",
        (
            "Rule and clause",
            "State",
            "In this report",
            "In the product, not in this report",
            "Not answered",
            "What it says",
        ),
        rows,
        note=data["notice"],
    )


_ANSWERS = {
    "chapter:population": "who is in the report",
    "chapter:limits": "limits",
    **{f"sheet:{sheet}": sheet.row.name for sheet in PeriodSheet},
    **{f"preset:{name}": f"preset {preset.title}" for name, preset in PRESETS.items()},
}


def name_answer(answer: str) -> str:
    """`lending` of `sheet:lending`, `API listAlerts` of `api:listAlerts`."""
    kind, _, name = answer.partition(":")
    unlisted = {"api": f"API {name}", "command": name, "retention": f"retention preset {name}"}
    return _ANSWERS.get(answer) or unlisted[kind]


def population_section(data: Json) -> Section:
    population = data["population"]
    out = data["population"]["not_in_report"]
    counted = (
        f"Records logged in the period: {count(population['logged'])}. In this report: "
        f"{count(population['in_report'])}, of which {count(population['selected'])} with a favourable "
        f"outcome ({', '.join(data['monitor']['favourable'])})."
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
    revisions = [(revision["model_revision"], count(revision["records"])) for revision in data["revisions"]]
    return Section(
        "Who is in this report, and who is not",
        (
            Bullets(lines),
            ReportTable("Not in the figures, in records", ("Why", "Records"), left_out),
            ReportTable("Model revisions within the period", ("Revision", "Records"), revisions),
        ),
    )


def describe_sampling(sampling: Json) -> str:
    low = f"{sampling['lowest_rate']:.4g}"
    high = f"{sampling['highest_rate']:.4g}"
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


def describe_mapping(mapping: Json) -> str:
    scheme = f", scheme {mapping['scheme']}" if mapping["scheme"] else ""
    of = mapping["values"] or mapping["weights"]
    named = ", ".join(f"{value} → {category}" for value, category in of.items())
    return (
        f"{mapping['attribute']}{scheme}: {'values' if mapping['values'] else 'columns of weights'} {named}."
    )


NOT_OVER = (
    "The period was not over when this report was made: records and checks that come later are not in it."
)
SOURCE = (
    "the log of the model's decisions in Evenhand: every record of the period, and the checks that ran "
    "on them"
)

_MOST_REVISIONS = 4
"""Max model revisions that the cover names."""

WINDOWS = (
    "Figures of this page are of the hours that were checked, with the newest model revision and monitor "
    "version; without such hours, of the newest check. The tables of people in the annex count every "
    "record of the period and all its model revisions, as logged, so their figures for the same group may "
    "differ from these."
)
OF_PERIOD = "Every record of the period counts, of all model revisions, checked or not."


def count_checks(data: Json) -> int:
    return sum(1 for link in data["chain"] if link["part"].startswith("check "))


def extend_cover(first: FirstPage, data: Json, origin: Made) -> FirstPage:
    facts = [
        replace(fact, name="Records of the check") if fact.name == "Population" else fact
        for fact in first.facts
    ]
    is_over = datetime.fromisoformat(data["period"]["end"]) <= origin.at
    of_audit = data["sheets"].get("ll144", {}).get("caution")
    return replace(
        first,
        facts=(*list_cover_facts(data), *facts),
        cautions=(*first.cautions, *filter(None, (of_audit, None if is_over else NOT_OVER))),
        notes=first.notes if first.group is None else (WINDOWS, *first.notes),
    )


def list_cover_facts(data: Json) -> Iterator[Fact]:
    deployment = data["deployment"]
    population = data["population"]
    yield Fact("Purpose", deployment["purpose"] or "not stated in the deployment's settings")
    yield Fact("Owner", deployment["owner"] or "nobody is named in the deployment's settings")
    named = [
        f"{revision['model_revision']} ({count(revision['records'])} records)"
        for revision in data["revisions"][:_MOST_REVISIONS]
    ]
    remaining = len(data["revisions"]) - len(named)
    revisions = ", ".join(named) + (f" and {remaining} more" if remaining > 0 else "")
    yield Fact("Model revisions", revisions or "none: no record was logged in the period")
    logged, counted, chosen = (count(population[name]) for name in ("logged", "in_report", "selected"))
    yield Fact(
        "Population",
        f"{logged} records logged in the period; {counted} in this report, {chosen} with a favourable "
        "outcome",
    )
    yield Fact("Not in the figures", "; ".join(list_left_out(population)) or "nobody that is known of")
    yield Fact("Source", SOURCE)
    yield Fact("Software", data["software"])
    yield Fact(
        "Hash chain", f"{data['chain_head']}, over {count(count_checks(data))} checks and the configuration"
    )


def list_left_out(population: Json) -> Iterator[str]:
    for name, text in _LEFT_OUT.items():
        if records := population["not_in_report"][name]:
            yield f"{count(records)} {text}"
    for counted in population["by_attribute"]:
        yield f"{counted['attribute']}: {counted['records']['text'].rstrip('.')}"
        if counted["under_2_percent"]:
            names = ", ".join(counted["under_2_percent"])
            yield (
                f"{names} ({counted['attribute']}, under 2 %: shown, but not in the choice of the highest "
                "rate)"
            )
    if population["without_label"]:
        yield f"{count(population['without_label'])} without a label (in no accuracy)"


_LEFT_OUT = {
    "other_schema_version": "logged under another version of the schema",
    "sampled_out": "left out by a sender's sample",
}
