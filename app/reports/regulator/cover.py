"""Facts on the period for the cover, and sentences on the time of each figure.

The first page has figures of one check, the annex of the whole period.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from ...statistics.sentences.figure_sentences import digits_apart
from ..document import Fact, FirstPage, Json, Made, count

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
    "Verdict and groups of this page are those of the newest check of the period. The tables of people in "
    "the annex count every record of"
    " the period, as logged, so their figures for the same group may differ from these."
)
OF_PERIOD = "Counted over the whole period. The first page has the figures of the newest check alone."

_HUNDREDTHS = 2
_MARKS = (0.8, 1.0, 1.25)


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
        windows=add_period(first, data),
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


def add_period(first: FirstPage, data: Json) -> Sequence[str]:
    """Adds the group's ratio to the reference, or else to the highest rate, where a sheet has it."""
    # Tables of people call them `women × aged 18–25`.
    label = next((label for label, name in first.categories.items() if name == first.group), first.group)
    for sheet, names in (("adverse_impact", ("ratio_to_reference", "impact_ratio")), ("lending", ("air",))):
        for table in data["sheets"].get(sheet, {}).get("tables", ()):
            if first.group is None or table["attribute"] != first.attribute:
                continue
            for row in table["rows"]:
                name = next((name for name in names if row.get(name) is not None), None)
                if row["category"] == label and name is not None:
                    against = table["compared_with"] if name == "impact_ratio" else table["reference"]
                    sentence = _say_ratio(first.group, row, name, first.categories.get(against, against))
                    return (*first.windows[:1], sentence, *first.windows[1:])
    return first.windows


def _say_ratio(group: str, row: Json, name: str, against: str) -> str:
    """As few digits as show the figure on its side of 0.8, 1 and 1.25."""
    value = row[name]
    lower = row[f"{name}_low"]
    upper = row[f"{name}_high"]
    digits = max(
        digits_apart(number, _MARKS, _HUNDREDTHS) for number in (value, lower, upper) if number is not None
    )
    ends = (
        ""
        if lower is None
        else f" ({lower:.{digits}f}{' and more' if upper is None else f'–{upper:.{digits}f}'})"
    )
    return (
        f"Over the whole period, as logged: the rate of {group} ({count(row['applicants'])} records) is "
        f"{value:.{digits}f} times that of {against}{ends}."
    )
