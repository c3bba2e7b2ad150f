"""The Open Inference Protocol (KServe v2), in three forms."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain
from math import prod
from uuid import uuid4

import msgspec

from ..base.errors import InvalidInput, ScoringFailed
from ..base.strict_json import JsonObject
from ..base.values import printable
from ..domain.deployment import FieldType, OutputFields
from .codec import DEFAULT_OPTIONS, Codec, Headers, RequestOptions
from .read_predictions import Answer, predict_from_one_column, read_outputs, require_rows
from .tensors import (
    BINARY_SIZE,
    BYTES,
    FP64,
    Tensor,
    TensorUnclear,
    build_tensor,
    flatten_data,
    group_by_column,
    join_columns,
    pack_values,
    read_head,
    unpack_values,
)
from .wire import Names, Rows, Table, decode_object, encode_rows, name_kind

_INPUTS = "inputs"
_OUTPUTS = "outputs"
_HEADER_LENGTH = b"Inference-Header-Content-Length"
_MATRIX_NAME = "input-0"

REQUEST_ID_PREFIX = "evenhand-"
_DECODER = json.JSONDecoder()


class OpenInferenceCodec(Codec):
    """Writes one tensor a column, texts as BYTES; reads tensors nested or flat, also binary."""

    label = "Open Inference Protocol v2, a tensor a column"
    shown_request = '{"inputs": [{"name": "age", "shape": [n, 1], "datatype": "INT64", "data": […]}, …]}'

    def write_request(self, columns: Names, rows: Rows, options: RequestOptions = DEFAULT_OPTIONS) -> bytes:
        tensors = _build_tensors(columns, rows, options.types)
        head = {"id": _make_id(), "parameters": {"content_type": "pd"}}
        document = {**head, _INPUTS: list(map(_write_tensor, tensors)), **_write_outputs(options)}
        return encode_rows(document, rows)

    def read_request(self, body: bytes, columns: Names) -> Table:
        try:
            tensors = _read_tensors(body, _INPUTS)
            rows = join_columns(tensors)
        except TensorUnclear as error:
            raise InvalidInput(printable(error.name), str(error)) from error
        names = [tensor.name for tensor in tensors]
        if len(names) == 1 and prod(tensors[0].shape[1:]) == len(columns) and names[0] not in columns:
            names = list(columns)
            rows = [row[0] if len(columns) > 1 else row for row in rows]
        return Table(_INPUTS, _INPUTS, names, rows)

    def write_answer(self, columns: Names, rows: Rows) -> bytes:
        return encode_rows(
            {
                "model_name": "model",
                _OUTPUTS: [_write_tensor(tensor) for tensor in _build_outputs(columns, rows)],
            },
            rows,
        )

    def read_answer(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> Answer:
        try:
            tensors = _read_tensors(body, _OUTPUTS)
            columns = [tensor.rows() for tensor in tensors]
        except TensorUnclear as error:
            descriptions = f"{printable(error.name)} {error}"
            raise ScoringFailed(
                f"The model's endpoint did not answer in the Open Inference Protocol: {descriptions}."
            ) from error
        for column in columns:
            require_rows(len(column), expected_rows)
        names = [tensor.name for tensor in tensors]
        rows = list(map(list, zip(*columns, strict=True)))
        if len(names) == 1 and outputs.label is None and outputs.prediction not in names:
            # The name of a single tensor is the server's own.
            if any(isinstance(cell, list) for cell in columns[0]) and not outputs.has_only_probabilities:
                raise ScoringFailed(
                    f"The model's endpoint gave one tensor with {len(columns[0][0])} values a row, and no "
                    f"tensor '{outputs.prediction}'. If they are the probabilities of the classes, list "
                    "those in outputs.classes, and give outputs.prediction and outputs.probability its name."
                )
            return Answer([outputs.prediction], rows, predict_from_one_column(columns[0], outputs))
        return Answer(names, rows, read_outputs(names, columns.__getitem__, outputs))


class OpenInferenceMatrixCodec(OpenInferenceCodec):
    """Writes one tensor of all rows, columns in the order of the features."""

    label = "Open Inference Protocol v2, one tensor for all columns"
    shown_request = '{"inputs": [{"name": "input-0", "shape": [n, d], "datatype": "FP64", "data": […]}]}'

    def write_request(self, columns: Names, rows: Rows, options: RequestOptions = DEFAULT_OPTIONS) -> bytes:
        cells_in_order = list(chain.from_iterable(rows))
        field_types = set(options.types)
        field_type = options.types[0] if len(field_types) == 1 else None
        if field_types == {FieldType.INTEGER, FieldType.NUMBER}:
            field_type = FieldType.NUMBER
        tensor = build_tensor(_MATRIX_NAME, cells_in_order, field_type, (len(rows), len(columns)))
        return encode_rows(
            {"id": _make_id(), _INPUTS: [_write_tensor(tensor)], **_write_outputs(options)}, rows
        )


class OpenInferenceBinaryCodec(OpenInferenceCodec):
    """Writes tensors as bytes after a JSON header, as Triton's binary extension; reads all forms."""

    label = "Open Inference Protocol v2, binary (Triton)"
    shown_request = "a JSON header with binary_data_size for each tensor, then the tensors' bytes"
    content_type = "application/octet-stream"
    accept = "application/octet-stream, application/json"

    def request_headers(self, body: bytes) -> Headers:
        return [*super().request_headers(body), (_HEADER_LENGTH, str(_measure_header(body)).encode())]

    def write_request(self, columns: Names, rows: Rows, options: RequestOptions = DEFAULT_OPTIONS) -> bytes:
        return _write_binary(
            _INPUTS,
            _build_tensors(columns, rows, options.types),
            {"id": _make_id(), "parameters": {"binary_data_output": True}, **_write_outputs(options)},
        )

    def write_answer(self, columns: Names, rows: Rows) -> bytes:
        return _write_binary(_OUTPUTS, _build_outputs(columns, rows), {"model_name": "model"})


def _build_tensors(columns: Names, rows: Rows, types: Sequence[FieldType]) -> list[Tensor]:
    field_types = types or (None,) * len(columns)
    return [
        build_tensor(name, cells, field_type, (len(rows), 1))
        for (name, cells), field_type in zip(group_by_column(columns, rows).items(), field_types, strict=True)
    ]


def _build_outputs(columns: Names, rows: Rows) -> list[Tensor]:
    tensors = []
    for name, cells in group_by_column(columns, rows).items():
        if cells and all(isinstance(cell, list | tuple) for cell in cells):
            cells_in_order = [number for cell in cells for number in cell]
            tensors.append(
                Tensor(name=name, datatype=FP64, shape=(len(cells), len(cells[0])), values=cells_in_order)
            )
        else:
            tensors.append(build_tensor(name, cells, None, (len(cells), 1)))
    return tensors


def _write_tensor(tensor: Tensor) -> JsonObject:
    kind: JsonObject = {"parameters": {"content_type": "str"}} if tensor.datatype == BYTES else {}
    return _describe_tensor(tensor, **kind, data=tensor.values)


def _describe_tensor(tensor: Tensor, **further: object) -> JsonObject:
    return {"name": tensor.name, "shape": tensor.shape, "datatype": tensor.datatype, **further}


def _make_id() -> str:
    # Optional, but KServe's Python server passes it on, and an answer without it is refused there (0.21).
    return f"{REQUEST_ID_PREFIX}{uuid4().hex}"


def _write_outputs(options: RequestOptions) -> JsonObject:
    """Members that ask for the outputs: a server may leave out outputs that nobody asks for."""
    outputs = options.outputs
    if outputs is None or outputs.probability is None:
        return {}
    return {_OUTPUTS: [{"name": name} for name in outputs.names]}


def _write_binary(member: str, tensors: Sequence[Tensor], members: JsonObject) -> bytes:
    packed = [pack_values(tensor) for tensor in tensors]
    descriptions = [
        _describe_tensor(tensor, parameters={BINARY_SIZE: len(data)})
        for tensor, data in zip(tensors, packed, strict=True)
    ]
    try:
        return msgspec.json.encode({member: descriptions, **members}) + b"".join(packed)
    except UnicodeEncodeError as error:
        raise ScoringFailed(
            "The name of a column cannot be written as UTF-8; nothing was sent to the model."
        ) from error


def _measure_header(body: bytes) -> int:
    try:
        return _DECODER.raw_decode(body.decode("latin-1"))[1]
    except (ValueError, RecursionError):
        return len(body)


def _read_tensors(body: bytes, member: str) -> list[Tensor]:
    """Raises TensorUnclear."""
    end = _measure_header(body) if BINARY_SIZE.encode() in body and body[:1] == b"{" else len(body)
    try:
        document = decode_object(body[:end])
    except InvalidInput as error:
        raise TensorUnclear("body", error.problems[0].message) from error
    descriptions = document.get(member)
    data = body[end:]
    if not isinstance(descriptions, list) or not descriptions:
        raise TensorUnclear(member, f"must be an array of tensors, found {name_kind(descriptions)}")
    tensors = []
    start = 0
    for position, entry in enumerate(descriptions):
        head = read_head(entry, f"{member}[{position}]")
        if head.binary_size is None:
            values = flatten_data(entry.get("data"), head.name)
        else:
            end = start + head.binary_size
            values = unpack_values(head, data[start:end])
            start = end
        tensors.append(Tensor(**asdict(head), values=values))
    names = [tensor.name for tensor in tensors]
    if len(set(names)) < len(names):
        repeated = next(name for position, name in enumerate(names) if name in names[:position])
        raise TensorUnclear(member, f"name the tensor '{printable(repeated)}' a second time")
    if data[start:].strip():
        raise TensorUnclear("body", f"has {len(data) - start} bytes after its tensors")
    return tensors
