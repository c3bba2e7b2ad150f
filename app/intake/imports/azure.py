"""Azure's model data collector: CloudEvents as JSON lines, joined by id. Frames of custom logging, or
bodies of payload logging.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from .call_halves import Half
from .import_row import ImportRow, RowRefused, quoted
from .import_subject import ImportSubject, read_time
from .input_file import InputFile
from .logged_calls import join_halves

_INPUTS, _OUTPUTS = ("model_inputs", "inputs", "request"), ("model_outputs", "outputs", "response")


def read_azure(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    """Yields the records of complete events, then a refusal for each half alone."""
    return join_halves(files, subject, InputFile.json_lines, _read_half)


def _read_half(event: dict[str, Any], file: InputFile, line: int, subject: ImportSubject) -> Half:
    # Its `collectdatatype` is the class of the frame.
    kind = str(event.get("type") or "").rpartition(".")[2]
    if kind not in (*_INPUTS, *_OUTPUTS):
        raise RowRefused(
            "type", f"must end in {', '.join((*_INPUTS, *_OUTPUTS))}, found {quoted(event.get('type'))}"
        )
    rows = event.get("data")
    if not isinstance(rows, list | dict):
        # Large and binary bodies are stored elsewhere.
        raise RowRefused("data", "is missing, or is a pointer to data that was stored elsewhere")
    call = event.get("correlationid") or event.get("xrequestid")
    if not isinstance(call, str):
        raise RowRefused("correlationid", "is missing")
    is_request = kind in _INPUTS
    if isinstance(rows, list) and not is_request:
        # An output of one column is the prediction.
        name = subject.outputs.prediction
        rows = [
            {name: next(iter(row.values()))} if isinstance(row, dict) and len(row) == 1 else row
            for row in rows
        ]
    return Half(
        call=call,
        is_request=is_request,
        body=json.dumps(rows).encode(),
        file=file.name,
        line=line,
        time=read_time(event.get("time"), "time", file, subject),
    )
