"""`evenhand evidence`."""

import json
import re
from typing import Annotated

from typer import BadParameter, Option, Typer, echo

from ...library.hours_of_groups import follow_frame
from .groups import render_evidence
from .metrics_files import (
    AnotherPerson,
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
    TimeFormat,
    Unfavourable,
    open_console,
    print_notes,
    read_measured,
    refuse_errors,
)

command = Typer(add_completion=False)

_UNIT_HOURS = {"h": 1, "d": 24}


def _read_horizon(text: str) -> int:
    match = re.fullmatch(r"(\d+)([hd])", text)
    if not match:
        raise BadParameter(f"must be hours or days, such as 36h or 21d, found {text!r}")
    return int(match[1]) * _UNIT_HOURS[match[2]]


@command.command()
def evidence(
    *,
    file: MeasuredFile,
    attribute: Attributes,
    time: Annotated[
        str | None,
        Option(
            help="Column of the times or dates: ISO 8601 or digits, UTC unless it says otherwise. Without it "
            "the file is one block."
        ),
    ] = None,
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
    each_record_another_person: AnotherPerson = None,
    limit: LowerLimit = 0.8,
    time_format: TimeFormat = None,
    earliest: Earliest = None,
    horizon: Annotated[
        int | None,
        Option(
            parser=_read_horizon,
            metavar="TIME",
            help="How long labels take, such as 36h or 21d: figures of labels leave out younger records. By "
            "default the file's end says.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Follow a log over time: which group is unfair since when. At most one false alarm a year is expected
    over all comparisons; say whose records they are (--person or --each-record-another-person), because
    that bound depends on it.
    """
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
        evidence_report = follow_frame(
            records.frame,
            attribute=attribute,
            limit=limit,
            time_format=time_format,
            earliest=earliest,
            horizon=horizon,
            each_record_another_person=each_record_another_person,
            **records.arguments,
        )
    print_notes(records.notes)
    if as_json:
        echo(json.dumps(evidence_report.to_json(), indent=2, ensure_ascii=False))
    else:
        echo(render_evidence(evidence_report, file.name, open_console()))
