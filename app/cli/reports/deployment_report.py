"""`evenhand report` of deployments: `--deployment` and `verify`."""

from pathlib import Path

from typer import echo

from ...access.secret_box import open_secret_box
from ...base.clock import utc_now
from ...base.errors import InvalidInput
from ...deployments.queries import Deployments
from ...domain.check import Span
from ...domain.record_times import parse_moment
from ...reports.document import ReportStamp
from ...reports.regulator.regulator_report import (
    ReportOrder,
    find_database_differences,
    find_file_differences,
    read_content,
    read_report_file,
)
from ...reports.regulator.sheets import SheetSelection
from ..database import load_command_settings, open_ready_database

MAX_DIFFERENCES = 50


def read_period(start: str | None, end: str | None) -> Span:
    if start is None or end is None:
        raise InvalidInput(
            "from" if start is None else "to", "must be given: a report of a deployment is on a period"
        )
    span = Span(start=parse_moment("from", start), end=parse_moment("to", end))
    if span.start >= span.end:
        raise InvalidInput("from", "must lie before --to")
    return span


def report_deployment(deployment_id: str, span: Span, sheets: SheetSelection, form: str) -> bytes:
    stamp = ReportStamp(at=utc_now().replace(microsecond=0), by="evenhand report")
    settings = load_command_settings()
    with open_ready_database(settings) as database:
        with database.transaction() as session:
            deployment = Deployments(session, open_secret_box(settings)).get(deployment_id)
        order = ReportOrder(deployment=deployment, span=span, wanted=sheets, made=stamp)
        return read_content(database, order).write(form)


def verify_report(file: Path, *, is_offline: bool) -> bool:
    """True if there are no differences."""
    report = read_report_file(file.read_bytes())
    differences = list(find_file_differences(report))
    verified_text = "the file"
    if not is_offline:
        settings = load_command_settings()
        with open_ready_database(settings) as database, database.transaction() as session:
            deployment = Deployments(session, open_secret_box(settings)).get(report.deployment_id)
            differences += find_database_differences(session, deployment, report)
        verified_text = "the file and the database"
    if not differences:
        checks = sum(entry.part.startswith("check ") for entry in report.chain)
        check_words = "1 check" if checks == 1 else f"{checks:,} checks"
        echo(
            f"Unchanged: {verified_text}; {check_words} and the configuration, "
            f"chain {report.content['chain_head']}."
        )
        return True
    echo(f"Changed: {'1 part differs' if len(differences) == 1 else f'{len(differences):,} parts differ'}.")
    for difference in differences[:MAX_DIFFERENCES]:
        echo(f"{difference.part}: {difference.message}")
    if len(differences) > MAX_DIFFERENCES:
        echo(f"{len(differences) - MAX_DIFFERENCES:,} more.")
    return False
