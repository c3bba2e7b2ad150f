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
"""Max model revisions that the cover names."""

_CHECKED_HOURS_NOTE = (
    "Figures of this page are of the hours that were checked, with the newest model revision and monitor "
    "version; without such hours, of the newest check. The tables of people in the annex count every "
    "record of the period and all its model revisions, as logged, so their figures for the same group may "
    "differ from these."
)
WHOLE_PERIOD_NOTE = "Every record of the period counts, of all model revisions, checked or not."


@frozen
class ReportTerm:
    """Term of the glossary; without `sheets` every report uses it."""

    name: str
    meaning: str
    sheets: tuple[str, ...] = ()


TERMS = msgspec.json.decode((files(__package__) / "glossary.json").read_bytes(), type=tuple[ReportTerm, ...])


def list_chapters(data: Json) -> Iterator[Section]:
    yield write_population(data)
    sheets = {sheet: data["sheets"][sheet] for sheet in PeriodSheet if sheet in data["sheets"]}
    for sheet, content in sheets.items():
        notes = (Paragraph(WHOLE_PERIOD_NOTE),) if sheet.row.counts_people and content["tables"] else ()
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
    yield Section("Clause map", (tabulate_clauses(data, sheets),))
    terms = [
        f"{term.name}: {term.meaning}" for term in TERMS if not term.sheets or sheets.keys() & term.sheets
    ]
    yield Section("Glossary", (Bullets(terms),))
    verified = (
        f"The chain has {write_count(count_checks(data))} checks and the configuration as it was when the "
        "report "
        f"was made. Its last link is {data['chain_head']}. `evenhand report verify FILE` of any form of this "
        "report computes it again from the database, and names a changed measurement, a deleted check and a "
        "changed configuration. It is no signature: somebody who can write to the database and to the file "
        "can change both."
    )
    yield Section("Hash chain", (Paragraph(verified),))


def tabulate_clauses(data: Json, sheets: Collection[PeriodSheet]) -> ReportTable:
    rules = {clause.id: clause.rule for clause in CLAUSES}
    day = datetime.fromisoformat(data["made"]["at"]).date()
    in_report = {"chapter:population", "chapter:limits", *(f"sheet:{sheet}" for sheet in sheets)}
    in_report.add(f"preset:{data['preset']}")
    rows = []
    for clause in CLAUSES:
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
    **{f"sheet:{sheet}": sheet.row.title for sheet in PeriodSheet},
    **{f"preset:{name}": f"preset {preset.title}" for name, preset in PRESETS.items()},
}


def name_answer(answer: str) -> str:
    """Names an answer: `sheet:lending` by the title of its chapter, `api:listAlerts` as `API listAlerts`."""
    kind, _, name = answer.partition(":")
    unlisted = {"api": f"API {name}", "command": name, "retention": f"retention preset {name}"}
    return _ANSWERS.get(answer) or unlisted[kind]


def write_population(data: Json) -> Section:
    population = data["population"]
    counted = (
        f"Records logged in the period: {write_count(population['logged'])}. In this report: "
        f"{write_count(population['in_report'])}, of which {write_count(population['selected'])} with a "
        "favourable "
        f"outcome ({', '.join(data['monitor']['favourable'])})."
    )
    lines = [
        counted,
        "A record is counted as one person; somebody with several records is counted several times.",
        (
            f"Without a ground-truth label: {write_count(population['without_label'])}. They are in the "
            "tables of "
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
    if small:
        lines.append(
            "Under 2 % of the people, shown with their counts and left out of the choice of the highest "
            f"rate: {'; '.join(small)}."
        )
    left_out = [
        (capitalise(text), write_count(population["not_in_report"][name])) for name, text in _LEFT_OUT.items()
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
    low = f"{sampling['lowest_rate']:.4g}"
    high = f"{sampling['highest_rate']:.4g}"
    if sampling["is_unequal"]:
        return (
            f"Only shares of the traffic were logged, of {low} to {high}. Numbers of records are of "
            "those that were logged."
        )
    return (
        f"A share of {low} of the traffic was logged, so each record counts for about "
        f"{1 / sampling['lowest_rate']:,.4g} decisions. All numbers of people are of logged records; rates "
        "and ratios are estimates of those of all decisions."
    )


def describe_mapping(mapping: Json) -> str:
    scheme = f", scheme {mapping['scheme']}" if mapping["scheme"] else ""
    category_by_name = mapping["values"] or mapping["weights"]
    named = ", ".join(f"{name} → {category}" for name, category in category_by_name.items())
    return (
        f"{mapping['attribute']}{scheme}: {'values' if mapping['values'] else 'columns of weights'} {named}."
    )


def count_checks(data: Json) -> int:
    return sum(1 for link in data["chain"] if link["part"].startswith("check "))


def extend_cover(first: FirstPage, data: Json, origin: ReportStamp) -> FirstPage:
    facts = [
        replace(fact, name="Records of the check") if fact.name == "Population" else fact
        for fact in first.facts
    ]
    is_over = datetime.fromisoformat(data["period"]["end"]) <= origin.at
    audit_caution = data["sheets"].get("ll144", {}).get("caution")
    return replace(
        first,
        facts=(*list_cover_facts(data), *facts),
        cautions=(*first.cautions, *filter(None, (audit_caution, None if is_over else _NOT_OVER_CAUTION))),
        notes=first.notes if first.group is None else (_CHECKED_HOURS_NOTE, *first.notes),
    )


def list_cover_facts(data: Json) -> Iterator[Fact]:
    deployment = data["deployment"]
    population = data["population"]
    yield Fact("Purpose", deployment["purpose"] or "not stated in the deployment's settings")
    yield Fact("Owner", deployment["owner"] or "nobody is named in the deployment's settings")
    named = [
        f"{revision['model_revision']} ({write_count(revision['records'])} records)"
        for revision in data["revisions"]
    ]
    revisions = shorten_names(named, _MAX_REVISIONS)
    yield Fact("Model revisions", revisions if named else "none: no record was logged in the period")
    logged, counted, chosen = (write_count(population[name]) for name in ("logged", "in_report", "selected"))
    yield Fact(
        "Population",
        f"{logged} records logged in the period; {counted} in this report, {chosen} with a favourable "
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
    for name, text in _LEFT_OUT.items():
        if records := population["not_in_report"][name]:
            yield f"{write_count(records)} {text}"
    for counted in population["by_attribute"]:
        yield f"{counted['attribute']}: {counted['records']['text'].rstrip('.')}"
        if counted["under_2_percent"]:
            names = ", ".join(counted["under_2_percent"])
            yield (
                f"{names} ({counted['attribute']}, under 2 %: shown, but not in the choice of the highest "
                "rate)"
            )
    if population["without_label"]:
        yield f"{write_count(population['without_label'])} without a label (in no accuracy)"


_LEFT_OUT = {
    "other_schema_version": "logged under another version of the schema",
    "sampled_out": "left out by a sender's sample",
}
