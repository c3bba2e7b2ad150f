"""Columns as tensors of the Open Inference Protocol, and back."""

import struct
from collections.abc import Sequence
from itertools import chain
from math import isfinite, prod
from typing import Any

import numpy as np

from ..base.errors import PageRefused, ScoringFailed
from ..base.values import frozen_by_name
from ..domain.deployment import FieldType
from .wire import Names, RowList, Rows, name_kind

BYTES = "BYTES"
BOOL = "BOOL"
INT64 = "INT64"
UINT64 = "UINT64"
FP64 = "FP64"

BINARY_SIZE = "binary_data_size"

_FORMATS = {
    BOOL: "?",
    "UINT8": "B",
    "UINT16": "H",
    "UINT32": "I",
    UINT64: "Q",
    "INT8": "b",
    "INT16": "h",
    "INT32": "i",
    INT64: "q",
    "FP16": "e",
    "FP32": "f",
    FP64: "d",
}
"""Formats of `struct` by datatype."""

DATATYPES = frozenset({*_FORMATS, BYTES, "BF16"})

_DATATYPE_OF_FIELD: dict[FieldType, tuple[str, set[type]]] = {
    FieldType.STRING: (BYTES, {str}),
    FieldType.BOOLEAN: (BOOL, {bool}),
    FieldType.INTEGER: (INT64, {int}),
    FieldType.NUMBER: (FP64, {int, float}),
}
_INT64_RANGE = range(-(2**63), 2**63)
_UINT64_RANGE = range(2**64)
_MAX_EXACT_INTEGER = 2**53
_TEXT_LENGTH = struct.Struct("<I")
_MAX_DIMENSIONS = 8


class TensorUnclear(ValueError):
    """A tensor that cannot be read; the message continues a sentence about `name`, its name or its place."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


@frozen_by_name
class TensorHead:
    """Description of a tensor. `binary_size`: bytes after the JSON; None if the JSON has the data."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    binary_size: int | None = None


@frozen_by_name
class Tensor(TensorHead):
    """Tensor with its values row by row, null as None."""

    values: Sequence[Any]

    def rows(self) -> list[Any]:
        """An array a row if the tensor is wider than one. Raises TensorUnclear."""
        if not self.shape or prod(self.shape) != len(self.values):
            raise TensorUnclear(
                self.name, f"has {len(self.values)} values where its shape is {list(self.shape)}"
            )
        width = prod(self.shape[1:])
        if width == 1:
            return list(self.values)
        return (
            [list(self.values[start : start + width]) for start in range(0, len(self.values), width)]
            if width
            else []
        )


def read_head(tensor: object, where: str) -> TensorHead:
    """Without its data; `where` is its place in the body. Raises TensorUnclear."""
    if not isinstance(tensor, dict):
        raise TensorUnclear(where, f"must be an object, found {name_kind(tensor)}")
    name, datatype, shape, parameters = (
        tensor.get(member) for member in ("name", "datatype", "shape", "parameters")
    )
    if not isinstance(name, str):
        raise TensorUnclear(f"{where}.name", "must be text")
    if not isinstance(datatype, str) or datatype not in DATATYPES:
        raise TensorUnclear(f"{where}.datatype", f"must be one of {', '.join(sorted(DATATYPES))}")
    if (
        not isinstance(shape, list)
        or not 0 < len(shape) <= _MAX_DIMENSIONS
        or any(type(size) is not int or size < 0 for size in shape)
    ):
        raise TensorUnclear(f"{where}.shape", "must be an array of whole numbers")
    size = parameters.get(BINARY_SIZE) if isinstance(parameters, dict) else None
    if size is not None and (type(size) is not int or size < 0):
        raise TensorUnclear(f"{where}.parameters.{BINARY_SIZE}", "must be a number of bytes")
    return TensorHead(name=name, datatype=datatype, shape=tuple(shape), binary_size=size)


def flatten_data(data: object, name: str) -> list[Any]:
    """`data` is nested or flat. Raises TensorUnclear."""
    for _ in range(_MAX_DIMENSIONS):
        if not isinstance(data, list):
            raise TensorUnclear(name, "has no array of data")
        if list not in map(type, data):
            return data
        if not all(isinstance(element, list) for element in data):
            raise TensorUnclear(name, "mixes arrays and values")
        data = list(chain.from_iterable(data))
    raise TensorUnclear(name, f"is nested more than {_MAX_DIMENSIONS} times")


def build_tensor(
    name: str, cells: Sequence[Any], field_type: FieldType | None, shape: tuple[int, ...]
) -> Tensor:
    """Raises ScoringFailed."""
    return Tensor(name=name, datatype=_choose_datatype(name, cells, field_type), shape=shape, values=cells)


def _choose_datatype(name: str, cells: Sequence[Any], field_type: FieldType | None) -> str:
    cell_types = set(map(type, cells)) - {type(None)}
    if field_type is not None:
        usual, types = _DATATYPE_OF_FIELD[field_type]
        if cell_types <= types:
            return usual
    integers = [cell for cell in cells if type(cell) is int] if int in cell_types else []
    for datatype, fits in (
        (FP64, not cell_types),
        (BYTES, cell_types == {str}),
        (BOOL, cell_types == {bool}),
        (INT64, cell_types == {int} and all(cell in _INT64_RANGE for cell in integers)),
        (UINT64, cell_types == {int} and all(cell in _UINT64_RANGE for cell in integers)),
        (FP64, cell_types <= {int, float} and all(abs(cell) <= _MAX_EXACT_INTEGER for cell in integers)),
    ):
        if fits:
            return datatype
    raise ScoringFailed(
        f"The column {name} of a page holds values of several kinds, or whole numbers beyond 64 bits, which "
        "one tensor cannot carry; nothing was sent."
    )


def pack_values(tensor: Tensor) -> bytes:
    """Little-endian. Raises PageRefused and ScoringFailed."""
    values = tensor.values
    is_real = tensor.datatype in {FP64, "FP32"}
    if None in values and not is_real:
        row = values.index(None) + 1
        raise PageRefused(
            f"Row {row} of a page holds null in {tensor.name}, which a binary tensor of {tensor.datatype} "
            "cannot carry; nothing was sent.",
            answer=f"null in the {tensor.datatype} tensor '{tensor.name}'",
        )
    present = [value for value in values if value is not None]
    values = [float("nan") if value is None else value for value in values]
    try:
        if is_real and not all(map(isfinite, present)):
            raise ScoringFailed(
                f"The column {tensor.name} of a page holds a number that is not finite, which is how a "
                "tensor would carry null."
            )
        if tensor.datatype == BYTES:
            encoded = {value: value.encode() for value in set(values)}
            packed = {value: _TEXT_LENGTH.pack(len(text)) + text for value, text in encoded.items()}
            return b"".join([packed[value] for value in values])
        return struct.pack(f"<{len(values)}{_FORMATS[tensor.datatype]}", *values)
    except (struct.error, UnicodeEncodeError, OverflowError, TypeError) as error:
        raise ScoringFailed(
            f"The column {tensor.name} holds a value that {tensor.datatype} cannot carry; nothing was sent."
        ) from error


def unpack_values(head: TensorHead, data: bytes) -> list[Any]:
    """NaN becomes null. Raises TensorUnclear."""
    name = head.name
    datatype = head.datatype
    if len(data) != head.binary_size:
        raise TensorUnclear(name, f"has {len(data)} bytes where its {BINARY_SIZE} is {head.binary_size}")
    if datatype == BYTES:
        return unpack_texts(name, data)
    if datatype == "BF16":
        # BF16: the upper half of a single-precision number.
        data = b"".join(b"\0\0" + data[start : start + 2] for start in range(0, len(data), 2))
        datatype = "FP32"
    item = struct.Struct(f"<{_FORMATS[datatype]}")
    if len(data) % item.size:
        raise TensorUnclear(name, f"has {len(data)} bytes, which are no whole number of {datatype}")
    numbers = np.frombuffer(data, item.format)
    values: list[Any] = numbers.tolist()
    if item.format[1:] in "efd" and np.isnan(numbers).any():
        return [None if value != value else value for value in values]  # noqa: PLR0124 - NaN alone differs from itself
    return values


def unpack_texts(name: str, data: bytes) -> list[str]:
    """Each text follows its length in four bytes, the lowest first. Raises TensorUnclear."""
    texts = []
    start = 0
    while start < len(data):
        end = start + _TEXT_LENGTH.size
        length = int.from_bytes(data[start:end], "little")
        if end + length > len(data):
            raise TensorUnclear(name, "ends within a text")
        try:
            texts.append(data[end : end + length].decode())
        except UnicodeDecodeError as error:
            raise TensorUnclear(name, f"holds text that is not UTF-8 ({error.reason})") from error
        start = end + length
    return texts


def group_by_column(columns: Names, rows: Rows) -> dict[str, tuple[Any, ...]]:
    if not rows:
        return dict.fromkeys(columns, ())
    return dict(zip(columns, zip(*rows, strict=True), strict=True))


def join_columns(tensors: Sequence[Tensor]) -> RowList:
    """Raises TensorUnclear."""
    columns = []
    for tensor in tensors:
        columns.append(tensor.rows())
        if len(columns[-1]) != len(columns[0]):
            raise TensorUnclear(
                tensor.name, f"has {len(columns[-1])} rows where {tensors[0].name} has {len(columns[0])}"
            )
    return list(map(list, zip(*columns, strict=True)))
