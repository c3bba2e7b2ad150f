"""Routes that read ground-truth labels."""

from fastapi import APIRouter

from ...access.gate.caller import READS_RECORDS, SessionIn
from ...base.errors import Conflict, require_present
from ...deployments.deployment_in_address import NEEDS_LOGGED, ReadableDeployment
from ...sources.stored.record_conditions import RecordPlace
from ...sources.stored.record_queries import read_schemas
from ...web.route_declarations import (
    CONFLICT,
    Limit,
    OptionalMoment,
    PlaceCursor,
    answers,
    encode_place,
    in_utc,
    read_place_cursor,
)
from ..routes import RecordId, WithCount
from .bodies import FeedbackRecordOut, FeedbackRecordPage
from .queries import count_feedback, find_feedback, list_feedback

router = APIRouter(
    prefix="/v1/deployments/{deployment_id}/feedback-records",
    tags=["records"],
    dependencies=[NEEDS_LOGGED],
    responses=answers(Conflict),
)


@router.get("", responses=CONFLICT, dependencies=[READS_RECORDS])
def list_feedback_records(
    *,
    deployment: ReadableDeployment,
    session: SessionIn,
    since: OptionalMoment = None,
    until: OptionalMoment = None,
    limit: Limit = 100,
    cursor: PlaceCursor = None,
    count: WithCount = False,
) -> FeedbackRecordPage:
    """Returns ground-truth labels, `since` <= `logged_at` < `until`, newest first, each with the features
    of its record or its own.
    """
    earliest = in_utc("since", since)
    latest = in_utc("until", until)
    records = list_feedback(
        session,
        deployment.no,
        since=earliest,
        until=latest,
        after=read_place_cursor(cursor, RecordPlace),
        limit=limit + 1,
    )
    schemas = read_schemas(session, deployment.no)
    page = records[:limit]
    return FeedbackRecordPage(
        feedback_records=[FeedbackRecordOut.of(record, schemas[record.schema_version]) for record in page],
        next_cursor=encode_place(
            RecordPlace(page[-1].logged_at, page[-1].feedback_no) if len(records) > limit else None
        ),
        count=count_feedback(session, deployment.no, since=earliest, until=latest) if count else None,
    )


@router.get("/{record_id:path}", dependencies=[READS_RECORDS])
def read_feedback_record(
    deployment: ReadableDeployment, session: SessionIn, record_id: RecordId
) -> FeedbackRecordOut:
    """Returns the ground-truth label of that id."""
    record = require_present(find_feedback(session, deployment.no, record_id), "feedback record", record_id)
    return FeedbackRecordOut.of(record, read_schemas(session, deployment.no)[record.schema_version])
