"""Tables of a deployment whose records lie in files, and the page that is shown instead of its single records."""

from dataclasses import dataclass

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from ..domain.deployments import Deployment
from ..domain.tables_of_files import FeedbackTable, PayloadTable, TableFormat
from ..store.deployments.listed_files import FEEDBACK, PAYLOAD, ListingTotals, add_up_files
from .rendering import page


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table of files under its title, and the totals of its listing."""

    title: str
    table: PayloadTable | FeedbackTable
    found: ListingTotals


def list_tables(session: Session, deployment: Deployment) -> list[ShownTable]:
    """Returns the tables of files of the deployment; none where its records are logged."""
    named = {PAYLOAD: ("Records", deployment.payload), FEEDBACK: ("Labels", deployment.feedback)}
    return [
        ShownTable(title, table, add_up_files(session, deployment.no, side))
        for side, (title, table) in named.items()
        if table is not None and table.format is not TableFormat.JDBC
    ]


def page_without_records(request: Request, deployment: Deployment, what: str) -> Response:
    """Returns the page that is shown instead of `what`, a list of single records, where these lie in files."""
    return page(request, "records_in_files.html", {"deployment": deployment, "what": what})
