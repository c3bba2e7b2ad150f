"""`evenhand export`."""

from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated

from typer import Option, Typer, echo

from ..access.audit.activity_queries import record_activity
from ..access.secret_box import open_secret_box
from ..base.errors import InvalidInput, NotFound
from ..database.engine import arrow_reader
from ..deployments.queries import Deployments
from ..domain.check import Span
from ..domain.record_times import LogKind
from ..intake.imports.month_files import ExportHead, write_export
from ..sources.stored.record_queries import count_versions_of_month, read_rows_of_month, read_schemas
from .database import load_command_settings, lower_priority, open_ready_database
from .keys import COMMAND_LINE

command = Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Write a month of records to a file that evenhand import reads.",
)

_Deployment = Annotated[
    str, Option("--deployment", envvar="EVENHAND_DEPLOYMENT", help="Id of the deployment.")
]
_Month = Annotated[str, Option(help="The month in UTC, such as 2026-03.")]
_Output = Annotated[Path, Option(help="Parquet file to write; it must not exist.", dir_okay=False)]
_Version = Annotated[
    int | None, Option(help="Version of the schema; needed if the month has records of several.")
]


@command.command()
def payload(
    *, deployment: _Deployment, month: _Month, output: _Output, schema_version: _Version = None
) -> None:
    """Write the payload records that were logged in a month."""
    _export(LogKind.PAYLOAD, deployment, month, output, schema_version)


@command.command()
def feedback(
    *, deployment: _Deployment, month: _Month, output: _Output, schema_version: _Version = None
) -> None:
    """Write the labels of the records of a month, however late they came, and labels without a record by
    their own time.
    """
    _export(LogKind.FEEDBACK, deployment, month, output, schema_version)


def _export(kind: LogKind, deployment_id: str, month: str, output: Path, version: int | None) -> None:
    span = _read_month(month)
    settings = load_command_settings()
    with open_ready_database(settings) as database, arrow_reader(database) as reader:
        lower_priority()
        with database.transaction() as session:
            deployment = Deployments(session, open_secret_box(settings)).get(deployment_id)
            records = count_versions_of_month(reader, kind, deployment.no, span)
            source = f"{month} of {deployment_id}"
            if version is None and len(records) > 1:
                versions = ", ".join(f"{number} ({count:,} records)" for number, count in records.items())
                raise InvalidInput(
                    "--schema-version",
                    f"must be one of those that {source} has: {versions}. Write a file of each",
                )
            chosen_version = version or next(iter(records), None)
            if chosen_version is None or chosen_version not in records:
                raise NotFound(
                    f"{kind.value} record in the database of",
                    source if version is None else f"{source} under schema version {version}",
                )
            schema = read_schemas(session, deployment.no)[chosen_version]
            record_activity(
                session,
                COMMAND_LINE,
                f"{kind.value}_records.exported",
                deployment,
                subject=month,
                details={"rows": records[schema.version], "schema_version": schema.version},
            )
        head = ExportHead(
            kind=kind,
            month=month,
            name=deployment.name,
            problem_type=deployment.problem_type,
            schema=schema,
            outputs=deployment.outputs,
            model_revision=deployment.model_revision,
        )
        with read_rows_of_month(reader, kind, deployment.no, span, schema) as rows:
            count = write_export(output, head, rows)
    echo(f"{count:,} {kind.value} records of {month} of {deployment_id} were written to {output}.")


def _read_month(text: str) -> Span:
    try:
        start = datetime.combine(date.fromisoformat(f"{text}-01"), time(tzinfo=UTC))
        return Span(
            start=start, end=start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        )
    except ValueError as error:
        raise InvalidInput(
            "--month", f"must be a year and a month such as 2026-03, found {text!r:.40}"
        ) from error
