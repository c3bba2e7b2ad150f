"""`evenhand evidence`."""

import json
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
    open_console,
    print_notes,
    refuse_errors,
)
from .metrics_files import read_measured

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
        records = read_measured(
            file,
            {"time": time, "prediction": prediction, "label": label, "person": person},
            attribute=attribute,
            favourable=favourable,
            unfavourable=unfavourable,
            monitored=monitored,
            reference=reference,
            missing=missing,
            encoding=encoding,
            numbers=number or (),
        )
        found = follow_frame(
            records.frame, attribute=attribute, limit=limit, time_format=time_format, earliest=earliest, **records.arguments
        )
    print_notes(records.notes)
    typer.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False) if as_json else render_evidence(found, file.name, open_console()))
