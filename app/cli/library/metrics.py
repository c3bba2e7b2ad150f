"""`evenhand metrics`."""

from pathlib import Path
from typing import Annotated

from typer import Option, Typer, echo

from ...library.measurements import DEFAULT, measure_attributes, measure_frame
from .metrics_files import (
    Attributes,
    Encoding,
    Favourable,
    LabelColumn,
    MeasuredFile,
    MissingTexts,
    Monitored,
    Numbers,
    PredictionColumn,
    Reference,
    Text,
    Texts,
    Unfavourable,
    check_output,
    open_console,
    print_notes,
    read_measured,
    refuse_errors,
    write_reports,
)
from .metrics_report import render_report

command = Typer(add_completion=False)


@command.command()
def metrics(
    *,
    file: MeasuredFile,
    attribute: Attributes,
    label: LabelColumn = None,
    prediction: PredictionColumn = None,
    favourable: Favourable = None,
    unfavourable: Unfavourable = None,
    monitored: Monitored = None,
    reference: Reference = None,
    number: Numbers = None,
    missing: MissingTexts = None,
    encoding: Encoding = "utf-8",
    score: Annotated[Text, Option(help="Column of the probability of the favourable outcome.")] = None,
    weight: Annotated[Text, Option(help="Column of the records' weights.")] = None,
    strata: Annotated[
        Text, Option(help="Column within each of whose values the conditional metrics compare.")
    ] = None,
    feature: Annotated[
        Texts, Option(help="Column of numbers by which similar records are found. Repeatable.")
    ] = None,
    metric: Annotated[
        Texts, Option(help="Key of a metric in the catalogue; by default the most common ones. Repeatable.")
    ] = None,
    every: Annotated[
        bool, Option("--all", help="Measure every metric that the given columns allow.")
    ] = False,
    each: Annotated[
        bool, Option("--each", help="Also measure each of several attributes by itself.")
    ] = False,
    output: Annotated[
        Path | None,
        Option(help="File to write the measurements to. Its ending decides the format: .json or .csv."),
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the random draws for the intervals.")] = 0,
) -> None:
    """Measure the fairness of predictions, labels or both in a file. Each figure has an interval, a
    verdict and an explanation.
    """
    names = {"label": label, "prediction": prediction, "score": score, "weight": weight, "strata": strata}
    with refuse_errors():
        if output:
            check_output(output, file)
        frame, notes, arguments = read_measured(
            file,
            names,
            attribute=attribute,
            favourable=favourable,
            unfavourable=unfavourable,
            monitored=monitored,
            reference=reference,
            missing=missing,
            encoding=encoding,
            numbers=[*(number or []), *(feature or []), score, weight],
            features=feature,
        )
        arguments |= {"features": feature, "metrics": metric or (None if every else DEFAULT), "seed": seed}
        if each:
            reports = list(measure_attributes(frame, attributes=attribute, **arguments).values())
        else:
            reports = [measure_frame(frame, attribute=attribute, **arguments)]
        console = open_console()
        text = "\n\n".join(render_report(report, file.name, console) for report in reports)
        if output:
            write_reports(reports if each else reports[0], output)
    print_notes(notes)
    echo(text)
