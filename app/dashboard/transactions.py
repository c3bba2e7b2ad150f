"""The logged records of a deployment, and one record with its counterfactuals."""

from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from app.dashboard import check_words, record_words
from app.dashboard.record_filters import CHECK_ID, Chosen, among_of, choices_of, local, query_of
from app.dashboard.rendering import page
from app.domain.deployments import Deployment
from app.domain.mitigation import ONLY_DIRECT, PARITY_TREATS_UNLIKE, Mode
from app.store import checks
from app.store.monitors import monitor_of
from app.store.transactions import SCANNED, SCANNED_WITH_COPIES
from app.views.one_record import record_details
from app.views.transactions import Records, RecordsWanted, records_of
from app.web.access import ReadableDeployment, SessionIn
from app.web.record_places import cursor_behind

router = APIRouter(prefix="/deployments/{deployment_id}/transactions", include_in_schema=False)

SHOWN: Final = 50

CheckId = Annotated[str, Query(pattern=CHECK_ID)]
RecordId = Annotated[str, Path(max_length=1000, pattern=r"^[^\x00]*$")]
IdInQuery = Annotated[str, Query(alias="id", max_length=1000, pattern=r"^[^\x00]*$")]


@router.get("")
def transactions_page(request: Request, deployment: ReadableDeployment, session: SessionIn, chosen: Annotated[Chosen, Query()]) -> Response:
    """Records, newest first."""
    wanted = chosen.wanted(limit=SHOWN)
    check = checks.get(session, deployment.no, wanted.check_id) if wanted.check_id is not None else None
    # What a check never read is nothing to be refused here, but to be told.
    has_read = check is None or check.window is not None
    found = records_of(session, deployment.no, wanted) if has_read else Records(records=(), next_place=None)
    values = {"deployment": deployment, "check": check, "has_read": has_read, "found": found, "wanted": wanted}
    return page(request, "transactions.html", values | _choosing(session, deployment, wanted) | _going_on(deployment, wanted, found))


@router.get("/{record_id:path}")
def record_page(
    request: Request,
    deployment: ReadableDeployment,
    session: SessionIn,
    record_id: RecordId,
    id_in_query: IdInQuery = "",
    check: CheckId = "",
) -> Response:
    """One record; its id may be any text, and stands in the query where a path cannot hold it."""
    used_by = checks.get(session, deployment.no, check) if check else None
    of_check = used_by.id if used_by is not None and used_by.window is not None else None
    details = record_details(session, deployment.no, record_id or id_in_query, check_id=of_check)
    return page(request, "record.html", {"deployment": deployment, "details": details, "check": used_by} | _record(session, deployment))


def _choosing(session: Session, deployment: Deployment, wanted: RecordsWanted) -> dict[str, Any]:
    monitor = monitor_of(session, deployment.no)
    return {
        "monitor": monitor,
        "choices": [] if monitor is None else choices_of(session, deployment.no, monitor, wanted),
        "among_of": among_of,
        "local": local,
        "words": record_words,
        "span": check_words.span,
        "only_direct": ONLY_DIRECT,
    }


def _going_on(deployment: Deployment, wanted: RecordsWanted, found: Records) -> dict[str, Any]:
    query = query_of(wanted)
    here = {} if wanted.behind is None else {"cursor": cursor_behind(wanted.behind)}
    older = None if found.next_place is None else "?" + urlencode(query | {"cursor": cursor_behind(found.next_place)})
    return {
        "older": older,
        "is_first": wanted.behind is None,
        "is_filtered": bool(query),
        "shown": SHOWN,
        "scanned": SCANNED if wanted.changed is None else SCANNED_WITH_COPIES,
        "as_json": f"/v1/deployments/{deployment.id}/payload-records?" + urlencode(query | here | {"limit": SHOWN}),
    }


def _record(session: Session, deployment: Deployment) -> dict[str, Any]:
    return {
        "monitor": monitor_of(session, deployment.no),
        "words": record_words,
        "span": check_words.span,
        "only_direct": ONLY_DIRECT,
        "parity_treats_unlike": PARITY_TREATS_UNLIKE,
        "PARITY": Mode.PARITY.value,
        "modes": check_words.MODES,
    }
