"""The table of results of one check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

Point: TypeAlias = Mapping[str, Any]

COLUMNS: tuple[tuple[str, JustifyMethod], ...] = (
    ("Group", "left"),
    ("n", "right"),
    ("Data", "left"),
    ("Disparate\nimpact", "right"),
    ("Interval", "left"),
    ("Verdict", "left"),
    ("Perfect\nequality", "right"),
    ("Accuracy", "right"),
)

COLOURS = {"fair": "green", "unwatched": "yellow", "suspected": "yellow", "unfair": "red"}


@dataclass(frozen=True, slots=True)
class CheckFigures:
    points: Sequence[Point]

    def of(self, metric: str, data: str, attribute: str | None, group: str | None = None, scope: str = "group") -> Point | None:
        wanted = {"metric": metric, "data": data, "attribute": attribute, "group": group, "scope": scope}
        return next((point for point in self.points if all(point[name] == value for name, value in wanted.items())), None)

    def groups(self) -> list[tuple[str, str]]:
        rates = [
            point for point in self.points if (point["metric"], point["data"], point["scope"]) == ("favourable_rate", "payload", "group")
        ]
        return [(point["attribute"], point["group"]) for point in rates]


def results_table(check: Mapping[str, Any], measurements: Sequence[Point]) -> Table:
    """Builds a table of each group's figures, logged and all else equal, each also debiased; references last."""
    figures = CheckFigures(measurements)
    records = check["window"]["records"] + check["window"]["additional_records"]
    accuracy = _format_number(figures.of("accuracy", "feedback", None, scope="overall"))
    table = Table(
        title=f"{check['deployment_id']}: {records:,} records up to {check['to'][:16].replace('T', ' ')} UTC",
        caption=f"Interval: 95 %. Accuracy over all labelled records: {accuracy}.",
        caption_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for heading, justify in COLUMNS:
        table.add_column(heading, justify=justify, no_wrap=heading != "Verdict")
    last = None
    for attribute, group in figures.groups():
        is_first, last = attribute != last, attribute
        if is_first:
            table.add_row()
        rate = figures.of("favourable_rate", "payload", attribute, group)
        about = [group if "×" in attribute else f"{attribute} {group}", str(rate["n"]) if rate else ""]
        accuracy = _format_number(figures.of("accuracy", "feedback", attribute, group))
        payload = figures.of("disparate_impact", "payload", attribute, group)
        if payload is None:
            table.add_row(*about, "", "", "", Text("reference", style="dim"), "", accuracy)
            continue
        table.add_row(*about, "payload", *_format_impact(payload), "", accuracy)
        debiased = figures.of("disparate_impact_after", "debiased", attribute, group)
        if debiased is not None:
            table.add_row("", "", "  debiased", *_format_impact(debiased), "", "")
        balanced = figures.of("disparate_impact", "balanced", attribute, group)
        if balanced is None:
            continue
        equality = _format_number(figures.of("perfect_equality", "payload_perturbed", attribute, scope="attribute")) if is_first else ""
        table.add_row("", "", "balanced", *_format_impact(balanced), equality, "")
        debiased = figures.of("balanced_disparate_impact_after", "debiased", attribute, group)
        if debiased is not None:
            table.add_row("", "", "  debiased", *_format_impact(debiased), "", "")
    table.add_row()
    return table


def _format_impact(impact: Point) -> list[str | Text]:
    verdict = str(impact["verdict"] or "")
    upper = "" if impact["upper"] is None else f"{impact['upper']:.2f}"
    interval = "" if impact["lower"] is None else f"{impact['lower']:.2f}–{upper}"
    return [_format_number(impact), interval, Text(verdict.replace("_", " "), style=COLOURS.get(verdict, "dim"))]


def _format_number(point: Point | None) -> str:
    return "" if point is None or point["value"] is None else f"{point['value']:.2f}"
