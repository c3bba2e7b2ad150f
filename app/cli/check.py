"""`evenhand check`: queue a check straight in the database and, if wanted, watch it to its end."""

import time
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from sqlalchemy import select

from app.checks.requests import request_check, request_check_of
from app.cli.database import ready_database
from app.cli.startup import command_settings
from app.domain.checks import CheckRun, CheckState, Measurement, Scope, Span
from app.errors import InvalidInput, NotFound
from app.store.checks import get
from app.store.engine import Database
from app.store.results import measurements_of
from app.store.tables import DeploymentRow
from app.views.advice import Advice
from app.views.check_advice import advice_on_check, outlook_of
from app.views.figures import judged_figure

POLL_SECONDS = 0.5

command = typer.Typer(add_completion=False)


@command.command()
def check(
    deployment: Annotated[str, typer.Argument(help="The deployment's id.")],
    start: Annotated[
        str | None, typer.Option("--from", help="The beginning of a range of logging times, such as 2026-03-01T09:00Z.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Its end, exclusive.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Show the progress, then the measurements; status 1 unless it succeeds.")] = False,  # noqa: FBT002 - typer's way to say a flag
) -> None:
    """Check a deployment's fairness: the present hour up to now, or the range --from --to."""
    span = _span(start, end)
    with ready_database(command_settings()) as database:
        run = _request(database, deployment, span)
        if not wait:
            typer.echo(f"Check {run.id} is queued. {_what_it_waits_for(_advice(database, run))}")
            return
        ended = _watched(database, run)
        succeeded = _show(database, ended)
    raise typer.Exit(0 if succeeded else 1)


def _span(start: str | None, end: str | None) -> Span | None:
    if start is None and end is None:
        return None
    if start is None or end is None:
        raise InvalidInput.of("--from, --to", "are needed together")
    return Span(start=_moment("--from", start), end=_moment("--to", end))


def _moment(option: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput.of(option, f"must be a time such as 2026-03-01T09:00Z (UTC where no zone is given); found {text!r}") from error


def _request(database: Database, deployment: str, span: Span | None) -> CheckRun:
    with database.transaction() as session:
        no = session.scalar(select(DeploymentRow.no).where(DeploymentRow.id == deployment).with_for_update(key_share=True))
        if no is None:
            raise NotFound("deployment", deployment)
        if span is None:
            return request_check(session, no, requested_by="evenhand check")
        return request_check_of(session, no, span, requested_by="evenhand check")


def _watched(database: Database, run: CheckRun) -> CheckRun:
    """The check when it has ended; its progress is drawn on standard error meanwhile."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("queued", total=None)
        while run.state in {CheckState.QUEUED, CheckState.RUNNING}:
            time.sleep(POLL_SECONDS)
            with database.transaction() as session:
                run = get(session, run.deployment_no, run.id)
            if run.progress:
                bar.update(line, description=run.progress.step, completed=run.progress.done, total=run.progress.total or None)
            elif run.state is CheckState.QUEUED:
                bar.update(line, description=f"queued. {_what_it_waits_for(_advice(database, run))}")
    return run


def _advice(database: Database, run: CheckRun) -> Advice:
    with database.transaction() as session:
        return advice_on_check(run, outlook_of(session, run.deployment_no))


def _what_it_waits_for(advice: Advice) -> str:
    return " ".join(text for text in (advice.reason, advice.next_step) if text)


def _show(database: Database, run: CheckRun) -> bool:
    console = Console()
    console.print(
        f"Check {run.id}: {run.state}, {run.span.start:%Y-%m-%d %H:%M} to {run.span.end:%Y-%m-%d %H:%M} UTC. {escape(run.reason or '')}",
        soft_wrap=True,
    )
    advice = _advice(database, run)
    if advice.next_step:
        console.print(escape(advice.next_step), soft_wrap=True)
    with database.transaction() as session:
        measurements = measurements_of(session, run.no)
    if measurements:
        console.print(_table(measurements))
    return run.state is CheckState.SUCCEEDED


def _table(measurements: list[Measurement]) -> Table:
    table = Table("attribute", "group", "data", "metric", "value", "95 % interval", "n", "verdict", "at a disadvantage")
    for one in measurements:
        value = f"{one.value:.4f}" if one.value is not None else one.reason
        figure = judged_figure(one)
        side = figure.disadvantaged_group or figure.disadvantaged
        texts = (one.attribute, _whom(one), one.data, one.metric, value, _interval(one), str(one.n), one.verdict, side)
        table.add_row(*(escape(text or "") for text in texts))
    return table


def _whom(one: Measurement) -> str:
    if one.scope is Scope.WORST_PAIR:
        return f"{one.details.get('monitored', one.scope)} / {one.details.get('reference', '')}"
    if one.scope is Scope.WORST:
        return f"furthest out: {one.details.get('worst_group', '')}"
    return one.group or one.scope


def _interval(one: Measurement) -> str:
    ends = [f"{end:.4f}" if end is not None else "open" for end in (one.lower, one.upper)]
    return "" if one.lower is None and one.upper is None else f"{ends[0]} to {ends[1]}"
