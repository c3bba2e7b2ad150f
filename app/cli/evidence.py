"""`evenhand evidence`."""

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from ..frames.evidence import follow_frame
from .evidence_report import render_evidence
from .file_options import (
    Attributes,
    Earliest,
    Encoding,
    Favourable,
    LabelColumn,
    LowerLimit,
    MeasuredFile,
    MissingTexts,
    Monitored,
    Numbers,
    PersonColumn,
    PredictionColumn,
    Reference,
    TimeColumn,
    TimeFormat,
    Unfavourable,
    list_side,
    list_values,
    open_console,
    parse_side,
    parse_values,
    print_notes,
    refuse_errors,
)
from .metrics_files import Declared, read

command = typer.Typer(add_completion=False)


@command.command()
def evidence(
    *,
    file: MeasuredFile,
    time: TimeColumn,
    attribute: Attributes,
    prediction: PredictionColumn = None,
    label: LabelColumn = None,
    favourable: Favourable = None,
    unfavourable: Unfavourable = None,
    monitored: Monitored = None,
    reference: Reference = None,
    number: Numbers = None,
    missing: MissingTexts = None,
    encoding: Encoding = "utf-8",
    person: PersonColumn = None,
    limit: LowerLimit = 0.8,
    time_format: TimeFormat = None,
    earliest: Earliest = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Follow a log over time: which group is unfair since when, with at most one false alarm a year over all comparisons."""
    with refuse_errors():
        columns: dict[str, Sequence[str | None]] = {
            "time": [time],
            "attribute": attribute,
            "prediction": [prediction],
            "label": [label],
            "person": [person],
        }
        outcomes = [*(favourable or ["1"]), *(unfavourable or [])]
        listed = list_values(
            list_side(attribute, monitored, "monitored"),
            list_side(attribute, reference, "reference"),
            {label: outcomes},
            {prediction: outcomes},
        )
        frame, notes = read(file, columns, Declared(number or (), missing or (), listed, encoding))
        found = follow_frame(
            frame,
            attribute=attribute,
            time=time,
            prediction=prediction,
            label=label,
            person=person,
            favourable=parse_values(frame, prediction or label, favourable or ["1"]),
            unfavourable=parse_values(frame, prediction or label, unfavourable or []) or None,
            monitored=parse_side(frame, attribute, monitored, "monitored"),
            reference=parse_side(frame, attribute, reference, "reference"),
            limit=limit,
            time_format=time_format,
            earliest=earliest,
        )
    print_notes(notes)
    typer.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False) if as_json else render_evidence(found, file.name, open_console()))
