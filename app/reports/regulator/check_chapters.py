"""Chapters of a regulator's report that are made of checks."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from ...base.frozen import frozen
from ..document import (
    ABSENT,
    Block,
    Json,
    Paragraph,
    ReportTable,
    count,
    interval,
    moment,
    number,
    points,
    points_interval,
    share,
    share_interval,
)

MOST_ROWS = 60
"""Max rows of a table for people; CSV and JSON have all."""

FLIPS = (
    "The model was asked again about copies in which the attribute is changed. Flips: share of outcomes "
    "that change. Gained: share that"
    " becomes favourable; lost: share that stops being favourable. A group that gains more than it loses is "
    "at a disadvantage."
)
ALTERNATIVES = (
    "Before: outcomes as they were logged. After: outcomes as the deployment's mitigation gives them for "
    "the same records. Ratio: to the"
    " selection rate of the reference."
)
ACCURACY = "Accuracy of the outcomes, on records with a ground-truth label."

_SHOWN = {"group", "attribute", "overall"}
_NO_GROUP = "everybody"


@frozen
class FigureColumn:
    metric: str
    name: str
    show: Callable[[Json], str]


def evidence_blocks(sheet: Json) -> Iterator[Block]:
    rows = tuple((row["comparison"], row["limit"], row["words"]) for row in sheet["rows"][:MOST_ROWS])
    yield Paragraph("The state of every comparison when this report was made, whatever the period.")
    yield ReportTable(
        "Since when",
        ("Comparison", "Limit", "State"),
        rows,
        name_cut(sheet["rows"]).strip() or None,
        is_last_wide=True,
    )


def alert_blocks(sheet: Json) -> Iterator[Block]:
    for note in sheet["notes"]:
        yield Paragraph(note)
    if sheet["alerts"]:
        names = ("opened", "about", "sentence", "acknowledged", "resolved")
        rows = tuple(tuple(alert[name] for name in names) for alert in sheet["alerts"][:MOST_ROWS])
        columns = ("Opened", "Rule and subject", "What it says", "Acknowledged", "Resolved")
        yield ReportTable("Alerts of the period", columns, rows, name_cut(sheet["alerts"]).strip() or None)


def flip_blocks(sheet: Json) -> Iterator[Block]:
    yield from _introduce(sheet)
    columns = (
        FigureColumn("flip_rate", "Flips", _share_with_ends),
        FigureColumn("flip_rate", "Gained", lambda row: share(row["gained"])),
        FigureColumn("flip_rate", "Lost", lambda row: share(row["lost"])),
    )
    yield from _tabulate_figures("Flips when the attribute is changed", sheet["rows"], columns, FLIPS)


def alternative_blocks(sheet: Json) -> Iterator[Block]:
    yield from _introduce(sheet)
    selections = (
        FigureColumn("selection_rate_before", "Rate before", format_share),
        FigureColumn("selection_rate_after", "Rate after", format_share),
        FigureColumn("disparate_impact_before", "Ratio before", _number_with_ends),
        FigureColumn("disparate_impact_after", "Ratio after", _number_with_ends),
        FigureColumn("changed_rate", "Outcomes changed", format_share),
    )
    yield from _tabulate_figures(
        "Selection before and after mitigation", sheet["rows"], selections, ALTERNATIVES
    )
    accuracies = (
        FigureColumn("accuracy_before", "Accuracy before", format_share),
        FigureColumn("accuracy_after", "Accuracy after", format_share),
        FigureColumn("accuracy_change", "Change, in points", _points_with_ends),
    )
    yield from _tabulate_figures("Cost or gain in accuracy", sheet["rows"], accuracies, ACCURACY)


def format_share(row: Json) -> str:
    return share(row["value"])


def name_cut(rows: Sequence[Any]) -> str:
    """Says that a table does not have all rows; empty if it has."""
    return (
        f" The first {MOST_ROWS} of {count(len(rows))} rows; CSV and JSON have all."
        if len(rows) > MOST_ROWS
        else ""
    )


def _introduce(sheet: Json) -> Iterator[Block]:
    span = " to ".join(moment(datetime.fromisoformat(end)) for end in sheet["span"].split("/"))
    yield Paragraph(
        f"Figures of check {sheet['check']}, the newest of the period that succeeded, of {span}; they are "
        "of its window alone."
    )
    absent = [row["reason"] for row in sheet["rows"] if row["value"] is None]
    if absent:
        reasons = "; ".join(map(str, dict.fromkeys(absent)))
        yield Paragraph(
            f"{count(len(absent))} of {count(len(sheet['rows']))} figures have no value: {reasons}."
        )


def _tabulate_figures(
    caption: str, rows: Sequence[Json], columns: Sequence[FigureColumn], note: str
) -> Iterator[ReportTable]:
    """Yields a row for each group that has one of the figures. CSV and JSON also have pooled groups."""
    figures_of: dict[tuple[str, str], dict[str, Json]] = {}
    metrics = {column.metric for column in columns}
    for row in rows:
        if row["scope"] in _SHOWN and row["metric"] in metrics and row["value"] is not None:
            figures_of.setdefault((row["attribute"] or ABSENT, row["group"] or _NO_GROUP), {})[
                row["metric"]
            ] = row
    cells = []
    for (attribute, group), figures in figures_of.items():
        shown = (
            column.show(figures[column.metric]) if column.metric in figures else ABSENT for column in columns
        )
        cells.append((attribute, group, *shown, count(min(figure["records"] for figure in figures.values()))))
    if cells:
        names = ("Attribute", "Group", *(column.name for column in columns), "Records")
        yield ReportTable(caption, names, tuple(cells[:MOST_ROWS]), f"{note}{name_cut(cells)}")


def _share_with_ends(row: Json) -> str:
    return add_ends(share(row["value"]), share_interval(row["low"], row["high"]))


def _number_with_ends(row: Json) -> str:
    return add_ends(number(row["value"]), show_ends(row["low"], row["high"]))


def _points_with_ends(row: Json) -> str:
    return add_ends(points(row["value"]), points_interval(row["low"], row["high"]))


def show_ends(low: float | None, high: float | None) -> str:
    return ABSENT if low is None and high is None else interval(low, high)


def add_ends(figure: str, ends: str) -> str:
    return figure if ends == ABSENT else f"{figure} ({ends})"
