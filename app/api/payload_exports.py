"""Payload records as CSV: those that a filter lets through, in the order and words of the list."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends
from sqlalchemy.orm import Session

from ..domain.deployments import Deployment
from ..domain.monitors import Monitor
from ..domain.spreadsheets import harmless
from ..services import Services
from ..store.deployments.monitors import monitor_of
from ..store.records.record_conditions import GapPlace, RecordPlace
from ..views.transactions import RecordSummary, RecordsWanted, records_of
from ..web.access import ReadableDeployment, ServicesIn, SessionIn
from ..web.auditing import READS_RECORDS
from ..web.times import Moment, in_utc
from .answers import CONFLICT
from .csv_streams import PIECE, CsvAnswer, CsvExport, CsvPiece, Raw, RowLimit, stream_csv
from .exports import exported
from .flagged_csv import take_free_name, write_cell
from .payload_records import CheckId, filters

router = APIRouter(prefix="/v1/deployments/{deployment_id}", tags=["records"])

RecordPiece: TypeAlias = CsvPiece[RecordSummary, RecordPlace | GapPlace]

_OF_THE_LOG = ("logged_at", "scored_at", "model_revision", "prediction", "probability")


@dataclass(frozen=True, slots=True)
class _RecordExport(CsvExport[RecordSummary, RecordPlace | GapPlace]):
    """Each attribute of the monitor has a column of groups and one of changes."""

    services: Services
    deployment: Deployment
    monitor: Monitor | None
    wanted: RecordsWanted
    is_raw: bool

    def header(self) -> Sequence[str]:
        schema, attributes = self.deployment.schema, self._attributes()
        columns = [column.name for column in (*schema.features, *schema.meta)]
        taken = set(columns)
        header = [take_free_name(taken, "id", "record_id"), *(take_free_name(taken, name) for name in (*_OF_THE_LOG, "outcome", "gap"))]
        groups = [take_free_name(taken, f"group of {one}") for one in attributes]
        names = [*header, *columns, *groups, *(take_free_name(taken, f"change of {one}") for one in attributes)]
        return names if self.is_raw else list(map(harmless, names))

    def rows(self, items: Sequence[RecordSummary]) -> Iterable[Sequence[str]]:
        return map(self._row, items)

    def read_after(self, place: RecordPlace | GapPlace, limit: int) -> RecordPiece:
        with self.services.database.transaction() as session:
            return read_piece(session, self.deployment.no, replace(self.wanted, after=place, limit=limit))

    def _attributes(self) -> list[str]:
        return [] if self.monitor is None else [one.feature for one in self.monitor.attributes]

    def _row(self, one: RecordSummary) -> list[str]:
        record, schema = one.record, self.deployment.schema
        values = dict(zip((column.name for column in one.schema.features), record.features, strict=True))
        values |= dict(zip((column.name for column in one.schema.meta), record.meta or [None] * len(one.schema.meta), strict=True))
        groups = {group.attribute: group.group for group in one.groups}
        cells = [
            *(record.record_id, record.logged_at.isoformat(), record.scored_at.isoformat(), record.model_revision),
            *(record.prediction if record.label is None else record.label, record.probability, one.outcome, one.gap),
            *(values.get(column.name) for column in (*schema.features, *schema.meta)),
            *(groups.get(attribute) for attribute in self._attributes()),
            *(one.changes.get(attribute) for attribute in self._attributes()),
        ]
        return [write_cell(cell, is_raw=self.is_raw) for cell in cells]


def read_piece(session: Session, deployment_no: int, wanted: RecordsWanted) -> RecordPiece:
    """Next records that fit, from a bounded part of the log; an empty piece may have a next one."""
    found = records_of(session, deployment_no, wanted)
    return CsvPiece(found.records, found.next_place)


def _filtered_records(
    filtered: Annotated[RecordsWanted, Depends(filters)], *, check: CheckId = None, since: Moment = None, until: Moment = None
) -> RecordsWanted:
    return replace(filtered, check_id=check, since=in_utc("since", since), until=in_utc("until", until))


@router.get("/payload-records.csv", response_class=CsvAnswer, responses=CONFLICT, dependencies=[READS_RECORDS, exported("payload_records")])
def export_payload_records(
    deployment: ReadableDeployment,
    session: SessionIn,
    services: ServicesIn,
    filtered: Annotated[RecordsWanted, Depends(_filtered_records)],
    limit: RowLimit = None,
    *,
    raw: Raw = False,
) -> CsvAnswer:
    """Returns the records of `GET …/payload-records`, whole, as CSV in the same order: columns as the present schema has them.

    `gap` is the largest gap of a record's flags, empty where none is known; `group of …` is the record's group in the monitor, `change of
    …` is `gained`, `lost` or `none` where copies were asked about. A text that a spreadsheet would take for a formula has an apostrophe
    before it, unless `raw` is set.
    """
    most = PIECE if limit is None else min(limit, PIECE)
    wanted = replace(filtered, limit=most)
    # Before the answer begins: a fault is still a problem document and no broken CSV.
    first = read_piece(session, deployment.no, wanted)
    export = _RecordExport(services, deployment, monitor_of(session, deployment.no), wanted, raw)
    headers = {"Content-Disposition": f'attachment; filename="{deployment.id}-payload-records.csv"'}
    return CsvAnswer(stream_csv(export, first, turns=services.turns, limit=limit), headers=headers)
