"""`evenhand metrics`: measures a file of predictions or labels. It needs no service and no database."""

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeAlias

import pandas as pd
import typer
from rich.console import Console

from app.cli.metrics_report import rendered
from app.errors import InvalidInput
from app.frames import DEFAULT, Report, measure_attributes, measure_frame

WIDTH = 100
"""Columns of the report where it is not printed on a terminal."""

FORMATS = (".json", ".csv")

_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)")
_OPTIONS = {"features": "--feature", "metrics": "--metric"}
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
    if output is not None and output.suffix not in FORMATS:
        _refuse("--output", f"must end in {' or '.join(FORMATS)}, found {output.name!r}")
    columns = {"label": [label], "prediction": [prediction], "score": [score], "weight": [weight], "strata": [strata]}
    frame = _read(file, columns | {"attribute": attribute, "features": feature or []})
    names: dict[str, Any] = {"label": label, "prediction": prediction, "score": score, "weight": weight, "strata": strata}
    arguments = names | {
        "features": feature,
        "favourable": _values(frame, prediction or label, favourable or ["1"]),
        "unfavourable": _values(frame, prediction or label, unfavourable or []) or None,
        "monitored": _side(frame, attribute, monitored, "monitored"),
        "reference": _side(frame, attribute, reference, "reference"),
        "metrics": metric or (None if every else DEFAULT),
        "seed": seed,
    }
    report = _measured(frame, attribute, each=each, arguments=arguments)
    if output is not None:
        _write(report, output)
    console = Console(highlight=False)
    wide = console if console.is_terminal else Console(highlight=False, width=WIDTH)
    typer.echo("\n\n".join(rendered(one, file.name, wide) for one in _several(report)))


def _measured(frame: pd.DataFrame, attributes: list[str], *, each: bool, arguments: Mapping[str, Any]) -> Report | list[Report]:
    """The report of the attributes together, or `each` in a list: of every one by itself, and of all together."""
    try:
        if each:
            return list(measure_attributes(frame, attributes=attributes, **arguments).values())
        return measure_frame(frame, attribute=attributes, **arguments)
    except InvalidInput as error:
        _refuse(_option(error.problems[0].field), "; ".join(problem.message for problem in error.problems))


def _read(file: Path, columns: Mapping[str, Sequence[str | None]]) -> pd.DataFrame:
    """The columns named by the options, in the types that pandas reads them in."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Without index_col=False a line longer than the header would move every value into the next column.
            there = pd.read_csv(file, nrows=1, index_col=False).columns.tolist()
        for option, names in columns.items():
            for name in names:
                if name is not None and name not in there:
                    _refuse(_option(option), f"{name!r} is not a column of {file.name}, which has {', '.join(there)}")
        wanted = {name for names in columns.values() for name in names if name is not None}
        return pd.read_csv(file, usecols=sorted(wanted), index_col=False, low_memory=False)
    except pd.errors.ParserWarning:
        _refuse("FILE", f"{file.name} has more values in its first line than names in its header")
    except (ValueError, OSError) as error:  # what pandas cannot parse or decode is a ValueError
        _refuse("FILE", f"{file.name} cannot be read as CSV: {error}")


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
            _refuse(_option(option), f"must be NAME=VALUE with one of {', '.join(attributes)} as the name, found {text!r}")
        listed.setdefault(name, []).append(value)
    return {name: _values(frame, name, values) for name, values in listed.items()}


def _write(report: Report | list[Report], output: Path) -> None:
    try:
        output.write_text(_as_csv(report) if output.suffix == ".csv" else _as_json(report), encoding="utf-8")
    except OSError as error:
        _refuse("--output", f"{output} cannot be written: {error.strerror}")


def _as_csv(report: Report | list[Report]) -> str:
    """The rows of the report; of several with the attribute before them."""
    if isinstance(report, Report):
        return report.to_frame().to_csv(index=False, lineterminator="\n")
    frames = [one.to_frame() for one in report]
    for frame, one in zip(frames, report, strict=True):
        frame.insert(0, "attribute", one.attribute)
    return pd.concat(frames).to_csv(index=False, lineterminator="\n")


def _as_json(report: Report | list[Report]) -> str:
    written = report.to_json() if isinstance(report, Report) else [one.to_json() for one in report]
    return json.dumps(written, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _several(report: Report | list[Report]) -> list[Report]:
    return [report] if isinstance(report, Report) else report


def _option(argument: str) -> str:
    return _OPTIONS.get(argument, f"--{argument}")


def _refuse(option: str, message: str) -> NoReturn:
    raise typer.BadParameter(message, param_hint=option)
