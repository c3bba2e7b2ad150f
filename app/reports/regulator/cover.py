"""Facts on the period for the cover."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..document import Fact, FirstPage, Made
from ..numbers import count
from .windows import WINDOWS, add_period

NOT_OVER = "The period was not over when this report was made: records and checks that come later are not in it."
SOURCE = "the log of the model's decisions in Evenhand: every record of the period, and the checks that ran on them"

_MOST_REVISIONS = 4
"""Max model revisions that the cover names."""


def count_checks(data: Mapping[str, Any]) -> int:
    return sum(1 for one in data["chain"] if one["part"].startswith("check "))


def extend_cover(first: FirstPage, data: Mapping[str, Any], made: Made) -> FirstPage:
    facts = [replace(one, name="Records of the check") if one.name == "Population" else one for one in first.facts]
    is_over = datetime.fromisoformat(data["period"]["end"]) <= made.at
    own = [one for one in (data["sheets"].get("ll144", {}).get("caution"), None if is_over else NOT_OVER) if one]
    notes = first.notes if first.group is None else (WINDOWS, *first.notes)
    cautions = (*first.cautions, *own)
    return replace(first, facts=(*list_cover_facts(data), *facts), cautions=cautions, notes=notes, windows=add_period(first, data))


def list_cover_facts(data: Mapping[str, Any]) -> Iterator[Fact]:
    deployment, population = data["deployment"], data["population"]
    yield Fact(name="Purpose", value=deployment["purpose"] or "not stated in the deployment's settings")
    yield Fact(name="Owner", value=deployment["owner"] or "nobody is named in the deployment's settings")
    named = [f"{one['model_revision']} ({count(one['records'])} records)" for one in data["revisions"][:_MOST_REVISIONS]]
    more = len(data["revisions"]) - len(named)
    revisions = ", ".join(named) + (f" and {more} more" if more > 0 else "")
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
    for name, words in _LEFT_OUT.items():
        if population["not_in_report"][name]:
            yield f"{count(population['not_in_report'][name])} {words}"
    for one in population["by_attribute"]:
        yield f"{one['attribute']}: {one['records']['text'].rstrip('.')}"
        if one["under_2_percent"]:
            names = ", ".join(one["under_2_percent"])
            yield f"{names} ({one['attribute']}, under 2 %: shown, but not in the choice of the highest rate)"
    if population["without_label"]:
        yield f"{count(population['without_label'])} without a label (in no accuracy)"


_LEFT_OUT: Mapping[str, str] = {
    "other_schema_version": "logged under another version of the schema",
    "sampled_out": "left out by a sender's sample",
}
