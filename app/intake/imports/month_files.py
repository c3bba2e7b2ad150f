"""Files of `evenhand export`: Parquet whose metadata hold the schema."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from ...base.durable_files import write_through
from ...base.errors import InvalidInput, SetupError
from ...base.strict_json import JsonObject
from ...domain.deployment import OutputFields, ProblemType, RecordSchema, StorageKind
from ...domain.record_times import LogKind
from ..logging.ingest_plan import OPTIONAL_COLUMNS
from .input_file import ImportRow, ImportSubject, InputFile, RowRefused, quote_value, read_time
from .logged_calls import read_rows

_HEAD_KEY = b"evenhand"
_OPTIONAL_NAMES = {column.name for column in OPTIONAL_COLUMNS}
_JSON_COLUMNS = ("prediction", "probability", "label")
_REGISTERED_MEMBERS = ("name", "problem_type", "outputs", "model_revision")
_INT64 = range(-(2**63), 2**63)


class ExportHead(Struct, frozen=True, kw_only=True):
    format: Literal[1] = 1
    kind: LogKind
    month: str
    name: str
    problem_type: ProblemType
    schema: RecordSchema
    outputs: OutputFields
    model_revision: str

    @property
    def columns(self) -> list[str]:
        return [f"features.{column.name}" for column in self.schema.features] + [
            f"meta.{column.name}" for column in self.schema.meta
        ]

    def registration(self, deployment_id: str) -> JsonObject:
        registered = {name: msgspec.to_builtins(getattr(self, name)) for name in _REGISTERED_MEMBERS}
        return {"id": deployment_id, **registered} | {
            section: [{"name": column.name, "type": column.type, "kind": column.kind} for column in columns]
            for section, columns in {"features": self.schema.features, "meta": self.schema.meta}.items()
        }


def write_export(path: Path, head: ExportHead, rows: pa.RecordBatchReader) -> int:
    """Durably; returns their number. Their last columns are those of the schema. Only the owner may read the
    file. Raises SetupError.
    """
    own_names = rows.schema.names[: len(rows.schema) - len(head.columns)]
    fields = [
        pa.field(name, field.type)
        for name, field in zip((*own_names, *head.columns), rows.schema, strict=True)
    ]
    schema = pa.schema(fields, metadata={_HEAD_KEY: msgspec.json.encode(head)})
    written = 0
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with (
                os.fdopen(descriptor, "wb") as sink,
                pq.ParquetWriter(sink, schema, compression="zstd") as writer,
            ):
                for batch in rows:
                    writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
                    written += batch.num_rows
            write_through(path)
            write_through(path.absolute().parent)
        except BaseException:
            path.unlink()  # a complete file with some of the records would look like all
            raise
    except OSError as error:
        raise SetupError(
            f"Nothing was written to {path}: {error.strerror or error}. Name another file, or try again."
        ) from error
    return written


def read_head(file: InputFile) -> ExportHead | None:
    encoded = file.parquet_metadata().get(_HEAD_KEY)
    try:
        return None if encoded is None else msgspec.json.decode(encoded, type=ExportHead)
    except msgspec.MsgspecError as error:
        reason = (
            "has a head of `evenhand export` that was changed, or is of another version of Evenhand "
            f"({error})"
        )
        raise InvalidInput(file.name, reason) from error


def read_export(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    for file in files:
        head = read_head(file)
        if head is None:
            raise InvalidInput(
                file.name, "is not a file of `evenhand export`: its metadata have no deployment"
            )
        _require_fit(head, subject, file)
        try:
            yield from read_rows(file, file.parquet_rows(), partial(_convert_row, head, file, subject))
        except KeyError as error:
            raise InvalidInput(file.name, f"has no column {error}, which `evenhand export` writes") from error


def _require_fit(head: ExportHead, subject: ImportSubject, file: InputFile) -> None:
    advice = "Import it into a new deployment, with evenhand import payload --register"
    if head.kind is not subject.kind:
        raise InvalidInput(
            file.name, f"holds {head.kind.value} records; import it with evenhand import {head.kind.value}"
        )
    for section in ("features", "meta"):
        exported = {column.name: column.storage for column in getattr(head.schema, section)}
        present_columns = {column.name: column.storage for column in getattr(subject.schema, section)}
        if exported.keys() != present_columns.keys():
            name = min(exported.keys() ^ present_columns.keys())
            reason = (
                f"is of another schema: either the file or the deployment alone has {name!r:.200} in "
                f"its {section}. {advice}"
            )
            raise InvalidInput(file.name, reason)
        for name, storage in exported.items():
            if (
                storage is not None
                and storage.kind is StorageKind.PSEUDONYM
                and present_columns[name] is not None
            ):
                reason = (
                    f"holds pseudonyms in {section}.{name:.200}, of which the deployment would make "
                    f"others. {advice}"
                )
                raise InvalidInput(file.name, reason)


def _convert_row(
    head: ExportHead, file: InputFile, subject: ImportSubject, row: Mapping[str, Any], _: int
) -> list[JsonObject]:
    time = subject.time_name
    record = {
        "id": row["id"],
        time: read_time(row[time], time, file, subject),
        **{name: _read_json(row, name) for name in _JSON_COLUMNS},
    }
    for section, columns in (("features", head.schema.features), ("meta", head.schema.meta)):
        # A record without meta fields differs from one whose meta fields are null.
        if row[f"has_{section}"]:
            record[section] = {column.name: row[f"{section}.{column.name}"] for column in columns}
    if head.kind is LogKind.PAYLOAD:
        record |= {name: row[name] for name in _OPTIONAL_NAMES.difference(_JSON_COLUMNS)}
    return [record]


def _read_json(row: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - any JSON
    try:
        return None if row[name] is None else json.loads(row[name], parse_int=_read_integer)
    except (TypeError, ValueError, RecursionError) as error:
        raise RowRefused(name, f"must be a value as JSON, found {quote_value(row[name])}") from error


def _read_integer(text: str) -> int | float:
    # Postgres writes 1e300 with all digits; whole numbers over 64 bits would be refused.
    return int(text) if int(text) in _INT64 else float(text)
