"""Payload records as CSV: those that a filter lets through, in the order and words of the list."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends
from sqlalchemy.orm import Session

from ..access.gate.audit_requests import READS_RECORDS
from ..access.gate.caller import ServicesIn, SessionIn
from ..base.frozen import frozen
from ..base.spreadsheets import harmless
from ..deployments.deployment_in_address import ReadableDeployment
from ..deployments.monitor.queries import find_monitor
from ..deployments.noted_exports import exported
from ..domain.deployment import RecordSchema
from ..sources.stored.record_conditions import GapPlace, RecordPlace
from ..web.id_and_time import Moment, in_utc
from ..web.problem_answers import CONFLICT
from .csv_streams import CsvAnswer, CsvPiece, Raw, RowLimit, send_csv
from .record_lens import name_cells
from .record_list import RecordSummary, RecordsWanted, list_matching_records
from .routes import CheckId, filters
from .second_look.flagged_csv import take_free_name, write_cell

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["records"])

_OF_THE_LOG = ("logged_at", "scored_at", "model_revision", "prediction", "probability")


@frozen
class _Columns:
    """Each attribute of the monitor has a column of groups and one of changes."""

    schema: RecordSchema
    attributes: Sequence[str]
    is_raw: bool

    def header(self) -> Sequence[str]:
        columns = [column.name for column in (*self.schema.features, *self.schema.meta)]
        used = set(columns)
        header = [
            take_free_name(used, "id", "record_id"),
            *(take_free_name(used, name) for name in (*_OF_THE_LOG, "outcome", "gap")),
        ]
        groups = [take_free_name(used, f"group of {attribute}") for attribute in self.attributes]
        names = [
            *header,
            *columns,
            *groups,
            *(take_free_name(used, f"change of {attribute}") for attribute in self.attributes),
        ]
        return names if self.is_raw else list(map(harmless, names))

    def write(self, summary: RecordSummary) -> list[str]:
        record, schema = summary.record, summary.schema
        if record.label is not None:
            record = replace(record, prediction=record.label)
        values = name_cells(schema.features, record.features) | name_cells(schema.meta, record.meta)
        groups = {group.attribute: group.group for group in summary.groups}
        cells = [
            record.record_id,
            *(getattr(record, name) for name in _OF_THE_LOG),
            summary.outcome,
            summary.gap,
            *(values.get(column.name) for column in (*self.schema.features, *self.schema.meta)),
            *(groups.get(attribute) for attribute in self.attributes),
            *(summary.changes.get(attribute) for attribute in self.attributes),
        ]
        return [write_cell(cell, is_raw=self.is_raw) for cell in cells]


def read_piece(
    session: Session, deployment_no: int, filters: RecordsWanted
) -> CsvPiece[RecordSummary, RecordPlace | GapPlace]:
    """Next records that fit, from a bounded part of the log; an empty piece may have a next one."""
    page = list_matching_records(session, deployment_no, filters)
    return CsvPiece(page.records, page.next_place)


def _filtered_records(
    filtered: Annotated[RecordsWanted, Depends(filters)],
    *,
    check: CheckId = None,
    since: Moment = None,
    until: Moment = None,
) -> RecordsWanted:
    return replace(filtered, check_id=check, since=in_utc("since", since), until=in_utc("until", until))


@router.get(
    "/payload-records.csv",
    response_class=CsvAnswer,
    responses=CONFLICT,
    dependencies=[READS_RECORDS, exported("payload_records")],
)
def export_payload_records(
    deployment: ReadableDeployment,
    session: SessionIn,
    services: ServicesIn,
    filtered: Annotated[RecordsWanted, Depends(_filtered_records)],
    limit: RowLimit = None,
    *,
    raw: Raw = False,
) -> CsvAnswer:
    """Returns the records of `GET …/payload-records`, whole, as CSV in the same order: columns as the present
    schema has them.

    `gap` is the largest gap of a record's flags, empty where none is known; `group of …` is the record's
    group in the monitor, `change of …` is `gained`, `lost` or `none` where copies were asked about. A text
    that a spreadsheet would take for a formula has an apostrophe before it, unless `raw` is set.
    """
    monitor = find_monitor(session, deployment.no)
    columns = _Columns(
        deployment.schema, [attribute.feature for attribute in monitor.attributes] if monitor else [], raw
    )

    def read(
        session: Session, after: RecordPlace | GapPlace | None, size: int
    ) -> CsvPiece[RecordSummary, RecordPlace | GapPlace]:
        return read_piece(session, deployment.no, replace(filtered, after=after, limit=size))

    return send_csv(
        services,
        session,
        f"{deployment.id}-payload-records",
        columns.header(),
        columns.write,
        read,
        limit=limit,
    )
