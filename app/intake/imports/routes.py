"""The route that takes a file of records."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from io import SEEK_END
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Query, Request

from ...access.gate.caller import DeploymentId, Logger, NowIn, Services, ServicesIn
from ...base.apart import ChildWork, SentFile, ask
from ...base.clock import utc_now
from ...base.errors import FieldProblem, InvalidInput, UnsupportedMediaType
from ...base.values import frozen
from ...domain.record import Receipt
from ...domain.record_times import LogKind, RecordSource, TimeRule
from ...web.body import read_apart, read_sent_type, spool_body
from ...web.middleware import takes
from ...web.route_declarations import OptionalMoment, in_utc
from ..hot_routes.routes import IngestionIn
from ..logging.ingest_plan import IngestPlan
from ..logging.log_request import LogRequest
from ..logging.rejection_counts import RejectionCause, classify_rejection
from ..logging.service import Ingestion
from ..volume.arrival_queries import MissingTotals, put_missing
from ..writing.write_target import Target
from .bodies import ImportReportOut
from .flat_tables import ImportLayout, find_layout
from .input_file import ColumnNames, ImportSubject, InputFile, reopen
from .run_import import Checkpoint, ImportReport, RejectedRow, run_import

router = APIRouter(prefix="/v1/deployments/{deployment_id}/imports", tags=["records"])

MAX_IMPORT_BYTES = 256 * 1024 * 1024

MAX_IMPORT_ROWS = 1_000_000
"""Max rows: a Parquet file of a few bytes can hold any number of them."""

MAX_PROBLEMS = 100

MEDIA_TYPES = ("text/csv", "application/jsonlines", "application/x-ndjson", "application/vnd.apache.parquet")

_EXAMPLE = "id,scored_at,Age,Sex,Owner,prediction\na-1,2026-03-01T09:30:00Z,33,female,true,Risk\n"
_BODY = {
    "required": True,
    "content": {
        "text/csv": {"schema": {"type": "string"}, "example": _EXAMPLE},
        **{name: {"schema": {"type": "string", "format": "binary"}} for name in MEDIA_TYPES[1:]},
    },
}

_TIME_FORMAT = (
    "How times are written: a pattern of strptime such as `%d.%m.%Y %H:%M%z`, or s, ms, us, ns, "
    "dotnet, filetime or excel."
)
ColumnName = Annotated[
    str | None,
    Query(min_length=1, max_length=200, pattern=r"^[^\x00]*$", description="The column of a table."),
]


@router.post("", openapi_extra={"requestBody": _BODY})
@takes(*MEDIA_TYPES)
async def import_records(
    request: Request,
    principal: Logger,
    services: ServicesIn,
    ingestion: IngestionIn,
    deployment_id: DeploymentId,
    *,
    now: NowIn,
    kind: Annotated[LogKind, Query(description="What the file holds.")] = LogKind.PAYLOAD,
    layout: Annotated[
        ImportLayout | None,
        Query(description="The file's layout; without it, it is found from its beginning."),
    ] = None,
    at: OptionalMoment = None,
    time_format: Annotated[str | None, Query(max_length=100, description=_TIME_FORMAT)] = None,
    id_column: ColumnName = None,
    time_column: ColumnName = None,
    prediction_column: ColumnName = None,
    probability_column: ColumnName = None,
    label_column: ColumnName = None,
) -> ImportReportOut:
    """Imports a file of records: the file itself as the body. Each record counts for the hour of its own
    time.

    The same file may be sent again: what is stored already is reported as `duplicate`. A file of which
    nothing can be stored is refused, with its rows and fields; of any other one the answer lists the first
    1,000 rejected rows. `at` is the time of records that state none. Text that is not UTF-8 names its
    encoding in the content type (`text/csv; charset=latin-1`). `evenhand import` takes larger files, shows
    the progress, and continues after an interruption.
    """
    plan = await ingestion.read_current_plan(deployment_id)
    principal.require_sight(plan.target.no, deployment_id)
    sent = read_sent_type(request)
    if sent.media_type not in MEDIA_TYPES:
        raise UnsupportedMediaType(
            f"Send one of the content types {', '.join(MEDIA_TYPES)}; found "
            f"{sent.media_type or 'none'!r:.100}."
        )
    columns = ColumnNames(
        id=id_column,
        time=time_column,
        prediction=prediction_column,
        probability=probability_column,
        label=label_column,
    )
    target = plan.target
    times = replace(TimeRule.at(now, target.earliest), form=time_format, zone=None)
    subject = ImportSubject(
        kind=kind,
        schema=target.schema,
        outputs=target.outputs,
        lists_texts=target.lists_texts,
        columns=columns,
        times=times,
        default_time=in_utc("at", at),
        endpoint=target.endpoint,
    )
    async with spool_body(
        request, room=services.uploads, actor=principal.actor, max_bytes=MAX_IMPORT_BYTES
    ) as file:
        storage = _RecordStorage(services, ingestion, plan, kind, principal.actor, asyncio.get_running_loop())
        arguments = (SentFile(file), sent.encoding, layout, subject, _ProcessSink(target), MAX_IMPORT_ROWS)
        report, unread = await read_apart(request, ChildWork(_import_file, *arguments, host=storage))
    ingestion.rejections.note(target.no, unread, source=RecordSource.IMPORT, kind=kind, now=now)
    if report.rejected and not report.accepted + report.duplicate:
        raise InvalidInput(
            [
                FieldProblem(f"line {row.line}, {row.field}", row.reason)
                for row in report.rejections[:MAX_PROBLEMS]
            ]
        )
    return ImportReportOut.from_object(report, reasons=dict(report.reasons.most_common()))


@frozen
class _RecordStorage:
    """Stores records for `_ProcessSink`, in the process that has the database and the event loop."""

    services: Services
    ingestion: Ingestion
    plan: IngestPlan
    kind: LogKind
    actor: str
    loop: asyncio.AbstractEventLoop

    def send(self, body: bytes) -> Receipt | InvalidInput:
        request = LogRequest(body=body, actor=self.actor, historical=True, source=RecordSource.IMPORT)
        log = self.ingestion.log_feedback if self.kind is LogKind.FEEDBACK else self.ingestion.log_payload
        try:
            return asyncio.run_coroutine_threadsafe(
                log(self.plan.target.id, request, now=utc_now()), self.loop
            ).result()
        except InvalidInput as error:
            return error

    def put_left_out(self, sender: str, rate: float, hours: Mapping[datetime, int]) -> None:
        totals = [MissingTotals(hour=hour, not_received=0, left_out=count) for hour, count in hours.items()]
        with self.services.database.transaction() as session:
            put_missing(session, self.plan.target.no, sender, rate, totals)


@frozen
class _ProcessSink:
    """Sink in the other process, which reads the file: passes everything on to `_RecordStorage`."""

    target: Target
    unread: Counter[RejectionCause] = field(default_factory=Counter)

    def send(self, body: bytes) -> Receipt:
        receipt: Receipt = ask("send", body)
        return receipt

    def note_unread(self, row: RejectedRow) -> None:
        self.unread[classify_rejection(row.field, row.reason, self.target)] += 1

    def put_left_out(self, sender: str, rate: float, hours: Mapping[datetime, int]) -> None:
        ask("put_left_out", sender, rate, hours)


def _import_file(
    file: BinaryIO,
    encoding: str,
    layout: ImportLayout | None,
    subject: ImportSubject,
    sink: _ProcessSink,
    max_rows: int,
) -> tuple[ImportReport, Counter[RejectionCause]]:
    body = InputFile("body", partial(reopen, file), file.seek(0, SEEK_END), encoding)
    report = run_import(
        [body], find_layout([body], layout, subject.kind), subject, sink, Checkpoint(), max_rows=max_rows
    )
    return report, sink.unread
