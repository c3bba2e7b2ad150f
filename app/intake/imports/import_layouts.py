"""Layouts of files that can be imported."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from ...base.errors import InvalidInput
from ...base.strict_json import parse_json
from ...domain.arrival import LogKind
from .flat_tables import read_bentoml, read_csv, read_json_lines, read_parquet
from .input_file import ImportRow, ImportSubject, InputFile
from .logged_calls import read_azure, read_databricks, read_kserve, read_sagemaker
from .month_files import read_export, read_head

Reader = Callable[[Sequence[InputFile], ImportSubject], Iterator[ImportRow]]


class ImportLayout(StrEnum):
    """The layout of a file."""

    CSV = "csv", read_csv, "CSV with a header"
    PARQUET = "parquet", read_parquet, "Parquet with a column for each field"
    JSON_LINES = "json_lines", read_json_lines, "JSON lines: native records, or an object of columns"
    EVENHAND = "evenhand", read_export, "a file of `evenhand export`"
    SAGEMAKER = "sagemaker", read_sagemaker, "SageMaker's data capture, or its ground truth"
    AZURE = "azure", read_azure, "blobs of Azure's model data collector"
    DATABRICKS = "databricks", read_databricks, "Databricks' inference tables"
    KSERVE = "kserve", read_kserve, "files of KServe's logger"
    BENTOML = "bentoml", read_bentoml, "data files of BentoML's monitor"

    read: Reader
    words: str

    def __new__(cls, name: str, read: Reader, description: str) -> Self:
        row = str.__new__(cls, name)
        row._value_ = name
        row.read = read
        row.words = description
        return row


_OF_MEMBER: Mapping[str, ImportLayout] = {
    "captureData": ImportLayout.SAGEMAKER,
    "groundTruthData": ImportLayout.SAGEMAKER,
    "specversion": ImportLayout.AZURE,
    "databricks_request_id": ImportLayout.DATABRICKS,
    "ReqType": ImportLayout.KSERVE,
    "reqType": ImportLayout.KSERVE,
    "req_type": ImportLayout.KSERVE,
    "trace_id": ImportLayout.BENTOML,
}
_WITHOUT_LABELS = (ImportLayout.AZURE, ImportLayout.DATABRICKS, ImportLayout.KSERVE)


def find_layout(files: Sequence[InputFile], chosen: ImportLayout | None, kind: LogKind) -> ImportLayout:
    """Returns the given layout, or the first file's; the others must have the same."""
    if not files:
        raise InvalidInput("files", "must be at least one")
    layout = chosen or _detect_layout(files[0])
    for file in files[1:] if chosen is None else ():
        other_layout = _detect_layout(file)
        if other_layout is not layout:
            raise InvalidInput(
                file.name,
                f"is {other_layout.words}, unlike {files[0].name}, which is {layout.words}; import them "
                "apart",
            )
    if kind is LogKind.FEEDBACK and layout in _WITHOUT_LABELS:
        raise InvalidInput("layout", f"{layout.value} holds no labels; import it as payload")
    return layout


def _detect_layout(file: InputFile) -> ImportLayout:
    if read_head(file) is not None:
        return ImportLayout.EVENHAND
    first = _first_row(file)
    if first is None:
        return ImportLayout.CSV
    usual = ImportLayout.PARQUET if file.is_parquet else ImportLayout.JSON_LINES
    return next((layout for member, layout in _OF_MEMBER.items() if member in first), usual)


def _first_row(file: InputFile) -> Mapping[str, Any] | None:
    """None for other text than JSON lines."""
    if file.is_parquet:
        return next((row for _, row in file.parquet_rows() if isinstance(row, dict)), {})
    for _, line in file.lines():
        if line.strip():
            # A broken line of JSON must be refused as a line, not as a header.
            if line.lstrip()[:1] not in (b"{", b"["):
                return None
            document = parse_json(line, None)
            first = document[0] if isinstance(document, list) and document else document
            return first if isinstance(first, dict) else {}
    return None
