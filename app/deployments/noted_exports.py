"""Files that leave the service, noted among the activities."""

from fastapi import Request
from fastapi.params import Depends as Dependency

from ..access.audit.activity_queries import record_activity
from ..access.gate.caller import Reader, SessionIn
from .deployment_in_address import ReadableDeployment

_FILES = frozenset({"csv", "html", "pdf", "json"})

_MAX_QUERY = 200


def exported(what: str) -> Dependency:
    """Notes who fetches a file. One of single records needs `READS_RECORDS` before it."""

    def note(request: Request, principal: Reader, session: SessionIn, deployment: ReadableDeployment) -> None:
        form = request.path_params.get("form", "csv")
        if form in _FILES:
            check_id: str | None = request.path_params.get("check_id")
            details = {"form": form, "query": str(request.query_params)[:_MAX_QUERY]}
            record_activity(
                session, principal.actor, f"{what}.exported", deployment, subject=check_id, details=details
            )

    return Dependency(note)
