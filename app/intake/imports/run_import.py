"""Imports files: their rows are read, sent in batches and noted as done. A row that is sent twice is stored
once.
"""

import hashlib
import json
import math
import os
import re
import sys
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from ...base.clock import floor_to_hour
from ...base.errors import InvalidInput, TooLarge
from ...base.strict_json import JsonObject
from ...base.values import frozen
from ...domain.record import Receipt
from ...domain.record_times import LogKind
from ..logging.ingest_plan import MAX_RECORD_BYTES
from .flat_tables import ImportLayout
from .input_file import ImportRow, ImportSubject, InputFile, RowRefused, quote_value

MAX_LISTED_REJECTIONS = 1000

MAX_REASONS = 200
"""Different reasons that are counted; further ones count as `other`."""

_QUOTED_VALUE = re.compile(r"(, found .*|; .*|:? '.*)$", re.DOTALL)


@frozen
class RejectedRow:
    file: str
    line: int
    field: str
    reason: str


@dataclass
class ImportReport:
    """Numbers of rows: read = accepted + duplicate + rejected.

    A duplicate was stored before. A rounded probability, at most 1e-6 outside [0, 1], became 0 or 1.
    `rejections` are the first ones, `warnings` count rows that are in no figure. Times are ISO 8601 in UTC.
    """

    read: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    rounded_probabilities: int = 0
    earliest: str | None = None
    latest: str | None = None
    reasons: Counter[str] = field(default_factory=Counter)
    rejections: list[RejectedRow] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)

    def reject(self, row: RejectedRow) -> None:
        self.rejected += 1
        if len(self.rejections) < MAX_LISTED_REJECTIONS:
            self.rejections.append(row)
        # Without the value, so that equal faults of a million rows are one line.
        reason = f"{row.field}: {_QUOTED_VALUE.sub('', row.reason)}"
        if reason not in self.reasons and len(self.reasons) >= MAX_REASONS:
            reason = "other"
        self.reasons[reason] += 1

    def to_json(self) -> JsonObject:
        return vars(self) | {
            "reasons": dict(self.reasons.most_common()),
            "rejections": list(map(asdict, self.rejections)),
        }

    @classmethod
    def from_json(cls, members: JsonObject) -> "ImportReport":
        rejections = [RejectedRow(**row) for row in members["rejections"]]
        return cls(
            **members
            | {
                "reasons": Counter(members["reasons"]),
                "rejections": rejections,
                "warnings": Counter(members["warnings"]),
            }
        )


class Checkpoint:
    """Progress of an import. This class stores nothing: each import begins at the beginning."""

    def resume(self) -> tuple[ImportReport, int]:
        return ImportReport(), 0

    def write_rejection(self, row: RejectedRow) -> None: ...

    def note(self, report: ImportReport, rows_done: int) -> None:
        """So many rows are stored durably, or rejected."""

    def finish(self) -> None:
        """Forgets the import: another one of the same files begins at their beginning."""


class CheckpointFile(Checkpoint):
    """Progress in a file, by which an interrupted import of the same `identity` continues.

    Rejected rows are written to the file `rejections`, one JSON object a line.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], *, rejections: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._key = hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()
        self._path = folder / f"{self._key[:32]}.json"
        self._rejections = rejections
        self._file: BinaryIO | None = None

    def resume(self) -> tuple[ImportReport, int]:
        report = ImportReport()
        rows_done = 0
        written = 0
        # Without a readable note the import begins again; nothing is stored twice.
        with suppress(OSError, ValueError, KeyError, TypeError):
            stored = json.loads(self._path.read_bytes())
            if stored["key"] == self._key:
                report = ImportReport.from_json(stored["report"])
                rows_done = int(stored["done"])
                written = int(stored["rejections_bytes"])
        if self._rejections is not None:
            self._file = self._rejections.open("r+b" if rows_done and self._rejections.exists() else "wb")
            self._file.truncate(written)
            self._file.seek(0, os.SEEK_END)
        return report, rows_done

    def write_rejection(self, row: RejectedRow) -> None:
        if self._file is not None:
            self._file.write(json.dumps(asdict(row)).encode() + b"\n")

    def note(self, report: ImportReport, rows_done: int) -> None:
        """Replaces the note: a kill leaves the old or the new one."""
        written = 0
        if self._file is not None:
            self._file.flush()
            written = self._file.tell()
        note = {"key": self._key, "done": rows_done, "rejections_bytes": written, "report": report.to_json()}
        new_file = self._path.with_suffix(".new")
        new_file.write_text(json.dumps(note))
        new_file.replace(self._path)

    def finish(self) -> None:
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


BATCH_ROWS = 1000

BATCH_BYTES = 2**20

_DIGEST_CHARACTERS = 32


class ImportSink(Protocol):
    def send(self, body: bytes) -> Receipt:
        """`body` holds historical records; returns after the durable commit.

        Raises:
            InvalidInput: the body as a whole is refused.
        """

    def note_unread(self, row: RejectedRow) -> None: ...

    def put_left_out(self, sender: str, rate: float, hours: Mapping[datetime, int]) -> None:
        """Notes the records that a sampled log does not hold, by hour."""


@frozen
class _Line:
    row: ImportRow
    text: bytes


def run_import(
    files: Sequence[InputFile],
    layout: ImportLayout,
    subject: ImportSubject,
    sink: ImportSink,
    checkpoint: Checkpoint,
    *,
    notice: Callable[[ImportReport], None] = lambda _: None,
    max_rows: int = sys.maxsize,
) -> ImportReport:
    """Calls `notice` after each batch. An import that continues does not send finished rows again."""
    report, rows_done = checkpoint.resume()
    if not rows_done:
        _require_importable(files, layout, subject, max_rows)
    digests = {file.name: file.digest for file in files}
    # Records of sampled logs, by fraction and hour.
    sampled = defaultdict[float, Counter[datetime]](Counter)
    waiting = []
    size = position = 0
    for row in layout.read(files, subject):
        record = row.record or {}
        # The service refuses a row without a valid time.
        with suppress(KeyError, TypeError, ValueError):
            time = datetime.fromisoformat(record["scored_at" if "scored_at" in record else "labelled_at"])
            text = time.astimezone(UTC).isoformat(timespec="microseconds")
            report.earliest = min(report.earliest or text, text)
            report.latest = max(report.latest or text, text)
            if row.fraction < 1:
                sampled[row.fraction][floor_to_hour(time)] += 1
        position += 1
        if position <= rows_done:
            continue
        report.read += 1
        try:
            line = _Line(row, encode_record(row, digests[row.file], subject))
        except RowRefused as refused:
            sink.note_unread(_reject(row, refused.field, refused.reason, report, checkpoint))
            continue
        waiting.append(line)
        size += len(line.text)
        if len(waiting) >= BATCH_ROWS or size >= BATCH_BYTES:
            _send(waiting, sink, report, checkpoint)
            waiting = []
            size = 0
            checkpoint.note(report, position)
            notice(report)
    if waiting:
        _send(waiting, sink, report, checkpoint)
    for rate, records in sampled.items():
        sender = uuid.uuid5(uuid.NAMESPACE_OID, f"{sorted(digests.values())} {rate!r}")
        left_out = {hour: math.floor(count / rate - count + 0.5) for hour, count in records.items()}
        sink.put_left_out(str(sender), rate, left_out)
    checkpoint.finish()
    notice(report)
    return report


def _require_importable(
    files: Sequence[InputFile], layout: ImportLayout, subject: ImportSubject, max_rows: int
) -> None:
    has_too_many = sum(file.count_stated_rows() for file in files) > max_rows or any(
        position == max_rows for position, _ in enumerate(layout.read(files, subject))
    )
    if has_too_many:
        raise TooLarge(
            f"The file has more than {max_rows:,} rows. Send parts of it, or use `evenhand import`."
        )
    refusal = subject.tally.find_refusal(subject.times)
    if refusal is not None:
        raise InvalidInput("time", f"{refusal}; nothing was stored.")


def encode_record(row: ImportRow, digest: str, subject: ImportSubject) -> bytes:
    """A record without an id gets one of its line and the digest of its file.

    Raises RowRefused without a record, or for a value that JSON does not have.
    """
    if row.record is None:
        raise RowRefused(row.field, row.reason)
    record = _apply_threshold(row.record, subject)
    # A made-up id of a label would wait permanently for its record.
    if record.get("id") is None and (subject.kind is LogKind.PAYLOAD or record.get("features")):
        # By content and line: the same file again, under any name, gives the same ids.
        record["id"] = f"{digest[:_DIGEST_CHARACTERS]}-{row.line}"
    features = record.get("features")
    size = 0
    if isinstance(features, dict):
        size = sum(len(value) for value in features.values() if isinstance(value, str))
    # Python's writer takes NaN and half surrogate pairs, which the service refuses by record and field.
    try:
        text = json.dumps(record, separators=(",", ":")).encode() if size < BATCH_BYTES else b""
    except TypeError:
        where, value = next(_find_unwritable(record, ()))
        raise RowRefused(
            ".".join(where),
            f"must be text, a number, true or false, "
            f"found {quote_value(value)} ({type(value).__name__.lower()})",
        ) from None
    if max(size, len(text)) >= BATCH_BYTES:
        raise RowRefused("record", f"must have at most {MAX_RECORD_BYTES:,} bytes as JSON")
    return text


def _apply_threshold(record: Mapping[str, Any], subject: ImportSubject) -> JsonObject:
    only_scores = subject.outputs.has_only_probabilities
    threshold = subject.score_threshold
    score = record.get("probability" if only_scores else "prediction")
    if threshold is None or not isinstance(score, float) or not 0 < score < 1:
        return dict(record)
    classes = (subject.outputs.classes if only_scores else None) or (0, 1)
    return {**record, "prediction": classes[score >= threshold], "probability": score}


def _find_unwritable(value: object, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yields the path and the value of each cell that JSON cannot hold; values in a list have the path of the
    list.
    """
    if isinstance(value, dict):
        for name, nested in value.items():
            yield from _find_unwritable(nested, (*where, str(name)))
    elif isinstance(value, list | tuple):
        for nested in value:
            yield from _find_unwritable(nested, where)
    elif value is not None and not isinstance(value, str | int | float):
        yield where, value


def _send(lines: Sequence[_Line], sink: ImportSink, report: ImportReport, checkpoint: Checkpoint) -> None:
    body = b'{"records":[' + b",".join(line.text for line in lines) + b"]}"
    try:
        receipt = sink.send(body)
    except InvalidInput as error:
        if len(lines) > 1:
            # The service refuses a body for one record: halving finds it.
            middle = len(lines) // 2
            _send(lines[:middle], sink, report, checkpoint)
            _send(lines[middle:], sink, report, checkpoint)
            return
        problem = error.problems[0]
        _reject(lines[0].row, problem.field, problem.message, report, checkpoint)
        return
    report.accepted += receipt.accepted
    report.duplicate += receipt.duplicate
    report.rounded_probabilities += receipt.rounded
    report.warnings.update(
        {f"{warning.field}: {warning.message}": warning.records for warning in receipt.warnings}
    )
    faults = [(rejection.index, rejection.field, rejection.reason) for rejection in receipt.rejections]
    faults += [(conflict.index, "id", conflict.reason) for conflict in receipt.conflicts]
    for index, name, reason in sorted(faults):
        _reject(lines[index].row, name, reason, report, checkpoint)


def _reject(
    row: ImportRow, field: str, reason: str, report: ImportReport, checkpoint: Checkpoint
) -> RejectedRow:
    rejected = RejectedRow(row.file, row.line, field, reason)
    report.reject(rejected)
    checkpoint.write_rejection(rejected)
    return rejected


def describe_subject(subject: ImportSubject) -> JsonObject:
    return {
        "kind": subject.kind.value,
        "columns": astuple(subject.columns),
        "at": subject.default_time and subject.default_time.isoformat(),
        "times": [str(subject.times.zone), subject.times.form, subject.times.earliest.isoformat()],
        "score_threshold": subject.score_threshold,
        "format": None
        if subject.endpoint is None
        else [subject.endpoint.payload_format, repr(subject.endpoint.mapping)],
        "schema": [[column.name, column.type.value] for column in subject.schema.columns],
        "lists_texts": subject.lists_texts,
        "outputs": astuple(subject.outputs),
    }
