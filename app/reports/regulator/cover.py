"""Facts on the period for the cover, and sentences on the time of each figure.

The first page has figures of one check, the annex of the whole period.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from ...base.frozen import frozen
from ...statistics.sentences.rounding import digits_apart
from ..document import Fact, FirstPage, Made, count

NOT_OVER = "The period was not over when this report was made: records and checks that come later are not in it."
SOURCE = "the log of the model's decisions in Evenhand: every record of the period, and the checks that ran on them"

_MOST_REVISIONS = 4
"""Max model revisions that the cover names."""

WINDOWS = (
    "Verdict and groups of this page are those of the newest check of the period. The tables of people in the annex count every record of"
    " the period, as logged, so their figures for the same group may differ from these."
)
OF_PERIOD = "Counted over the whole period. The first page has the figures of the newest check alone."

_HUNDREDTHS = 2
_MARKS = (0.8, 1.0, 1.25)


def count_checks(data: Mapping[str, Any]) -> int:
    return sum(1 for link in data["chain"] if link["part"].startswith("check "))


def extend_cover(first: FirstPage, data: Mapping[str, Any], origin: Made) -> FirstPage:
    facts = [replace(fact, name="Records of the check") if fact.name == "Population" else fact for fact in first.facts]
    is_over = datetime.fromisoformat(data["period"]["end"]) <= origin.at
    of_period = [caution for caution in (data["sheets"].get("ll144", {}).get("caution"), None if is_over else NOT_OVER) if caution]
    notes = first.notes if first.group is None else (WINDOWS, *first.notes)
    cautions = (*first.cautions, *of_period)
    return replace(first, facts=(*list_cover_facts(data), *facts), cautions=cautions, notes=notes, windows=add_period(first, data))


def list_cover_facts(data: Mapping[str, Any]) -> Iterator[Fact]:
    deployment, population = data["deployment"], data["population"]
    yield Fact(name="Purpose", value=deployment["purpose"] or "not stated in the deployment's settings")
    yield Fact(name="Owner", value=deployment["owner"] or "nobody is named in the deployment's settings")
    named = [f"{revision['model_revision']} ({count(revision['records'])} records)" for revision in data["revisions"][:_MOST_REVISIONS]]
    remaining = len(data["revisions"]) - len(named)
    revisions = ", ".join(named) + (f" and {remaining} more" if remaining > 0 else "")
    yield Fact(name="Model revisions", value=revisions or "none: no record was logged in the period")
    logged, counted, chosen = (count(population[name]) for name in ("logged", "in_report", "selected"))
    yield Fact(
        name="Population", value=f"{logged} records logged in the period; {counted} in this report, {chosen} with a favourable outcome"
    )
    yield Fact(name="Not in the figures", value="; ".join(list_left_out(population)) or "nobody that is known of")
    yield Fact(name="Source", value=SOURCE)
    yield Fact(name="Software", value=data["software"])
    yield Fact(name="Hash chain", value=f"{data['chain_head']}, over {count(count_checks(data))} checks and the configuration")


def list_left_out(population: Mapping[str, Any]) -> Iterator[str]:
    for name, text in _LEFT_OUT.items():
        if population["not_in_report"][name]:
            yield f"{count(population['not_in_report'][name])} {text}"
    for attribute_counts in population["by_attribute"]:
        yield f"{attribute_counts['attribute']}: {attribute_counts['records']['text'].rstrip('.')}"
        if attribute_counts["under_2_percent"]:
            names = ", ".join(attribute_counts["under_2_percent"])
            yield f"{names} ({attribute_counts['attribute']}, under 2 %: shown, but not in the choice of the highest rate)"
    if population["without_label"]:
        yield f"{count(population['without_label'])} without a label (in no accuracy)"


_LEFT_OUT: Mapping[str, str] = {
    "other_schema_version": "logged under another version of the schema",
    "sampled_out": "left out by a sender's sample",
}


@frozen
class PeriodRatio:
    """A group's rate of favourable outcomes over that of `compared_with`, in the period."""

    value: float
    ends: tuple[float | None, float | None]
    records: int
    compared_with: str


def find_ratio(sheets: Mapping[str, Any], attribute: str | None, group: str | None) -> PeriodRatio | None:
    """Ratio to the reference, or else to the highest rate; None where no sheet has it."""
    for sheet, names in (("adverse_impact", ("ratio_to_reference", "impact_ratio")), ("lending", ("air",))):
        for table in sheets.get(sheet, {}).get("tables", ()):
            if table["attribute"] != attribute:
                continue
            for row in table["rows"]:
                ratio_name = next((name for name in names if row.get(name) is not None), None)
                if row["category"] == group and ratio_name is not None:
                    ends = row[f"{ratio_name}_low"], row[f"{ratio_name}_high"]
                    against = table["compared_with"] if ratio_name == "impact_ratio" else table["reference"]
                    return PeriodRatio(row[ratio_name], ends, row["applicants"], against)
    return None


def add_period(first: FirstPage, data: Mapping[str, Any]) -> tuple[str, ...]:
    if first.group is None:
        return first.windows
    # Tables of people call them `women × aged 18–25`.
    label = next((label for label, name in first.categories.items() if name == first.group), first.group)
    ratio = find_ratio(data["sheets"], first.attribute, label)
    if ratio is None:
        return first.windows
    against = first.categories.get(ratio.compared_with, ratio.compared_with)
    return (*first.windows[:1], say_ratio(first.group, replace(ratio, compared_with=against)), *first.windows[1:])


def say_ratio(group: str, ratio: PeriodRatio) -> str:
    """As few digits as show the figure on its side of 0.8, 1 and 1.25."""
    numbers = [number for number in (ratio.value, *ratio.ends) if number is not None]
    digits = max(digits_apart(number, _MARKS, _HUNDREDTHS) for number in numbers)
    lower, upper = (None if end is None else f"{end:.{digits}f}" for end in ratio.ends)
    ends = "" if lower is None else f" ({lower}{' and more' if upper is None else f'–{upper}'})"
    return (
        f"Over the whole period, as logged: the rate of {group} ({count(ratio.records)} records) is {ratio.value:.{digits}f} times"
        f" that of {ratio.compared_with}{ends}."
    )
