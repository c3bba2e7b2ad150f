"""The small table of results, out of the measurements of one check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

Point: TypeAlias = Mapping[str, Any]
"""One measurement, as the API answers it."""

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
"""The table's headings."""

COLOURS = {"fair": "green", "unwatched": "yellow", "suspected": "yellow", "unfair": "red"}


@dataclass(frozen=True, slots=True)
class Figures:
    """The measurements of one check, findable."""

    points: Sequence[Point]

    def of(self, metric: str, data: str, attribute: str | None, group: str | None = None, scope: str = "group") -> Point | None:
        """The one measurement of that description, if there is one."""
        wanted = {"metric": metric, "data": data, "attribute": attribute, "group": group, "scope": scope}
        return next((point for point in self.points if all(point[name] == value for name, value in wanted.items())), None)

    def groups(self) -> list[tuple[str, str]]:
        """Each attribute with each of its groups, in the order of the check."""
        rates = [
            point for point in self.points if (point["metric"], point["data"], point["scope"]) == ("favourable_rate", "payload", "group")
        ]
        return [(point["attribute"], point["group"]) for point in rates]


def results_table(check: Mapping[str, Any]) -> Table:
    """For each monitored group the figures as logged and with everything else held equal, each also debiased; a line for each reference."""
    figures = Figures(check["measurements"])
    records = check["window"]["records"] + check["window"]["additional_records"]
    accuracy = _number(figures.of("accuracy", "feedback", None, scope="overall"))
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
        if attribute != last:
            table.add_row()
        for row in _rows(figures, attribute, group, is_first=attribute != last):
            table.add_row(*row)
        last = attribute
    table.add_row()
    return table


def _rows(figures: Figures, attribute: str, group: str, *, is_first: bool) -> list[list[str | Text]]:
    rate = figures.of("favourable_rate", "payload", attribute, group)
    name = group if "×" in attribute else f"{attribute} {group}"
    about = [name, str(rate["n"]) if rate else ""]
    accuracy = _number(figures.of("accuracy", "feedback", attribute, group))
    payload, balanced = (figures.of("disparate_impact", data, attribute, group) for data in ("payload", "balanced"))
    after = [figures.of(f"{name}_after", "debiased", attribute, group) for name in ("disparate_impact", "balanced_disparate_impact")]
    if payload is None:
        return [[*about, "", "", "", Text("reference", style="dim"), "", accuracy]]
    equality = _number(figures.of("perfect_equality", "payload_perturbed", attribute, scope="attribute")) if is_first else ""
    debiased: list[list[list[str | Text]]] = [[] if one is None else [["", "", "  debiased", *_compared(one), "", ""]] for one in after]
    rows: list[list[str | Text]] = [[*about, "payload", *_compared(payload), "", accuracy], *debiased[0]]
    return rows if balanced is None else [*rows, ["", "", "balanced", *_compared(balanced), equality, ""], *debiased[1]]


def _compared(impact: Point) -> list[str | Text]:
    """The value, its interval and its verdict."""
    verdict = str(impact["verdict"] or "")
    upper = "" if impact["upper"] is None else f"{impact['upper']:.2f}"
    interval = "" if impact["lower"] is None else f"{impact['lower']:.2f}–{upper}"
    return [_number(impact), interval, Text(verdict.replace("_", " "), style=COLOURS.get(verdict, "dim"))]


def _number(point: Point | None) -> str:
    return "" if point is None or point["value"] is None else f"{point['value']:.2f}"
