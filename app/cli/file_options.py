"""Options of the commands that read a CSV file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import pandas as pd
import typer
from rich.console import Console

from ..domain.encodings import find_encoding
from ..errors import InvalidInput
from ..frames.columns import is_numeric
from .metrics_report import printable

WIDTH = 100
"""Columns of the report where it is not printed on a terminal."""

Texts: TypeAlias = list[str] | None
Favourable = Annotated[Texts, typer.Option(help="A favourable value, or range lo-hi of numbers; by default 1. Repeatable.")]
Unfavourable = Annotated[Texts, typer.Option(help="An unfavourable value or range; by default every other value. Repeatable.")]
Monitored = Annotated[
    Texts,
    typer.Option(
        help="A value or range lo-hi to watch; by default every value but the reference. With several attributes, NAME=VALUE. Repeatable."
    ),
]
Reference = Annotated[
    Texts,
    typer.Option(
        help="A value or range to compare with; by default every other value or, without --monitored, the largest group. Repeatable."
    ),
]

Numbers = Annotated[
    Texts, typer.Option(help="Column that holds numbers: 1 and 1.0 are one value there. A column with a range is one. Repeatable.")
]
MissingTexts = Annotated[Texts, typer.Option(help="Text that means a missing value, such as NA; an empty cell always does. Repeatable.")]


def _read_encoding(name: str) -> str:
    found = find_encoding(name)
    if found is None:
        raise typer.BadParameter(f"must be an encoding of text, such as latin-1, cp1252 or utf-16; found {name!r:.50}")
    return found


Encoding = Annotated[str, typer.Option(callback=_read_encoding, help="Encoding of a file of text, such as latin-1 or utf-16.")]

MeasuredFile = Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="A CSV file with a header.")]
PredictionColumn = Annotated[str | None, typer.Option(help="Column of the model's predictions.")]
Attributes = Annotated[list[str], typer.Option(help="Column whose groups are compared. With two or three, their combinations are.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the ground-truth labels.")]
TimeColumn = Annotated[str, typer.Option(help="Column of the times or dates: ISO 8601 or digits, UTC unless it says otherwise.")]
TimeFormat = Annotated[
    str | None,
    typer.Option(help="How times are written: a pattern such as %d.%m.%Y_%H:%M, or s, ms, us, ns, dotnet, filetime or excel."),
]
Earliest = Annotated[str | None, typer.Option(help="First possible day; by default 1 January 20 years before now.")]
PersonColumn = Annotated[str | None, typer.Option(help="Column of person ids. Only the first record of each person counts.")]
LowerLimit = Annotated[float, typer.Option(help="Lower limit of the ratio of favourable rates; the upper one is 1 / limit.")]

RANGE = re.compile(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)")
_OPTIONS = {"features": "--feature", "metrics": "--metric", "file": "FILE", "frame": "FILE"}
"""Command-line names of the library's arguments, where they differ."""


def open_console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDTH)


def parse_values(frame: pd.DataFrame, column: str | None, texts: Sequence[str]) -> list[Any]:
    """Returns the values that the texts spell and, for a column of numbers, ranges."""
    numeric = column in frame and is_numeric(frame[column])
    ranges = [RANGE.fullmatch(text) if numeric else None for text in texts]
    return [text if bounds is None else (float(bounds[1]), float(bounds[2])) for text, bounds in zip(texts, ranges, strict=True)]


def list_side(attributes: Sequence[str], texts: Texts, option: str) -> dict[str, list[str]]:
    if texts and len(attributes) == 1:
        return {attributes[0]: texts}
    listed: dict[str, list[str]] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or name not in attributes:
            raise InvalidInput.of(option, f"must be NAME=VALUE with one of {', '.join(attributes)} as the name, found {text!r}")
        listed.setdefault(name, []).append(value)
    return listed


def list_values(*listings: Mapping[str | None, Texts] | Mapping[str, list[str]]) -> dict[str, list[str]]:
    """All texts that options list of each column."""
    listed: dict[str, list[str]] = {}
    for name, texts in (item for listing in listings for item in listing.items()):
        if name is not None:
            listed[name] = listed.get(name, []) + (texts or [])
    return listed


def parse_side(frame: pd.DataFrame, attributes: Sequence[str], texts: Texts, option: str) -> dict[str, list[Any]] | None:
    """Returns the values of one side of the comparison, by attribute."""
    return {name: parse_values(frame, name, values) for name, values in list_side(attributes, texts, option).items()} or None


def print_notes(notes: Sequence[str]) -> None:
    """Prints what was left out of a file to standard error: programs read the results."""
    for note in notes:
        typer.echo(printable(f"{note.rstrip('.')}."), err=True)


@contextmanager
def refuse_errors() -> Iterator[None]:
    """Ends the command with the error, under the name of the option it concerns."""
    try:
        yield
    except InvalidInput as error:
        argument = error.problems[0].field
        message = "; ".join(problem.message for problem in error.problems)
        raise typer.BadParameter(printable(message), param_hint=_OPTIONS.get(argument, f"--{argument.replace('_', '-')}")) from None
