"""Reads requests and logged request/response pairs in OpenScale's form. Checks the shape of the tables, never the values of their cells."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.deployments import OutputFields
from app.errors import FieldProblem, InvalidInput
from app.scoring.formats.outputs import OutputsUnclear, find_outputs

_MOST_PROBLEMS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTable:
    """One logged pair, row by row: position i of every list is the same record.

    `rows` and `meta_rows` are the decoded lists themselves, cells in the order of `fields` and `meta_fields`. Without meta
    fields `meta_rows` is None. `probabilities` and `labels` are None where the answer has no such column. Cells are as
    decoded: unchecked, possibly None.
    """

    fields: tuple[str, ...]
    rows: list[list[Any]]
    meta_fields: tuple[str, ...]
    meta_rows: list[list[Any]] | None
    predictions: list[Any]
    probabilities: list[Any] | None
    labels: list[Any] | None
    scoring_id: str | None
    scoring_timestamp: str | None

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under column names, and the paths at which both stand in what was sent."""

    fields_path: str
    values_path: str
    fields: list[str]
    values: list[list[Any]]


def read_request(sent: object, path: str = "") -> tuple[Table, Table | None]:
    """The rows of a decoded request `{fields, values, meta?}` or `{"input_data": [{…}]}`, and those of its meta fields.

    Raises:
        InvalidInput: a table of another shape, a column named twice, or tables of different lengths; the field is a path such as
            `values[3]`.
    """
    inner, inner_path = _unwrapped(sent, path, "input_data")
    table = read_table(inner, inner_path)
    if inner.get("meta") is None:
        return table, None
    meta = read_table(inner["meta"], _place(inner_path, "meta"))
    _require_length(meta, table)
    return table, meta


def read_table(part: object, path: str, *, fields: str = "fields", values: str = "values") -> Table:
    """The rows of a decoded object with those two members.

    Raises:
        InvalidInput: it has another shape, or names a column twice.
    """
    table = _table(_object(part, path), path, fields, values)
    if len(set(table.fields)) < len(table.fields):
        index = _first_repeat(table.fields)
        raise InvalidInput.of(f"{table.fields_path}[{index}]", f"names the column '{table.fields[index]}' a second time")
    return table


def read_logged(pair: Mapping[str, Any], *, outputs: OutputFields) -> LoggedTable:
    """The rows of one decoded pair `{request, response, scoring_id?, scoring_timestamp?}`; other keys are passed over.

    `request` is `{fields, values, meta?}` or `{"input_data": [{…}]}`, `response` is `{fields, values}` or
    `{"predictions": [{…}]}`, which may echo the inputs.

    Raises:
        InvalidInput: a table of another shape, or tables of different lengths; the field is a path such as `request.values[3]`.
    """
    request, meta = read_request(pair.get("request"), "request")
    answered, answered_path = _unwrapped(pair.get("response"), "response", "predictions")
    # Answers may name a column twice, as long as it is none of the outputs.
    response = _table(answered, answered_path, "fields", "values")
    _require_length(response, request)
    predictions, probabilities, labels = _outputs(response, outputs)
    return LoggedTable(
        fields=tuple(request.fields),
        rows=request.values,
        meta_fields=() if meta is None else tuple(meta.fields),
        meta_rows=None if meta is None else meta.values,
        predictions=predictions,
        probabilities=probabilities,
        labels=labels,
        scoring_id=_text(pair, "scoring_id"),
        scoring_timestamp=_text(pair, "scoring_timestamp"),
    )


def _require_length(other: Table, request: Table) -> None:
    if len(other.values) != len(request.values):
        raise InvalidInput.of(other.values_path, f"has {len(other.values)} rows where {request.values_path} has {len(request.values)}")


def _unwrapped(part: object, path: str, wrapper: str) -> tuple[dict[str, Any], str]:
    table = _object(part, path)
    if wrapper not in table:
        return table, path
    inner, where = table[wrapper], _place(path, wrapper)
    if not isinstance(inner, list) or len(inner) != 1:
        found = f"{len(inner)} of them" if isinstance(inner, list) else _kind(inner)
        raise InvalidInput.of(where, f"must be an array of exactly one table, found {found}")
    return _object(inner[0], f"{where}[0]"), f"{where}[0]"


def _table(part: dict[str, Any], path: str, fields_name: str, values_name: str) -> Table:
    fields, values = part.get(fields_name), part.get(values_name)
    fields_path, values_path = _place(path, fields_name), _place(path, values_name)
    if not isinstance(fields, list) or not set(map(type, fields)) <= {str}:
        raise InvalidInput.of(fields_path, f"must be an array of column names, found {_kind(fields)}")
    if not isinstance(values, list):
        raise InvalidInput.of(values_path, f"must be an array of rows, found {_kind(values)}")
    if not set(map(type, values)) <= {list}:
        raise InvalidInput(
            _problems(values, values_path, lambda row: None if type(row) is list else f"must be an array, found {_kind(row)}")
        )
    width = len(fields)
    if not set(map(len, values)) <= {width}:
        raise InvalidInput(
            _problems(values, values_path, lambda row: None if len(row) == width else f"has {len(row)} values for {width} fields")
        )
    return Table(fields_path, values_path, fields, values)


def _problems(values: list[Any], path: str, fault: Callable[[Any], str | None]) -> list[FieldProblem]:
    found = ((index, fault(row)) for index, row in enumerate(values))
    return [FieldProblem(f"{path}[{index}]", message) for index, message in found if message is not None][:_MOST_PROBLEMS]


def _place(path: str, member: str) -> str:
    return f"{path}.{member}" if path else member


def _outputs(response: Table, outputs: OutputFields) -> tuple[list[Any], list[Any] | None, list[Any] | None]:
    try:
        at = find_outputs(response.fields, outputs)
    except OutputsUnclear as error:
        raise InvalidInput.of(response.fields_path, str(error)) from error
    columns = (at.prediction, at.probability, at.label)
    prediction, probability, label = (None if position is None else [row[position] for row in response.values] for position in columns)
    return prediction or [], probability, label


def _first_repeat(names: Sequence[str]) -> int:
    return next(index for index, name in enumerate(names) if name in names[:index])


def _text(pair: Mapping[str, Any], key: str) -> str | None:
    value = pair.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInput.of(key, f"must be text, found {_kind(value)}")
    return value


def _object(part: object, path: str) -> dict[str, Any]:
    if not isinstance(part, dict):
        raise InvalidInput.of(path, f"must be an object, found {_kind(part)}")
    return part


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "an array", dict: "an object"}
    return names.get(type(value), type(value).__name__)
