"""`evenhand plan`."""

from typing import Annotated

from typer import Option, Typer, echo

from ...library.compared_rates import DAY_HOURS
from ...library.unlisted_groups import Plan, plan_frame
from .groups import count_blocks, say_left_out
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
    TimeColumn,
    TimeFormat,
    Unfavourable,
    open_console,
    print_notes,
    read_measured,
    refuse_errors,
)
from .metrics_report import fill_lines

command = Typer(add_completion=False)


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
    person: PersonColumn = None,
    each_record_another_person: AnotherPerson = None,
    ratio: Annotated[
        float, Option(help="Ratio of favourable rates that is to be found; below the limit.")
    ] = 0.7,
    probability: Annotated[float, Option(help="Probability with which it is to be found by then.")] = 0.9,
    limit: LowerLimit = 0.8,
    time_format: TimeFormat = None,
    earliest: Earliest = None,
) -> None:
    """Say after how many records a ratio of favourable rates would be found, at the traffic of the log's
    last week.
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
        plans = plan_frame(
            records.frame,
            attribute=attribute,
            ratio=ratio,
            each_record_another_person=each_record_another_person,
            probability=probability,
            limit=limit,
            time_format=time_format,
            earliest=earliest,
            **records.arguments,
        )
    print_notes([*records.notes, *say_left_out(plans[0].left_out), *plans[0].warnings])
    width = open_console().width
    echo("\n".join(fill_lines(line, width) for line in plans[0].counted.lines))
    echo("\n".join(fill_lines(phrase_plan(plan), width, "• ") for plan in plans))


def phrase_plan(plan: Plan) -> str:
    unit, hours = ("a day", DAY_HOURS) if plan.is_daily else ("an hour", 1)
    traffic = (
        f"{hours * plan.monitored_per_hour:,.3g} records {unit} of {plan.group}, "
        f"{hours * plan.reference_per_hour:,.3g} of {plan.reference} "
        f"and a favourable rate of {plan.reference_rate:.1%} there"
    )
    opening = f"{plan.attribute} {plan.group}: with {traffic}, a ratio of {plan.ratio:.3g}"
    if plan.hours is None or plan.records is None:
        return (
            f"{opening} would not be found with {100 * plan.probability:.3g} % probability within two years."
        )
    span = count_blocks(plan.hours, is_daily=plan.is_daily)
    return (
        f"{opening} is found with {100 * plan.probability:.3g} % probability within {span}, about "
        f"{plan.records:,} records."
    )
