"""The route that gives code to log records of a deployment."""

from fastapi import APIRouter, Request

from ..store.deployments.monitors import monitor_of
from ..store.records.newest import newest_record
from ..web.access import SessionIn
from ..web.auditing import READS_RECORDS
from .deployment_in_address import ReadableDeployment
from .schemas.logging_snippets import SnippetOut, SnippetsOut
from .snippets import KEY, example_body, snippets_of

router = APIRouter(prefix="/v1/deployments/{deployment_id}/logging-snippets", tags=["deployments"])


@router.get("", dependencies=[READS_RECORDS])
def list_logging_snippets(deployment: ReadableDeployment, session: SessionIn, request: Request) -> SnippetsOut:
    """Returns code to log payload and feedback of this deployment, with its id and columns and the address that this request was sent to.

    The values are those of the newest record in the database, or made up, of the right types, where there is none of the present columns;
    `has_values_of_record` says which. Records logged with them count in the next check, so put in your own values first.
    """
    monitor, newest = monitor_of(session, deployment.no), newest_record(session, deployment.no)
    snippets = snippets_of(deployment, monitor, newest, base_url=str(request.base_url))
    return SnippetsOut(
        snippets=[SnippetOut.from_object(snippet) for snippet in snippets],
        has_values_of_record=newest is not None and newest.has_columns_of(deployment),
        key_variable=KEY,
        example=example_body(deployment, monitor, newest),
    )
