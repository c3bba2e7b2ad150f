"""Sentences on the time that each figure of a regulator's report is of: one check on the first page, the whole period in the annex."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..document import FirstPage
from ..numbers import count, interval, number

WINDOWS = (
    "Headline, verdict and groups of this page are those of the newest check of the period. The tables of people in the annex count every"
    " record of the period, as logged, so their figures for the same group may differ from these."
)
OF_PERIOD = "Counted over the whole period. The first page has the figures of the newest check alone."


@dataclass(frozen=True, slots=True)
class PeriodRatio:
    """Ratio of a group's rate of favourable outcomes to that of `compared_with`, over all records of the period."""

    value: float
    ends: tuple[float | None, float | None]
    records: int
    compared_with: str


def find_ratio(sheets: Mapping[str, Any], attribute: str | None, group: str | None) -> PeriodRatio | None:
    """Returns the ratio of a group to the reference, or else to the highest rate; None where no sheet of the report has it."""
    for sheet, names in (("adverse_impact", ("ratio_to_reference", "impact_ratio")), ("lending", ("air",))):
        for table in sheets.get(sheet, {}).get("tables", ()):
            if table["attribute"] != attribute:
                continue
            for row in table["rows"]:
                found = next((name for name in names if row.get(name) is not None), None)
                if row["category"] == group and found is not None:
                    ends = row[f"{found}_low"], row[f"{found}_high"]
                    against = table["compared_with"] if found == "impact_ratio" else table["reference"]
                    return PeriodRatio(row[found], ends, row["applicants"], against)
    return None


def say_windows(first: FirstPage, data: Mapping[str, Any]) -> Iterator[str]:
    """Yields of which records the figures of the first page and of the annex are, and the period's figure for the headline's group."""
    if first.group is None:
        return
    yield WINDOWS
    ratio = find_ratio(data["sheets"], first.attribute, first.group)
    if ratio is not None:
        ends = "" if ratio.ends == (None, None) else f" (95 % interval {interval(*ratio.ends)})"
        yield (
            f"Over the whole period, as logged: the favourable rate of {first.group} ({first.attribute}) is {number(ratio.value)} times"
            f" that of {ratio.compared_with}{ends}, of {count(ratio.records)} records of {first.group}."
        )
