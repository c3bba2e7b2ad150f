"""`evenhand check`."""

import time
from typing import Annotated

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from sqlalchemy import select
from typer import Argument, Exit, Option, Typer, echo

from ..base.errors import InvalidInput, require_present
from ..checks.advice.advice import Advice, advise_on_check
from ..checks.advice.causes import read_outlook
from ..checks.queries import get_check, request_check
from ..checks.result_queries import read_measurements
from ..checks.views.explain_figure import build_judged_figure
from ..database.engine import Database
from ..database.tables import DeploymentRow
from ..domain.check import CheckRun, CheckState, Measurement, Scope, Span
from ..domain.record_times import parse_moment
from ..statistics.sentences.figure_sentences import write_minus
from ..statistics.sentences.statements import find_unbadged
from .database import load_command_settings, open_ready_database

POLL_SECONDS = 0.5

command = Typer(add_completion=False)


@command.command()
def check(
    deployment: Annotated[str, Argument(help="Id of the deployment.")],
    start: Annotated[
        str | None, Option("--from", help="Start of a range of logging times, such as 2026-03-01T09:00Z.")
    ] = None,
    end: Annotated[str | None, Option("--to", help="End of the range, exclusive.")] = None,
    wait: Annotated[  # noqa: FBT002 - typer's way to declare a flag
        bool,
        Option("--wait", help="Show the progress, then the figures. Status 1 unless the check succeeds."),
    ] = False,
) -> None:
    if (start is None) != (end is None):
        raise InvalidInput("--from, --to", "must be given together")
    span = None
    if start is not None and end is not None:
        span = Span(start=parse_moment("--from", start), end=parse_moment("--to", end))
    with open_ready_database(load_command_settings()) as database:
        with database.transaction() as session:
            # Locked, so that the deployment is not deleted before its check is stored.
            no = session.scalar(
                select(DeploymentRow.no).where(DeploymentRow.id == deployment).with_for_update(key_share=True)
            )
            no = require_present(no, "deployment", deployment)
            run = request_check(session, no, requested_by="evenhand check", span=span)
        if not wait:
            echo(f"Check {run.id} is queued. {_explain_wait(_read_advice(database, run))}")
            return
        has_succeeded = _print_results(database, _wait_for_end(database, run))
    raise Exit(0 if has_succeeded else 1)


def _wait_for_end(database: Database, run: CheckRun) -> CheckRun:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("queued", total=None)
        while run.state in {CheckState.QUEUED, CheckState.RUNNING}:
            time.sleep(POLL_SECONDS)
            with database.transaction() as session:
                run = get_check(session, run.deployment_no, run.id)
            if run.progress:
                bar.update(
                    line,
                    description=run.progress.step,
                    completed=run.progress.done,
                    total=run.progress.total or None,
                )
            elif run.state is CheckState.QUEUED:
                bar.update(line, description=f"queued. {_explain_wait(_read_advice(database, run))}")
    return run


def _read_advice(database: Database, run: CheckRun) -> Advice:
    with database.transaction() as session:
        return advise_on_check(run, read_outlook(session, run.deployment_no))


def _explain_wait(advice: Advice) -> str:
    return " ".join(text for text in (advice.reason, advice.next_step) if text)


def _print_results(database: Database, run: CheckRun) -> bool:
    """True if the check succeeded."""
    console = Console()
    console.print(
        f"Check {run.id}: {run.state}, {run.span.start:%Y-%m-%d %H:%M} to {run.span.end:%Y-%m-%d %H:%M} "
        f"UTC. {escape(run.reason or '')}",
        soft_wrap=True,
    )
    advice = _read_advice(database, run)
    if advice.next_step:
        console.print(escape(advice.next_step), soft_wrap=True)
    with database.transaction() as session:
        measurements = read_measurements(session, run.no)
    table = Table(
        "attribute", "group", "data", "metric", "value", "95 % interval", "n", "verdict", "at a disadvantage"
    )
    figures = [build_judged_figure(measurement) for measurement in measurements]
    unbadged = find_unbadged(figures)
    for position, (measurement, figure) in enumerate(zip(measurements, figures, strict=True)):
        value = (
            write_minus(f"{measurement.value:.4f}") if measurement.value is not None else measurement.reason
        )
        interval = ""
        if measurement.lower is not None or measurement.upper is not None:
            interval = f"{_write_end(measurement.lower)} to {_write_end(measurement.upper)}"
        side = figure.disadvantaged_group or figure.disadvantaged
        verdict = "" if position in unbadged else measurement.verdict
        texts = (
            measurement.attribute,
            _name_group(measurement),
            measurement.data,
            measurement.metric,
            value,
            interval,
            str(measurement.n),
            verdict,
            side,
        )
        table.add_row(*(escape(text or "") for text in texts))  # names of groups come from records
    if measurements:
        console.print(table)
    return run.state is CheckState.SUCCEEDED


def _write_end(end: float | None) -> str:
    return "open" if end is None else write_minus(f"{end:.4f}")


def _name_group(measurement: Measurement) -> str:
    if measurement.scope is Scope.WORST_PAIR:
        monitored = measurement.details.monitored
        reference = measurement.details.reference
        return f"{measurement.scope if monitored is None else monitored} / {reference or ''}"
    name = measurement.group or measurement.scope
    is_worst = measurement.worst_of is not None and measurement.worst_of > 1
    return f"{name} (furthest out of {measurement.worst_of})" if is_worst else name
