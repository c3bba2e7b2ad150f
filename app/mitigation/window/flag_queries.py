"""Flags on payload records that need a second look, largest gap first."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

import msgspec
from sqlalchemy import ColumnElement, Select, and_, delete, false, func, not_, or_, select, text, tuple_
from sqlalchemy.orm import Session

from ...base.values import frozen_by_name
from ...database.binary_rows import Page, equal, fill_page, read_row, within
from ...database.tables import DeploymentSchemaRow, FlaggedRecordRow, PayloadRecordRow
from ...domain.deployment import RecordSchema
from ...domain.mitigation import FlaggedRecord

_ROWS_AT_ONCE = 50
"""Rows that are fetched at a time: they may be large."""

_FIELDS = tuple(FlaggedRecord.__dataclass_fields__)
_COLUMNS = ", ".join(f'"{name}"' for name in (*_FIELDS, "deployment_no", "check_no"))
_KEY = ("deployment_no", "record_no", "attribute")

# The model's answer outweighs the detector's guess; of one kind the newer counts.
_MERGE = f"""
INSERT INTO flagged_records ({_COLUMNS})
SELECT DISTINCT ON (record_no, attribute) {_COLUMNS}
FROM jsonb_populate_recordset(CAST(NULL AS flagged_records), CAST(:flags AS jsonb))
ORDER BY record_no, attribute, kind = 'changed' DESC, gap DESC
ON CONFLICT ({", ".join(_KEY)}) DO UPDATE
SET {", ".join(f'"{name}" = excluded."{name}"' for name in (*_FIELDS, "check_no") if name not in _KEY)}
WHERE excluded.kind = 'changed' OR flagged_records.kind <> 'changed'
    OR flagged_records.model_revision <> excluded.model_revision
"""  # noqa: S608 - nothing of it comes from outside


@frozen_by_name
class FlaggedFilter:
    """Of one model revision that was asked again. Times are half-open."""

    model_revision: str
    attribute: str | None = None
    direction: str | None = None
    kind: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class FlagPlace(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Position in the list; a cursor, too, which is checked when it is read."""

    # JSON keeps every digit of a float.
    gap: Annotated[float, msgspec.Meta(ge=0)]
    record_no: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    attribute: Annotated[str, msgspec.Meta(pattern=r"\A[^\x00]*\Z")]


@frozen_by_name
class FlaggedPayload:
    """Flagged record with its flag; cells are in the order of `schema`.

    `model_revision` answered the record; the flag has the one that was asked again.
    """

    flag: FlaggedRecord
    record_id: str
    scored_at: datetime
    model_revision: str
    schema: RecordSchema
    features: tuple[Any, ...]
    meta: tuple[Any, ...]
    prediction: Any
    probability: Any
    label: Any
    mitigated: dict[str, Any] | None

    @property
    def place(self) -> FlagPlace:
        return FlagPlace(self.flag.gap, self.flag.record_no, self.flag.attribute)


def store_flagged(
    session: Session, deployment_no: int, check_no: int, records: Sequence[FlaggedRecord]
) -> None:
    """Writes the flags of a check, one for each record and attribute; no `likely` one replaces a `changed`
    one of a model revision.
    """
    if not records:
        return
    of_check = {"deployment_no": deployment_no, "check_no": check_no}
    flags = msgspec.json.encode([asdict(record) | of_check for record in records])
    session.execute(text(_MERGE), {"flags": flags.decode()})


def clear_flags(
    session: Session, deployment_no: int, attribute: str, record_nos: Sequence[int], kinds: Sequence[str]
) -> None:
    session.execute(
        text(
            "DELETE FROM flagged_records WHERE deployment_no = :deployment_no AND attribute = :attribute"
            " AND record_no = ANY(CAST(:record_nos AS bigint[])) AND kind = ANY(:kinds)"
        ),
        {
            "deployment_no": deployment_no,
            "attribute": attribute,
            "record_nos": list(record_nos),
            "kinds": list(kinds),
        },
    )


def drop_unwatched_flags(session: Session, deployment_no: int, groups: Mapping[str, Sequence[str]]) -> None:
    """Deletes flags of other groups than these: no check would look at them again."""
    # Without attributes all flags go.
    watched = [
        and_(FlaggedRecordRow.attribute == attribute, FlaggedRecordRow.group.in_(labels))
        for attribute, labels in groups.items()
    ]
    session.execute(
        delete(FlaggedRecordRow).where(
            FlaggedRecordRow.deployment_no == deployment_no, not_(or_(false(), *watched))
        )
    )


def page_flagged(
    session: Session, deployment_no: int, filters: FlaggedFilter, *, after: FlagPlace | None, limit: int
) -> Page[FlaggedPayload]:
    conditions = _build_conditions(filters)
    if after:
        further = tuple_(FlaggedRecordRow.record_no, FlaggedRecordRow.attribute) > (
            after.record_no,
            after.attribute,
        )
        # Implied by the others, but lets the index be used.
        conditions.append(
            and_(FlaggedRecordRow.gap <= after.gap, or_(FlaggedRecordRow.gap < after.gap, further))
        )
    statement = _select_flags(deployment_no).where(*conditions).limit(limit)
    with session.execute(statement, execution_options={"yield_per": _ROWS_AT_ONCE}) as rows:
        flagged = (
            read_row(
                FlaggedPayload,
                record,
                flag=read_row(FlaggedRecord, flag),
                schema=read_row(RecordSchema, schema),
                meta=tuple(record.meta or (None,) * len(schema.meta)),
            )
            for flag, record, schema in rows
        )
        return fill_page(flagged, _measure_size)


def count_flags(session: Session, deployment_no: int, filters: FlaggedFilter, *, most: int) -> int:
    """Counts up to `most`."""
    rows = _select_flags(deployment_no).with_only_columns(FlaggedRecordRow.record_no).order_by(None)
    counted = select(func.count()).select_from(rows.where(*_build_conditions(filters)).limit(most).subquery())
    return session.execute(counted).scalar_one()


def _build_conditions(filters: FlaggedFilter) -> list[ColumnElement[bool]]:
    columns = {
        FlaggedRecordRow.model_revision: filters.model_revision,
        FlaggedRecordRow.attribute: filters.attribute,
        FlaggedRecordRow.direction: filters.direction,
        FlaggedRecordRow.kind: filters.kind,
    }
    return [*equal(columns), *within(FlaggedRecordRow.logged_at, filters.since, filters.until)]


def _measure_size(flagged: FlaggedPayload) -> int:
    values = (
        flagged.features,
        flagged.meta,
        flagged.prediction,
        flagged.probability,
        flagged.label,
        flagged.mitigated,
    )
    return len(msgspec.json.encode(values))


def _select_flags(deployment_no: int) -> Select[FlaggedRecordRow, PayloadRecordRow, DeploymentSchemaRow]:
    is_flagged = and_(
        PayloadRecordRow.deployment_no == FlaggedRecordRow.deployment_no,
        PayloadRecordRow.logged_at == FlaggedRecordRow.logged_at,
        PayloadRecordRow.record_no == FlaggedRecordRow.record_no,
    )
    has_schema = and_(
        DeploymentSchemaRow.deployment_no == PayloadRecordRow.deployment_no,
        DeploymentSchemaRow.version == PayloadRecordRow.schema_version,
    )
    return (
        select(FlaggedRecordRow, PayloadRecordRow, DeploymentSchemaRow)
        .join(PayloadRecordRow, is_flagged)
        .join(DeploymentSchemaRow, has_schema)
        .where(FlaggedRecordRow.deployment_no == deployment_no)
        .order_by(FlaggedRecordRow.gap.desc(), FlaggedRecordRow.record_no, FlaggedRecordRow.attribute)
    )
