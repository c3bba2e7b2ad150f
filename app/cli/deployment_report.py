"""`evenhand report --deployment`."""

from datetime import UTC, datetime

from ..clock import utc_now
from ..domain.checks import Span
from ..errors import InvalidInput
from ..reports.document import Made
from ..reports.regulator.making import ReportForm, make_regulator_report
from ..reports.regulator.presets import choose_sheets
from ..reports.regulator.wanted import SheetsWanted, ToolKind
from ..security.secrets import open_secret_box
from ..store.deployments.deployments import Deployments
from .database import ready_database
from .live_options import LiveOptions
from .startup import command_settings


def report_deployment(deployment_id: str, options: LiveOptions, form: str) -> bytes:
    if options.start is None or options.end is None:
        raise InvalidInput.of("from" if options.start is None else "to", "must be given: a report of a deployment is on a period")
    span = Span(start=parse_time("from", options.start), end=parse_time("to", options.end))
    if span.start >= span.end:
        raise InvalidInput.of("from", "must lie before --to")
    wanted = SheetsWanted(
        sheets=choose_sheets(options.sheets, options.preset),
        attributes=options.attributes,
        controls=options.controls,
        tool=ToolKind(options.tool),
        preset=options.preset,
        categories=options.categories,
    )
    made = Made(at=utc_now().replace(microsecond=0), by="evenhand report")
    settings = command_settings()
    with ready_database(settings) as database:
        with database.transaction() as session:
            deployment = Deployments(session, open_secret_box(settings)).get(deployment_id)
        return make_regulator_report(database, deployment, span, wanted, made, ReportForm(form))


def parse_time(option: str, text: str) -> datetime:
    """Returns the moment in UTC, which is taken where no zone is given."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput.of(option, f"must be a time such as 2026-01-01T00:00Z, found {text!r:.100}") from error
