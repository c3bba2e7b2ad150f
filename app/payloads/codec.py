"""The protocol of a payload format, and records in the shapes that several formats share."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from ..base.errors import FieldProblem, InvalidInput
from ..base.strict_json import JsonObject
from ..base.values import frozen, frozen_by_name, printable
from ..domain.deployment import Endpoint, FieldType, OutputFields
from .read_predictions import Answer
from .schema_parts import Schema
from .wire import Names, Rows, Table, decode_object, encode_rows, name_kind, read_matrix, require_object


@frozen
class Tables:
    """Rows as a table of features, and one of meta fields if that was sent."""

    table: Table
    meta: Table | None = None


@frozen
class Objects:
    """Rows as objects of columns; `path` is their place in the body."""

    path: str
    rows: list[Any]


AskedRows = Tables | Objects
"""Rows of a request as decoded: unchecked, possibly None."""


class Form(ABC):
    """Recognised by a `member` of the body; names and titles are for the documentation."""

    name: ClassVar[str]

    title: ClassVar[str]

    answer_name: ClassVar[str]

    answer_title: ClassVar[str]

    member: ClassVar[str]

    shape: ClassVar[str]

    is_bare: ClassVar[bool] = False

    @abstractmethod
    def write_request(self, columns: Names, rows: Rows) -> JsonObject: ...

    @abstractmethod
    def read_request(self, sent: JsonObject) -> AskedRows: ...

    @abstractmethod
    def write_answer(self, columns: Names, rows: Rows) -> JsonObject: ...

    @abstractmethod
    def build_request_schema(self, max_rows: int) -> Schema: ...

    @abstractmethod
    def build_answer_schema(self) -> dict[str, Schema]:
        """JSON schema of each member of an answer; arrays in all forms."""


JSON = "application/json"


@frozen_by_name
class RequestOptions:
    """Parts that some formats write: outputs to ask for, and types of columns (empty: by values)."""

    outputs: OutputFields | None = None
    types: tuple[FieldType, ...] = ()


DEFAULT_OPTIONS = RequestOptions()


Headers = list[tuple[bytes, bytes]]


@frozen
class HttpMessage:
    """Body of a request with the headers that its format needs."""

    body: bytes
    headers: Headers


class Codec(ABC):
    """Writes and reads the bodies of one format, for the model and for its callers."""

    label: ClassVar[str]

    shown_request: ClassVar[str]

    forms: ClassVar[tuple[Form, ...]] = ()

    written_form: ClassVar[Form]

    content_type: ClassVar[str] = JSON

    accept: ClassVar[str] = JSON

    def bind(self, endpoint: Endpoint) -> "Codec":  # noqa: ARG002 - for formats that an endpoint describes
        return self

    def find_mapping_problems(self, endpoint: Endpoint, columns: Names) -> list[FieldProblem]:  # noqa: ARG002 - as above
        return (
            []
            if endpoint.mapping is None
            else [FieldProblem("endpoint.mapping", "is not used by this format; leave it out")]
        )

    def request_headers(self, body: bytes) -> Headers:  # noqa: ARG002 - formats of several parts look at it
        return [(b"Content-Type", self.content_type.encode()), (b"Accept", self.accept.encode())]

    def write_message(self, columns: Names, rows: Rows, *, options: RequestOptions) -> HttpMessage:
        """Raises PageRefused and ScoringFailed."""
        body = self.write_request(columns, rows, options=options)
        return HttpMessage(body, self.request_headers(body))

    def write_request(self, columns: Names, rows: Rows, options: RequestOptions = DEFAULT_OPTIONS) -> bytes:  # noqa: ARG002 - see `RequestOptions`
        """Raises PageRefused of a null that the format cannot carry, ScoringFailed of another cell."""
        return encode_rows(self.build_request(columns, rows), rows)

    def build_request(self, columns: Names, rows: Rows) -> object:
        return self.written_form.write_request(columns, rows)

    def read_request(self, body: bytes, columns: Names) -> Table:  # noqa: ARG002 - most requests name them
        return tabulate_rows(self.written_form.read_request(decode_object(body)))

    def write_answer(self, columns: Names, rows: Rows) -> bytes:
        """Raises ScoringFailed."""
        return encode_rows(self.build_answer(columns, rows), rows)

    def build_answer(self, columns: Names, rows: Rows) -> object:
        return self.written_form.write_answer(columns, rows)

    @abstractmethod
    def read_answer(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> Answer:
        """Reads all columns of an answer, and one prediction per row, in order. Raises ScoringFailed."""


def tabulate_rows(sent: AskedRows) -> Table:
    return read_objects(sent.rows, sent.path) if isinstance(sent, Objects) else sent.table


def read_records(rows: object, path: str, columns: Names) -> Table:
    """Reads objects, arrays in the order of `columns`, or SageMaker's dense forms of these."""
    if not isinstance(rows, list):
        raise InvalidInput(path, f"must be an array of records, found {name_kind(rows)}")
    records = list(map(_unwrap_dense, rows))
    if any(isinstance(record, dict) for record in records):
        return read_objects(records, path)
    return read_matrix(records, path, columns)


def _unwrap_dense(row: object) -> object:
    """Unwraps `{"features": record}` or `{"data": {"features": {"values": record}}}`; another row stays."""
    match row:
        case {"data": dict(inner), **others} if not others:
            return _unwrap_dense(inner)
        # With `keys`, values are sparse.
        case {"features": {"values": list(inner), **more}, **others} if not (more or others):
            return inner
        case {"features": list(inner) | dict(inner), **others} if not others:
            return inner
        case _:
            return row


def read_objects(rows: Sequence[object], path: str) -> Table:
    objects = [require_object(row, f"{path}[{position}]") for position, row in enumerate(rows)]
    names = list(objects[0]) if objects else []
    first_names = set(names)
    for position, record in enumerate(objects):
        if record.keys() != first_names:
            name = min(record.keys() ^ first_names)
            has = "has" if name in record else "lacks"
            raise InvalidInput(
                f"{path}[{position}]", f"{has} the column '{printable(name)}', unlike the first record"
            )
    return Table(path, path, names, [[record[name] for name in names] for record in objects])
