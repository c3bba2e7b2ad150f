"""A request for debiased predictions in whatever form it came, read and checked as a whole: one bad value refuses all of it."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from app.domain.deployments import Column
from app.errors import FieldProblem, InvalidInput, TooLarge
from app.ingest.bodies import Decoded, decoded_json, decompressed, require_decodable
from app.ingest.cells import CellRefused, printable, record_id
from app.ingest.checked import Cells, RecordRefused
from app.ingest.plan import Columns, Plan
from app.ingest.tables import Refusals, check_rows, pick_columns
from app.scoring.formats.logged import Table, read_request, read_table

MAX_RECORDS = 1_000
"""In one request."""

MOST_PROBLEMS = 100
"""That one answer lists."""


class Form(StrEnum):
    """The forms that a request may have, each called by a member that tells it."""

    RECORDS = "records"
    FIELDS_VALUES = "values"
    INPUT_DATA = "input_data"
    DATAFRAME_SPLIT = "dataframe_split"
    DATAFRAME_RECORDS = "dataframe_records"


_TABLE = frozenset({"fields", "values", "meta"})
_META_TABLE = frozenset({"fields", "values"})
_SPLIT = frozenset({"columns", "data", "index"})

_MEMBERS: Mapping[Form, frozenset[str]] = {
    Form.RECORDS: frozenset({"records"}),
    Form.INPUT_DATA: frozenset({"input_data"}),
    Form.DATAFRAME_SPLIT: frozenset({"dataframe_split"}),
    Form.DATAFRAME_RECORDS: frozenset({"dataframe_records"}),
    Form.FIELDS_VALUES: _TABLE,
}
_RECORD = frozenset({"id", "features", "meta"})
_FORMS = "must be {records: […]}, {fields, values}, {input_data: […]}, {dataframe_split: {…}} or {dataframe_records: […]}"
_UNKNOWN = "is not a column of the schema"
_MISSING = "is missing; a feature without a value must be sent as null"


class Asked(Struct, frozen=True, kw_only=True):
    """The records of a request, each value as it is stored; position i of every list is the same record.

    Features and meta fields are in schema order. An id of None is to be generated; a record may come without meta fields.
    """

    form: Form
    ids: list[str | None]
    features: Sequence[Cells]
    meta: Sequence[Cells | None]

    def __len__(self) -> int:
        return len(self.ids)


def read_asked(body: bytes, encoding: str, plan: Plan) -> Asked:
    """The records that were sent; `encoding` is the body's Content-Encoding.

    Raises:
        InvalidInput: something in it is not as the schema says; names each offending field.
        TooLarge: it holds more than one request may.
        UnsupportedMediaType: it is compressed with something other than gzip.
    """
    body = decompressed(body, encoding)
    require_decodable(body)
    decoded = decoded_json(body)
    sent = decoded.value
    form = next((form for form in _MEMBERS if isinstance(sent, dict) and form.value in sent), None)
    if form is None:
        raise InvalidInput.of("body", _FORMS)
    _require_members(sent, "", _MEMBERS[form], beside=form.value)
    if form is Form.RECORDS:
        return _records(decoded, plan)
    if form is Form.DATAFRAME_RECORDS:
        return _objects(decoded, plan)
    if form is Form.DATAFRAME_SPLIT:
        table = read_table(sent[form.value], form.value, fields="columns", values="data")
        _require_members(sent[form.value], form.value, _SPLIT, beside="data")
        return _tables(form, table, None, decoded, plan)
    tables = read_request(sent)
    is_wrapped = form is Form.INPUT_DATA
    part, path = (sent[form.value][0], f"{form.value}[0]") if is_wrapped else (sent, "")
    _require_members(part, path, _TABLE, beside="values")
    if part.get("meta") is not None:
        _require_members(part["meta"], f"{path}.meta" if is_wrapped else "meta", _META_TABLE, beside="values")
    return _tables(form, *tables, decoded, plan)


def _require_members(part: Mapping[str, Any], path: str, known: frozenset[str], *, beside: str) -> None:
    """A misspelt `meta` must not pass for one that was left out: whose records are in which group hangs on it."""
    unknown = sorted(part.keys() - known)
    if unknown:
        place = f"{path}." if path else ""
        raise InvalidInput.of(f"{place}{printable(unknown[0])}", f"is not a member that is known beside {beside}")


def _records(decoded: Decoded, plan: Plan) -> Asked:
    """`{"records": [{id?, features, meta?}]}`."""
    records = _listed(decoded.value, Form.RECORDS)
    faults, ids, sent, meta = _Faults("records[{}]."), [], [], []
    for index, record in enumerate(records):
        try:
            ids.append(_id_of(record))
            sent.append(record["features"])
            meta.append(None if record.get("meta") is None else plan.meta.cells(record["meta"]))
        except RecordRefused as refused:
            faults.add(index, refused.field, refused.reason)
    faults.raise_any()
    features = _picked(sent, plan.target.schema.features)
    if features is None:
        features = _one_by_one(sent, plan.features, faults)
    else:
        faults.check(features, plan.target.schema.features, decoded, prefix="features.")
    faults.raise_any()
    return Asked(form=Form.RECORDS, ids=ids, features=features, meta=meta)


def _id_of(record: Any) -> str | None:  # noqa: ANN401 - a decoded JSON value of which nothing is known yet
    if not isinstance(record, Mapping):
        raise RecordRefused("", "must be an object")
    unknown = [name for name in record if name not in _RECORD]
    if unknown:
        raise RecordRefused(printable(unknown[0]), f"is not a member of a record; it may have {', '.join(sorted(_RECORD))}")
    if "features" not in record:
        raise RecordRefused("features", "is missing")
    sent = record.get("id")
    try:
        return None if sent is None else record_id(sent)
    except CellRefused as error:
        raise RecordRefused("id", str(error)) from error


def _picked(objects: Sequence[Any], columns: Sequence[Column]) -> list[list[Any]] | None:
    """The rows of objects that have exactly these columns; None where one has others, or is no object."""
    names = [column.name for column in columns]
    if not all(isinstance(row, dict) and len(row) == len(names) for row in objects):
        return None
    try:
        return [[row[name] for name in names] for row in objects]
    except KeyError:
        return None


def _one_by_one(objects: Sequence[Any], columns: Columns, faults: "_Faults") -> list[Any]:
    """The slow and exact way, which knows what is wrong with each."""
    rows: list[Any] = []
    for index, row in enumerate(objects):
        try:
            rows.append(columns.cells(row))
        except RecordRefused as refused:
            faults.add(index, refused.field, refused.reason)
    return rows


def _objects(decoded: Decoded, plan: Plan) -> Asked:
    """`{"dataframe_records": [{column: value}]}`."""
    objects = _listed(decoded.value, Form.DATAFRAME_RECORDS)
    schema, faults = plan.target.schema, _Faults("dataframe_records[{}].")
    for index, row in enumerate(objects):
        if not isinstance(row, dict):
            faults.add(index, "", "must be an object")
            continue
        unknown = next((name for name in row if name not in plan.features.names and name not in plan.meta.names), None)
        missing = next((column.name for column in schema.features if column.name not in row), None)
        if unknown is not None:
            faults.add(index, printable(unknown), _UNKNOWN)
        elif missing is not None:
            faults.add(index, missing, _MISSING)
    faults.raise_any()
    features = [[row[column.name] for column in schema.features] for row in objects]
    meta = [[row.get(column.name) for column in schema.meta] for row in objects]
    faults.check(features, schema.features, decoded)
    faults.check(meta, schema.meta, decoded)
    faults.raise_any()
    has_meta = any(name in row for row in objects for name in plan.meta.names)
    return Asked(
        form=Form.DATAFRAME_RECORDS, ids=[None] * len(objects), features=features, meta=meta if has_meta else [None] * len(objects)
    )


def _tables(form: Form, table: Table, meta_table: Table | None, decoded: Decoded, plan: Plan) -> Asked:
    """Rows under a line of column names, meta fields among them or in a table of their own."""
    schema, rows = plan.target.schema, len(table.values)
    _require_count(rows, table.values_path)
    _require_names(table, plan.features.names | plan.meta.names, [column.name for column in schema.features])
    if meta_table is not None:
        _require_names(meta_table, plan.meta.names, [])
        _require_one_place(table, plan.meta.names)
    where_meta = meta_table or (table if plan.meta.names.intersection(table.fields) else None)
    faults = _Faults(table.values_path + "[{}].")
    meta: list[Any] = [None] * rows
    if where_meta is not None:
        # Copied, because checking may put values in place of others and both tables may be one.
        meta = pick_columns([list(row) for row in where_meta.values], where_meta.fields, schema.meta)
        faults.check(meta, schema.meta, decoded, at=where_meta.values_path + "[{}].")
    features = pick_columns(table.values, table.fields, schema.features)
    faults.check(features, schema.features, decoded)
    faults.raise_any()
    return Asked(form=form, ids=[None] * rows, features=features, meta=meta)


def _require_names(table: Table, known: Iterable[str], required: Sequence[str]) -> None:
    problems = [
        FieldProblem(f"{table.fields_path}[{place}]", f"names {printable(name)}, which {_UNKNOWN}")
        for place, name in enumerate(table.fields)
        if name not in known
    ]
    problems += [FieldProblem(table.fields_path, f"lacks {name}: it {_MISSING}") for name in required if name not in table.fields]
    if problems:
        raise InvalidInput(problems[:MOST_PROBLEMS])


def _require_one_place(table: Table, meta: Iterable[str]) -> None:
    """Beside a table of meta fields none may stand among the features: one of the two would be passed over."""
    known = frozenset(meta)
    problems = [
        FieldProblem(f"{table.fields_path}[{place}]", f"names {printable(name)}, a meta field; as meta is sent, it belongs there")
        for place, name in enumerate(table.fields)
        if name in known
    ]
    if problems:
        raise InvalidInput(problems[:MOST_PROBLEMS])


def _listed(sent: Mapping[str, Any], form: Form) -> list[Any]:
    found = sent[form.value]
    if not isinstance(found, list):
        raise InvalidInput.of(form.value, "must be an array of records")
    _require_count(len(found), form.value)
    return found


def _require_count(count: int, where: str) -> None:
    if count == 0:
        raise InvalidInput.of(where, "must hold at least one record")
    if count > MAX_RECORDS:
        raise TooLarge(f"The request holds {count:,} records; at most {MAX_RECORDS:,} are taken at once.")


class _Faults:
    """What is wrong with the records of a request; `at` is where record number {} stands."""

    def __init__(self, at: str) -> None:
        self._at = at
        self._problems: list[FieldProblem] = []

    def add(self, index: int, where: str, reason: str, *, at: str | None = None) -> None:
        """Notes a fault of one record."""
        self._problems.append(FieldProblem(f"{(at or self._at).format(index)}{where}".rstrip("."), reason))

    def check(self, rows: list[list[Any]], columns: Sequence[Column], decoded: Decoded, *, prefix: str = "", at: str | None = None) -> None:
        """Checks every value, and puts those that are stored in another form in their place."""
        refusals = Refusals()
        check_rows(rows, columns, refusals, is_plain=decoded.is_plain, prefix=prefix)
        for index in sorted(refusals.found):
            self.add(index, *refusals.found[index], at=at)

    def raise_any(self) -> None:
        """Returns if nothing was noted.

        Raises:
            InvalidInput: something was.
        """
        if self._problems:
            raise InvalidInput(self._problems[:MOST_PROBLEMS])
