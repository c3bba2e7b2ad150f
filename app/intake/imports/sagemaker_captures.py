"""SageMaker's data capture and ground truth, joined by `inferenceId`, else by `eventId`."""

from collections.abc import Iterator, Sequence
from functools import partial

from ...base.strict_json import JsonObject
from ...domain.arrival import LogKind
from ..logging.model_call import ids_of_call
from .import_row import ImportRow, RowRefused
from .import_subject import ImportSubject, read_time
from .input_file import InputFile
from .logged_calls import LoggedCallReader, read_bytes, read_labels, read_rows

_CAPTURE, _TRUTH = "captureData", "groundTruthData"


def read_sagemaker(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    """Yields records of captures, or labels of ground truth."""
    reader = LoggedCallReader(subject)
    for file in files:
        read = partial(_read_truth, file, subject)
        if subject.kind is LogKind.PAYLOAD:
            read = partial(_read_capture, reader, file, subject)
        yield from read_rows(file, file.json_lines(), read)


def _read_capture(
    reader: LoggedCallReader, file: InputFile, subject: ImportSubject, line: JsonObject, _: int
) -> list[JsonObject]:
    capture = _member(line, _CAPTURE, "")
    path = f"{_CAPTURE}."
    call = _read_id(line)
    time = _member(line, "eventMetadata", "").get("inferenceTime")
    return reader.records(
        call,
        read_time(time, "eventMetadata.inferenceTime", file, subject),
        _read_body(capture, "endpointInput", path),
        _read_body(capture, "endpointOutput", path),
    )


def _read_truth(file: InputFile, subject: ImportSubject, line: JsonObject, _: int) -> list[JsonObject]:
    labels = read_labels(_read_body(line, _TRUTH, ""), f"{_TRUTH}.data")
    call = _read_id(line)
    time = read_time(None, "labelled_at", file, subject)
    return [
        {"id": record_id, "label": label, "labelled_at": time}
        for record_id, label in zip(ids_of_call(call, len(labels)), labels, strict=True)
    ]


def _read_id(line: JsonObject) -> str:
    metadata = _member(line, "eventMetadata", "")
    inference_id = metadata.get("inferenceId") or metadata.get("eventId")
    if not isinstance(inference_id, str):
        raise RowRefused("eventMetadata.eventId", "is missing")
    return inference_id


def _read_body(capture: JsonObject, name: str, path: str) -> bytes:
    side = _member(capture, name, path)
    return read_bytes(side.get("data"), f"{path}{name}.data", encoding=str(side.get("encoding", "")).upper())


def _member(document: JsonObject, name: str, path: str) -> JsonObject:
    member = document.get(name)
    if member is None:
        raise RowRefused(path + name, "is missing")
    if not isinstance(member, dict):
        raise RowRefused(path + name, "must be an object")
    return member
