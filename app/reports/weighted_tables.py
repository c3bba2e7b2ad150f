"""Tables of probabilistic categories for people."""

from collections.abc import Iterator, Mapping
from typing import Any

from .document import Block, Paragraph, ReportTable
from .numbers import ABSENT, interval, number, share


def weighted_tables(sheet: Mapping[str, Any]) -> Iterator[Block]:
    """Yields the caution and one table an attribute, from the sheet's JSON."""
    yield Paragraph(sheet["caution"], is_caution=True)
    for table in sheet["tables"]:
        rows = tuple(
            (
                *(row["category"], f"{row['people']:,.1f}", f"{row['effective_n']:,.1f}", f"{row['selected']:,.1f}"),
                ABSENT if row["rate"] is None else share(row["rate"]),
                number(row["impact_ratio"]),
                ABSENT if row["impact_ratio_low"] is None else interval(row["impact_ratio_low"], row["impact_ratio_high"]),
            )
            for row in table["rows"]
        )
        best = f" Ratio: to {table['compared_with']}." if table["compared_with"] else ""
        small = [row["category"] for row in table["rows"] if row["excluded"]]
        left = f" Under 2 % of the weight, and not the highest rate: {', '.join(small)}." if small else ""
        reasons = "".join(f" {row['category']}: {row['reason']}." for row in table["rows"] if row["reason"])
        note = f"People and selected are sums of probabilities. Unknown, in no row: {table['unknown']:,.1f}.{best}{left}{reasons}"
        columns = ("Category", "People", "Effective n", "Selected", "Rate", "Ratio", "95 % interval")
        yield ReportTable(f"Selection by {table['attribute']}, weighted", columns, rows, note)
