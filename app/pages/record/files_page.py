"""Page of a deployment whose records lie in files, and the tables that its files hold."""

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from ...base.values import frozen
from ...deployments.listed_file_queries import FEEDBACK, PAYLOAD, ListingTotals, read_totals_of_files
from ...domain.deployment import Deployment, FeedbackTable, PayloadTable, TableFormat
from ..render import show_page


@frozen
class ShownTable:
    title: str
    table: PayloadTable | FeedbackTable
    found: ListingTotals


def list_tables(session: Session, deployment: Deployment) -> list[ShownTable]:
    """Lists tables of files; none where records are logged."""
    tables = {PAYLOAD: ("Records", deployment.payload), FEEDBACK: ("Labels", deployment.feedback)}
    return [
        ShownTable(title, table, read_totals_of_files(session, deployment.no, side))
        for side, (title, table) in tables.items()
        if table is not None and table.format is not TableFormat.JDBC
    ]


def show_page_without_records(request: Request, deployment: Deployment, what: str) -> Response:
    """Shows that the records lie in files; `what` is the title of the page."""
    return show_page(request, "records_in_files.html", {"deployment": deployment, "what": what})
