"""`evenhand plan`."""

from collections.abc import Sequence
from typing import Annotated

import typer

from ..frames.planning import Plan, plan_frame
from ..frames.times import DAY_HOURS
from .evidence_report import count_blocks, fill, say_left_out
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
def plan(
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
    ratio: Annotated[float, typer.Option(help="Ratio of favourable rates that is to be found; below the limit.")] = 0.7,
    probability: Annotated[float, typer.Option(help="Probability with which it is to be found by then.")] = 0.9,
    limit: LowerLimit = 0.8,
    time_format: TimeFormat = None,
    earliest: Earliest = None,
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
        frame, notes = read(file, columns, Declared(number or (), missing or (), listed, encoding))
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
            time_format=time_format,
            earliest=earliest,
        )
    print_notes([*notes, *say_left_out(plans[0].left_out)] if plans else notes)
    width = open_console().width
    typer.echo("\n".join(fill(phrase_plan(one), width, "• ") for one in plans))


def phrase_plan(one: Plan) -> str:
    factor, unit = (DAY_HOURS, "a day") if one.is_daily else (1, "an hour")
    traffic = (
        f"{factor * one.monitored_per_hour:,.3g} records {unit} of {one.group}, {factor * one.reference_per_hour:,.3g} of {one.reference} "
        f"and a favourable rate of {one.reference_rate:.1%} there"
    )
    lead = f"{one.attribute} {one.group}: with {traffic}, a ratio of {one.ratio:.3g}"
    if one.hours is None or one.records is None:
        return f"{lead} would not be found with {100 * one.probability:.3g} % probability within two years."
    blocks = count_blocks(one.hours, is_daily=one.is_daily)
    return f"{lead} is found with {100 * one.probability:.3g} % probability within {blocks}, about {one.records:,} records."
