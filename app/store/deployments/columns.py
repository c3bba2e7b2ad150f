"""Columns of a schema version, and tables of files, as a deployment's rows hold them."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from ...domain.definitions import Definition
from ...domain.deployments import Column, ColumnGroup, FieldKind, FieldType, Storage, StorageKind
from ...domain.tables_of_files import FeedbackColumns, FeedbackTable, PayloadColumns, PayloadTable, TableFormat
from ...domain.values import Range


def write_columns(columns: Iterable[Column]) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "type": column.type.value,
            "kind": column.kind.value,
            # Left out where there is none, as before columns could be protected.
            **({} if column.storage is None else {"storage": _write_storage(column.storage)}),
        }
        for column in columns
    ]


def columns_of(stored: Iterable[Mapping[str, Any]]) -> tuple[Column, ...]:
    return tuple(
        Column(
            name=one["name"],
            type=FieldType(one["type"]),
            kind=FieldKind(one["kind"]),
            storage=_read_storage(one["storage"]) if "storage" in one else None,
        )
        for one in stored
    )


def _write_storage(storage: Storage) -> dict[str, Any]:
    groups = [
        {"label": group.label, "values": [[value.lo, value.hi] if isinstance(value, Range) else value for value in group.values]}
        for group in storage.groups
    ]
    return {"kind": storage.kind.value, "sent": storage.sent.value, "groups": groups}


def _read_storage(stored: Mapping[str, Any]) -> Storage:
    groups = tuple(
        ColumnGroup(label=one["label"], values=tuple(Range(*value) if isinstance(value, list) else value for value in one["values"]))
        for one in stored["groups"]
    )
    return Storage(kind=StorageKind(stored["kind"]), sent=FieldType(stored["sent"]), groups=groups)


def write_tables(definition: Definition) -> dict[str, Any] | None:
    """Returns the stored form; None where records are logged."""
    if definition.payload is None:
        return None
    feedback = None if definition.feedback is None else asdict(definition.feedback)
    return {"payload": asdict(definition.payload), "feedback": feedback}


def read_payload_table(stored: Mapping[str, Any] | None) -> PayloadTable | None:
    if stored is None:
        return None
    table = stored["payload"]
    return PayloadTable(**{**table, "format": TableFormat(table["format"]), "columns": PayloadColumns(**table["columns"])})


def read_feedback_table(stored: Mapping[str, Any] | None) -> FeedbackTable | None:
    if stored is None or stored["feedback"] is None:
        return None
    table = stored["feedback"]
    return FeedbackTable(**{**table, "format": TableFormat(table["format"]), "columns": FeedbackColumns(**table["columns"])})
