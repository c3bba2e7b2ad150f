"""Sentences on the time of each figure: one check on the first page, the whole period in the annex."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...frozen import frozen
from ...metrics.rounding import digits_apart
from ..document import FirstPage
from ..numbers import count

WINDOWS = (
    "Verdict and groups of this page are those of the newest check of the period. The tables of people in the annex count every record of"
    " the period, as logged, so their figures for the same group may differ from these."
)
OF_PERIOD = "Counted over the whole period. The first page has the figures of the newest check alone."

_HUNDREDTHS = 2
_MARKS = (0.8, 1.0, 1.25)


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
                found = next((name for name in names if row.get(name) is not None), None)
                if row["category"] == group and found is not None:
                    ends = row[f"{found}_low"], row[f"{found}_high"]
                    against = table["compared_with"] if found == "impact_ratio" else table["reference"]
                    return PeriodRatio(row[found], ends, row["applicants"], against)
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
    numbers = [one for one in (ratio.value, *ratio.ends) if one is not None]
    digits = max(digits_apart(one, _MARKS, _HUNDREDTHS) for one in numbers)
    lower, upper = (None if end is None else f"{end:.{digits}f}" for end in ratio.ends)
    ends = "" if lower is None else f" ({lower}{' and more' if upper is None else f'–{upper}'})"
    return (
        f"Over the whole period, as logged: the rate of {group} ({count(ratio.records)} records) is {ratio.value:.{digits}f} times"
        f" that of {ratio.compared_with}{ends}."
    )
