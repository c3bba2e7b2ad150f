"""Makes the queued reports in all forms and announces them."""

from typing import Final

from sqlalchemy.orm import Session

from ...domain.deployments import Deployment
from ...domain.notifications import report_message
from ...domain.report_schedules import KeptReport
from ...errors import Conflict, InvalidInput, NotFound
from ...store.alerts.notifications import queue_message
from ...store.checks.checks import current_time
from ...store.database.engine import Database
from ...store.database.sealer import Sealer
from ...store.deployments.deployments import Deployments
from ...store.reports.kept import channels_of_schedule, claim_report, fail_report, find_schedule, keep_report
from ..authors import name_author
from ..document import Made
from .making import ReadContent, ReportForm, read_content
from .wanted import SheetsWanted

MAX_ATTEMPTS: Final = 3
ABANDONED = (
    f"{MAX_ATTEMPTS} attempts to make the report did not come to its end, perhaps because memory ran out."
    " The logs of the workers say why. Ask for a report on the same period, or on a shorter one."
)


def make_next_report(database: Database, sealer: Sealer, *, token: str) -> bool:
    """Makes the next queued report; returns False if there is none. `token` is new for each call.

    Raises:
        LeaseLost: another worker took the report over; nothing was stored.
        Unavailable: the database went away; the report is taken over when its lease runs out.
    """
    with database.transaction() as session:
        report = claim_report(session, token=token)
        deployment = None if report is None else _find_deployment(session, sealer, report)
        now = current_time(session)
        author = "" if report is None else name_author(session, report.created_by)
    if report is None:
        return False
    if deployment is None:
        return True
    content: ReadContent | None = None
    reason = ABANDONED
    if report.attempts <= MAX_ATTEMPTS:
        made = Made(at=now.replace(microsecond=0), by=report.created_by, name=author)
        wanted = SheetsWanted.from_json(report.wanted)
        try:
            content = read_content(database, deployment, report.span, wanted, made, has_cover=True)
        except (Conflict, InvalidInput) as error:
            # The monitor may have changed since the schedule was set.
            reason = str(error)
    files = {} if content is None else {form.value: content.write(form) for form in ReportForm}
    with database.transaction() as session:
        if content is None:
            ended = fail_report(session, report, reason=reason)
        else:
            ended = keep_report(session, report, files, seal=content.report["seal"], chain_head=content.report["chain_head"])
        announce_report(session, deployment, ended)
    return True


def announce_report(session: Session, deployment: Deployment, report: KeptReport) -> None:
    """Queues a message on each channel of the schedule, in the transaction that ends the report."""
    schedule = None if report.schedule_id is None else find_schedule(session, deployment.no, report.schedule_id)
    if schedule is None or schedule.no != report.schedule_no:
        return
    now = current_time(session)
    message = report_message(report, deployment_id=deployment.id, deployment_name=deployment.name, name=schedule.content.name, now=now)
    queue_message(session, channels_of_schedule(session, schedule.no), message)


def _find_deployment(session: Session, sealer: Sealer, report: KeptReport) -> Deployment | None:
    """None if the deployment is being deleted, and the report with it."""
    try:
        return Deployments(session, sealer).by_no(report.deployment_no)
    except NotFound:
        return None
