"""`evenhand plan`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..frames.planning import Plan, plan_frame
from .evidence_report import fill
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
def plan(
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
    ratio: Annotated[float, typer.Option(help="Ratio of favourable rates that is to be found; below the limit.")] = 0.7,
    probability: Annotated[float, typer.Option(help="Probability with which it is to be found by then.")] = 0.9,
    limit: Annotated[float, typer.Option(help="Lower limit of the ratio of favourable rates; the upper one is 1 / limit.")] = 0.8,
) -> None:
    """Say after how many records a ratio of favourable rates would be found, at the traffic of the log's last week."""
    with refuse_errors():
        columns: dict[str, Sequence[str | None]] = {"time": [time], "attribute": attribute, "prediction": [prediction], "label": [label]}
        outcomes = [*(favourable or ["1"]), *(unfavourable or [])]
        listed = list_values(
            list_side(attribute, monitored, "monitored"),
            list_side(attribute, reference, "reference"),
            {label: outcomes},
            {prediction: outcomes},
        )
        frame, notes = read(file, columns, Declared(number or (), missing or (), listed))
        plans = plan_frame(
            frame,
            attribute=attribute,
            time=time,
            prediction=prediction,
            label=label,
            favourable=parse_values(frame, prediction or label, favourable or ["1"]),
            unfavourable=parse_values(frame, prediction or label, unfavourable or []) or None,
            monitored=parse_side(frame, attribute, monitored, "monitored"),
            reference=parse_side(frame, attribute, reference, "reference"),
            ratio=ratio,
            probability=probability,
            limit=limit,
        )
    print_notes(notes)
    width = open_console().width
    typer.echo("\n".join(fill(phrase_plan(one), width, "• ") for one in plans))


def phrase_plan(one: Plan) -> str:
    traffic = (
        f"{one.monitored_per_hour:,.3g} records an hour of {one.group}, {one.reference_per_hour:,.3g} of {one.reference} "
        f"and a favourable rate of {one.reference_rate:.1%} there"
    )
    lead = f"{one.attribute} {one.group}: with {traffic}, a ratio of {one.ratio:.3g}"
    if one.hours is None or one.records is None:
        return f"{lead} would not be found with {100 * one.probability:.3g} % probability within two years."
    return f"{lead} is found with {100 * one.probability:.3g} % probability within {one.hours:,} hours, about {one.records:,} records."
