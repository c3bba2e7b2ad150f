"""Cover of a report on a period, and the chapters of its annex that are the same for every sheet."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from importlib.resources import files

import msgspec

from ...base.values import frozen
from ...statistics.e_values.state_words import capitalise
from ...statistics.sentences.left_out import list_lines
from ..document import (
    Block,
    Bullets,
    Fact,
    FirstPage,
    Json,
    Paragraph,
    ReportStamp,
    ReportTable,
    Section,
    write_count,
)
from ..sections.configuration_sections import shorten_names
from .clauses import CLAUSES
from .sheets import PRESETS, PeriodSheet

_NOT_OVER_CAUTION = (
    "The period was not over when this report was made: records and checks that come later are not in it."
)
_RECORDS_SOURCE = (
    "the log of the model's decisions in Evenhand: every record of the period, and the checks that ran "
    "on them"
)

_MAX_REVISIONS = 4
"""Model revisions that the cover names."""

_CHECKED_HOURS_NOTE = (
    "Figures of this page are of the hours that were checked, with the newest model revision and monitor "
    "version; without such hours, of the newest check. The tables of people in the annex count every "
    "record of the period and all its model revisions, as logged, so their figures for the same group may "
    "differ from these."
)
_LEFT_OUT_WORDS = {
    "other_schema_version": "logged under another version of the schema",
    "sampled_out": "left out by a sender's sample",
}
WHOLE_PERIOD_NOTE = "Every record of the period counts, of all model revisions, checked or not."


@frozen
class ReportTerm:
    """Term of the glossary; without `sheets` every report uses it."""

    name: str
    meaning: str
    sheets: tuple[str, ...] = ()


GLOSSARY = msgspec.json.decode(
    (files(__package__) / "glossary.json").read_bytes(), type=tuple[ReportTerm, ...]
)


def list_chapters(data: Json) -> Iterator[Section]:
    yield write_population(data)
    sheets = {sheet: data["sheets"][sheet] for sheet in PeriodSheet if sheet in data["sheets"]}
    for sheet, content in sheets.items():
        notes = (Paragraph(WHOLE_PERIOD_NOTE),) if sheet.row.counts_people and content["tables"] else ()
        yield sheet.row.write_chapter(content, *notes)
    mappings = [describe_mapping(mapping) for mapping in data["categories"]]
    if mappings:
        yield Section(
            "Categories", (Paragraph("Values that a mapping does not name are unknown."), Bullets(mappings))
        )
    if data["preset"] is not None:
        blocks: list[Block] = []
        if data["missing"]:
            steps = [f"{capitalise(part['what'])}. {part['next_step']}" for part in data["missing"]]
            blocks += [Paragraph("The deployment lacks:"), Bullets(steps)]
        blocks += [Paragraph("The rule also asks for, and no log holds:"), Bullets(data["elsewhere"])]
        yield Section("What is missing for the rule", blocks)
    yield Section("What these figures cannot say", (Bullets(data["limits"]),))
    yield Section("Clause map", (tabulate_clauses(data, sheets),))
    terms = [
        f"{term.name}: {term.meaning}" for term in GLOSSARY if not term.sheets or sheets.keys() & term.sheets
    ]
    yield Section("Glossary", (Bullets(terms),))
    chain_words = (
        f"The chain has {write_count(count_checks(data))} checks and the configuration as it was when the "
        f"report was made. Its last link is {data['chain_head']}. `evenhand report verify FILE` of any "
        "form of this "
        "report computes it again from the database, and names a changed measurement, a deleted check and a "
        "changed configuration. It is no signature: somebody who can write to the database and to the file "
        "can change both."
    )
    yield Section("Hash chain", (Paragraph(chain_words),))


_ANSWER_NAMES = {
    "chapter:population": "who is in the report",
    "chapter:limits": "limits",
    **{f"sheet:{sheet}": sheet.row.title for sheet in PeriodSheet},
    **{f"preset:{name}": f"preset {preset.title}" for name, preset in PRESETS.items()},
}


def tabulate_clauses(data: Json, sheets: Collection[PeriodSheet]) -> ReportTable:
    rules = {clause.id: clause.rule for clause in CLAUSES}
    day = datetime.fromisoformat(data["made"]["at"]).date()
    answered = {"chapter:population", "chapter:limits", *(f"sheet:{sheet}" for sheet in sheets)}
    answered.add(f"preset:{data['preset']}")
    rows = []
    for clause in CLAUSES:
        here = [name_answer(name) for name in clause.answered_by if name in answered]
        elsewhere = [name_answer(name) for name in clause.answered_by if name not in answered]
        rows.append(
            (
                f"{clause.rule}: {clause.clause}",
                clause.describe_state(day, rules),
                "; ".join(here) or "–",
                "; ".join(elsewhere) or "–",
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


def name_answer(answer: str) -> str:
    kind, _, name = answer.partition(":")
    names_by_kind = {"api": f"API {name}", "command": name, "retention": f"retention preset {name}"}
    return _ANSWER_NAMES.get(answer) or names_by_kind[kind]


def write_population(data: Json) -> Section:
    population = data["population"]
    count_words = (
        f"Records logged in the period: {write_count(population['logged'])}. In this report: "
        f"{write_count(population['in_report'])}, of which {write_count(population['selected'])} with a "
        f"favourable outcome ({', '.join(data['monitor']['favourable'])})."
    )
    lines = [
        count_words,
        "A record is counted as one person; somebody with several records is counted several times.",
        (
            f"Without a ground-truth label: {write_count(population['without_label'])}. They are in the "
            "tables of selections, and in no accuracy."
        ),
    ]
    small_categories = []
    for attribute in population["by_attribute"]:
        lines += [f"{attribute['attribute']}: {text}" for text in list_lines(attribute["records"])]
        if attribute["under_2_percent"]:
            small_categories.append(f"{attribute['attribute']}: {', '.join(attribute['under_2_percent'])}")
    if population["sampling"] is not None:
        lines.append(describe_sampling(population["sampling"]))
    if small_categories:
        lines.append(
            "Under 2 % of the people, shown with their counts and left out of the choice of the highest "
            f"rate: {'; '.join(small_categories)}."
        )
    left_out = [
        (capitalise(text), write_count(population["not_in_report"][name]))
        for name, text in _LEFT_OUT_WORDS.items()
    ]
    revisions = [
        (revision["model_revision"], write_count(revision["records"])) for revision in data["revisions"]
    ]
    return Section(
        "Who is in this report, and who is not",
        (
            Bullets(lines),
            ReportTable("Not in the figures, in records", ("Why", "Records"), left_out),
            ReportTable("Model revisions within the period", ("Revision", "Records"), revisions),
        ),
    )


def describe_sampling(sampling: Json) -> str:
    lowest = f"{sampling['lowest_rate']:.4g}"
    highest = f"{sampling['highest_rate']:.4g}"
    if sampling["is_unequal"]:
        return (
            f"Only shares of the traffic were logged, of {lowest} to {highest}. Numbers of records are of "
            "those that were logged."
        )
    return (
        f"A share of {lowest} of the traffic was logged, so each record counts for about "
        f"{1 / sampling['lowest_rate']:,.4g} decisions. All numbers of people are of logged records; rates "
        "and ratios are estimates of those of all decisions."
    )


def describe_mapping(mapping: Json) -> str:
    scheme = f", scheme {mapping['scheme']}" if mapping["scheme"] else ""
    categories = mapping["values"] or mapping["weights"]
    pairs = ", ".join(f"{name} → {category}" for name, category in categories.items())
    source = "values" if mapping["values"] else "columns of weights"
    return f"{mapping['attribute']}{scheme}: {source} {pairs}."


def count_checks(data: Json) -> int:
    return sum(1 for link in data["chain"] if link["part"].startswith("check "))


def extend_cover(cover: FirstPage, data: Json, stamp: ReportStamp) -> FirstPage:
    facts = [
        replace(fact, name="Records of the check") if fact.name == "Population" else fact
        for fact in cover.facts
    ]
    is_over = datetime.fromisoformat(data["period"]["end"]) <= stamp.at
    audit_caution = data["sheets"].get("ll144", {}).get("caution")
    return replace(
        cover,
        facts=(*list_cover_facts(data), *facts),
        cautions=(*cover.cautions, *filter(None, (audit_caution, None if is_over else _NOT_OVER_CAUTION))),
        notes=cover.notes if cover.group is None else (_CHECKED_HOURS_NOTE, *cover.notes),
    )


def list_cover_facts(data: Json) -> Iterator[Fact]:
    deployment = data["deployment"]
    population = data["population"]
    yield Fact("Purpose", deployment["purpose"] or "not stated in the deployment's settings")
    yield Fact("Owner", deployment["owner"] or "nobody is named in the deployment's settings")
    revision_names = [
        f"{revision['model_revision']} ({write_count(revision['records'])} records)"
        for revision in data["revisions"]
    ]
    revisions = shorten_names(revision_names, _MAX_REVISIONS)
    yield Fact("Model revisions", revisions if revision_names else "none: no record was logged in the period")
    logged, reported, selected = (
        write_count(population[name]) for name in ("logged", "in_report", "selected")
    )
    yield Fact(
        "Population",
        f"{logged} records logged in the period; {reported} in this report, {selected} with a favourable "
        "outcome",
    )
    yield Fact("Not in the figures", "; ".join(list_left_out(population)) or "nobody that is known of")
    yield Fact("Source", _RECORDS_SOURCE)
    yield Fact("Software", data["software"])
    yield Fact(
        "Hash chain",
        f"{data['chain_head']}, over {write_count(count_checks(data))} checks and the configuration",
    )


def list_left_out(population: Json) -> Iterator[str]:
    for name, text in _LEFT_OUT_WORDS.items():
        records = population["not_in_report"][name]
        if records:
            yield f"{write_count(records)} {text}"
    for attribute in population["by_attribute"]:
        yield f"{attribute['attribute']}: {attribute['records']['text'].rstrip('.')}"
        if attribute["under_2_percent"]:
            names = ", ".join(attribute["under_2_percent"])
            yield (
                f"{names} ({attribute['attribute']}, under 2 %: shown, but not in the choice of the highest "
                "rate)"
            )
    if population["without_label"]:
        yield f"{write_count(population['without_label'])} without a label (in no accuracy)"
