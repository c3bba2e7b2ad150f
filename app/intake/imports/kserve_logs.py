"""Files of KServe's logger, of every release: a request or an answer a row."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from .call_halves import Half
from .import_row import ImportRow, RowRefused
from .import_subject import ImportSubject, read_time
from .input_file import InputFile
from .logged_calls import join_halves, read_bytes


def read_kserve(files: Sequence[InputFile], subject: ImportSubject) -> Iterator[ImportRow]:
    """Yields the records of complete calls, then a refusal for each half alone.

    The time is that of the file's path, or the given one.
    """
    return join_halves(files, subject, partial(InputFile.rows, takes_arrays=True), _read_half)


def _read_half(row: dict[str, Any], file: InputFile, line: int, subject: ImportSubject) -> Half:
    # In JSON `ReqType` and base64, in Parquet `reqType` and base64, or `req_type` and bytes.
    row = {name.replace("_", "").lower(): value for name, value in row.items()}
    kind = str(row.get("reqtype") or "").rpartition(".")[2]
    if kind not in ("request", "response"):
        raise RowRefused("reqType", "must end in .request or .response")
    call = row.get("id")
    if not isinstance(call, str) or not call:
        raise RowRefused("id", "is missing")
    is_request = kind == "request"
    time = read_time(None, "time", file, subject)
    return Half(
        call=call,
        is_request=is_request,
        body=read_bytes(row.get("bytes"), "bytes", encoding="BASE64"),
        file=file.name,
        line=line,
        time=time if is_request else None,
    )
