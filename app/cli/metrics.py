"""`evenhand metrics`: measures a file of predictions or labels. It needs no service and no database."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeAlias

import pandas as pd
import typer
from rich.console import Console

from app.cli.metrics_files import check_output, read, write
from app.cli.metrics_report import printable, rendered
from app.errors import InvalidInput
from app.frames import DEFAULT, Report, measure_attributes, measure_frame

WIDTH = 100
"""Columns of the report where it is not printed on a terminal."""

_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)")
_OPTIONS = {"features": "--feature", "metrics": "--metric", "file": "FILE", "frame": "FILE"}
"""What an argument of `measure_frame` is called here, where it is not called the same."""

command = typer.Typer(add_completion=False)


_Texts: TypeAlias = list[str] | None
_MONITORED = "A value or range lo-hi to watch, every other unless given; of several attributes NAME=VALUE."
_REFERENCE = "The same to compare with: every other value or, with no monitored one, the largest group."


@command.command()
def metrics(  # noqa: PLR0913 - typer's way: one parameter for each option
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="A CSV file with a header.")],
    attribute: Annotated[list[str], typer.Option(help="The column whose groups are compared; up to three are compared together.")],
    label: Annotated[str | None, typer.Option(help="The column of what was true.")] = None,
    prediction: Annotated[str | None, typer.Option(help="The column of what the model predicted.")] = None,
    favourable: Annotated[_Texts, typer.Option(help="A favourable value, or range lo-hi of numbers; 1 unless given.")] = None,
    unfavourable: Annotated[_Texts, typer.Option(help="An unfavourable value or range; every other unless given.")] = None,
    monitored: Annotated[_Texts, typer.Option(help=_MONITORED)] = None,
    reference: Annotated[_Texts, typer.Option(help=_REFERENCE)] = None,
    score: Annotated[str | None, typer.Option(help="The column of the probability of the favourable outcome.")] = None,
    weight: Annotated[str | None, typer.Option(help="The column of what each record counts.")] = None,
    strata: Annotated[str | None, typer.Option(help="The column within whose values the conditional metrics compare.")] = None,
    feature: Annotated[_Texts, typer.Option(help="A column of numbers that say which records are alike.")] = None,
    metric: Annotated[_Texts, typer.Option(help="A key of the catalogue; unless given, a sensible set.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Measure everything that the named columns suffice for.")] = False,
    each: Annotated[bool, typer.Option("--each", help="Measure each of several attributes by itself, too.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the measurements to this file; .json or .csv says in which form.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Fixes what is resampled for the intervals.")] = 0,
) -> None:
    """Measure the fairness of predictions, labels or both in a file: each figure with its interval, a verdict and a sentence."""
    names: dict[str, Any] = {"label": label, "prediction": prediction, "score": score, "weight": weight, "strata": strata}
    with _refusing():
        if output is not None:
            check_output(output, file)
        frame = read(file, {option: [name] for option, name in names.items()} | {"attribute": attribute, "features": feature or []})
        arguments = names | {
            "features": feature,
            "favourable": _values(frame, prediction or label, favourable or ["1"]),
            "unfavourable": _values(frame, prediction or label, unfavourable or []) or None,
            "monitored": _side(frame, attribute, monitored, "monitored"),
            "reference": _side(frame, attribute, reference, "reference"),
            "metrics": metric or (None if every else DEFAULT),
            "seed": seed,
        }
        reports = _measured(frame, attribute, each=each, arguments=arguments)
        console = Console(highlight=False)
        wide = console if console.is_terminal else Console(highlight=False, width=WIDTH)
        printed = "\n\n".join(rendered(one, file.name, wide) for one in reports)
        if output is not None:
            write(reports if each else reports[0], output)
    typer.echo(printed)


def _measured(frame: pd.DataFrame, attributes: list[str], *, each: bool, arguments: Mapping[str, Any]) -> list[Report]:
    """The report of the attributes together, or of `each` by itself and, last, of all together."""
    if each:
        return list(measure_attributes(frame, attributes=attributes, **arguments).values())
    return [measure_frame(frame, attribute=attributes, **arguments)]


def _values(frame: pd.DataFrame, column: str | None, texts: Sequence[str]) -> list[Any]:
    """The values and, of a column of numbers, ranges that the texts spell."""
    numeric = column is not None and pd.api.types.is_any_real_numeric_dtype(frame[column])
    ranges = [_RANGE.fullmatch(text) if numeric else None for text in texts]
    return [text if bounds is None else (float(bounds[1]), float(bounds[2])) for text, bounds in zip(texts, ranges, strict=True)]


def _side(frame: pd.DataFrame, attributes: Sequence[str], texts: Sequence[str] | None, option: str) -> dict[str, list[Any]] | None:
    """What one side of the comparison lists, by attribute."""
    if not texts:
        return None
    if len(attributes) == 1:
        return {attributes[0]: _values(frame, attributes[0], texts)}
    listed: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in attributes:
            raise InvalidInput.of(option, f"must be NAME=VALUE with one of {', '.join(attributes)} as the name, found {text!r}")
        listed.setdefault(name, []).append(value)
    return {name: _values(frame, name, values) for name, values in listed.items()}


@contextmanager
def _refusing() -> Iterator[None]:
    """Ends the command with what is wrong, under the name of the option that it is wrong with."""
    try:
        yield
    except InvalidInput as error:
        _refuse(_option(error.problems[0].field), "; ".join(problem.message for problem in error.problems))


def _option(argument: str) -> str:
    return _OPTIONS.get(argument, f"--{argument}")


def _refuse(option: str, message: str) -> NoReturn:
    raise typer.BadParameter(printable(message), param_hint=option) from None
