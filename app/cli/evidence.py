"""`evenhand evidence`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..frames.evidence import follow_frame
from .evidence_report import render_evidence
from .file_options import (
    FAVOURABLE,
    MISSING,
    MONITORED,
    NUMBER,
    REFERENCE,
    UNFAVOURABLE,
    Texts,
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
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="A CSV file with a header.")],
    time: Annotated[str, typer.Option(help="Column of the times: ISO 8601 (UTC unless it says otherwise), or numbers since 1970.")],
    attribute: Annotated[list[str], typer.Option(help="Column whose groups are compared. With two or three, their combinations are.")],
    prediction: Annotated[str | None, typer.Option(help="Column of the model's predictions.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the ground-truth labels.")] = None,
    favourable: Annotated[Texts, typer.Option(help=FAVOURABLE)] = None,
    unfavourable: Annotated[Texts, typer.Option(help=UNFAVOURABLE)] = None,
    monitored: Annotated[Texts, typer.Option(help=MONITORED)] = None,
    reference: Annotated[Texts, typer.Option(help=REFERENCE)] = None,
    number: Annotated[Texts, typer.Option(help=NUMBER)] = None,
    missing: Annotated[Texts, typer.Option(help=MISSING)] = None,
    person: Annotated[str | None, typer.Option(help="Column of person ids. Only the first record of each person counts.")] = None,
    limit: Annotated[float, typer.Option(help="Lower limit of the ratio of favourable rates; the upper one is 1 / limit.")] = 0.8,
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
        frame, notes = read(file, columns, Declared(number or (), missing or (), listed))
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
        )
    print_notes(notes)
    typer.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False) if as_json else render_evidence(found, file.name, open_console()))
