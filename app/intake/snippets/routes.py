"""The route that gives code to log records of a deployment."""

from fastapi import APIRouter, Request

from ...access.gate.caller import READS_RECORDS, SessionIn
from ...deployments.deployment_in_address import ReadableDeployment
from ...deployments.monitor.queries import find_monitor
from ...sources.stored.newest_record import find_newest_record
from .bodies import SnippetOut, SnippetsOut
from .logging_code import KEY_VARIABLE, build_example_body, write_snippets

router = APIRouter(prefix="/v1/deployments/{deployment_id}/logging-snippets", tags=["deployments"])


@router.get("", dependencies=[READS_RECORDS])
def list_logging_snippets(
    deployment: ReadableDeployment, session: SessionIn, request: Request
) -> SnippetsOut:
    """Returns code to log payload and feedback of this deployment, with its id and columns and the address
    that this request was sent to.

    The values are those of the newest record in the database, or made up, of the right types, where there
    is none of the present columns; `has_values_of_record` says which. Records logged with them count in
    the next check, so put in your own values first.
    """
    monitor = find_monitor(session, deployment.no)
    newest = find_newest_record(session, deployment.no)
    snippets = write_snippets(deployment, monitor, newest, base_url=str(request.base_url))
    return SnippetsOut(
        snippets=[SnippetOut.from_object(snippet) for snippet in snippets],
        has_values_of_record=newest is not None and newest.schema_version == deployment.schema.version,
        key_variable=KEY_VARIABLE,
        example=build_example_body(deployment, monitor, newest),
    )
