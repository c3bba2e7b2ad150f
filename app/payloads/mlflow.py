"""The format of MLflow's scoring server."""

from typing import ClassVar

from ..base.errors import InvalidInput
from ..base.strict_json import JsonObject
from .codec import DEFAULT_OPTIONS, Form, Objects, RequestOptions, Tables, read_records, tabulate_rows
from .csv_text import read_csv_request, write_csv
from .listed_answers import PREDICTIONS, ListedCodec, build_objects
from .schema_parts import CELLS, NAMES, Schema, array_of, build_rows_schema, closed_object, complete_object
from .wire import Names, Rows, Table, decode_object, read_by_column, read_table, require_members

_SPLIT = "dataframe_split"
_RECORDS = "dataframe_records"
_INPUTS = "inputs"
_SPLIT_MEMBERS = ("columns", "data", "index")


class _DataframeForm(Form):
    answer_name = "dataframe"
    answer_title = "For MLflow's forms"

    def write_answer(self, columns: Names, rows: Rows) -> JsonObject:
        return {PREDICTIONS: build_objects(columns, rows)}

    def build_answer_schema(self) -> dict[str, Schema]:
        return {PREDICTIONS: array_of({"type": "object"})}


class _SplitForm(_DataframeForm):
    name = member = _SPLIT
    title = "MLflow"
    shape = "{dataframe_split: {…}}"

    def write_request(self, columns: Names, rows: Rows) -> JsonObject:
        return {_SPLIT: {"columns": list(columns), "data": rows}}

    def read_request(self, sent: JsonObject) -> Tables:
        require_members(sent, "", [_SPLIT], next_to=_SPLIT)
        table = read_table(sent[_SPLIT], _SPLIT, fields="columns", values="data")
        require_members(sent[_SPLIT], _SPLIT, _SPLIT_MEMBERS, next_to="data")
        return Tables(table)

    def build_request_schema(self, max_rows: int) -> Schema:
        frame = closed_object(
            ["columns", "data"], columns=NAMES, data=build_rows_schema(max_rows), index={"type": "array"}
        )
        return complete_object(dataframe_split=frame)


class _RecordsForm(_DataframeForm):
    name = member = _RECORDS
    title = "MLflow, an object a record"
    shape = "{dataframe_records: […]}"

    def write_request(self, columns: Names, rows: Rows) -> JsonObject:
        return {_RECORDS: build_objects(columns, rows)}

    def read_request(self, sent: JsonObject) -> Objects:
        require_members(sent, "", [_RECORDS], next_to=_RECORDS)
        rows = sent[_RECORDS]
        if not isinstance(rows, list):
            raise InvalidInput(_RECORDS, "must be an array of records")
        return Objects(_RECORDS, rows)

    def build_request_schema(self, max_rows: int) -> Schema:
        return complete_object(dataframe_records=array_of(CELLS, minItems=1, maxItems=max_rows))


SPLIT = _SplitForm()
RECORDS = _RecordsForm()


class MlflowCodec(ListedCodec):
    """Writes `{"dataframe_split": {columns, data}}`; reads any shape of MLflow's answers."""

    label = "MLflow"
    shown_request = '{"dataframe_split": {"columns": […], "data": [[…]]}}'
    forms: ClassVar[tuple[Form, ...]] = (SPLIT, RECORDS)
    written_form: ClassVar[Form] = SPLIT

    def read_request(self, body: bytes, columns: Names) -> Table:  # noqa: ARG002 - the request names them
        sent = decode_object(body)
        form = RECORDS if _RECORDS in sent else SPLIT
        if form.member not in sent:
            raise InvalidInput(form.member, "is required")
        # Next to it are `params`, or an id of the client.
        return tabulate_rows(form.read_request({form.member: sent[form.member]}))


class MlflowRecordsCodec(MlflowCodec):
    label = "MLflow, an object a record"
    shown_request = '{"dataframe_records": [{…}]}'
    forms = ()
    written_form = RECORDS


class MlflowInputsCodec(ListedCodec):
    label = "MLflow, named inputs"
    shown_request = '{"inputs": {"age": […], "sex": […]}}'

    def build_request(self, columns: Names, rows: Rows) -> object:
        return {_INPUTS: {name: [row[position] for row in rows] for position, name in enumerate(columns)}}

    def read_request(self, body: bytes, columns: Names) -> Table:
        sent = decode_object(body).get(_INPUTS)
        return (
            read_records(sent, _INPUTS, columns) if isinstance(sent, list) else read_by_column(sent, _INPUTS)
        )


class MlflowCsvCodec(ListedCodec):
    label = "MLflow, CSV"
    shown_request = "age,sex and a line a record"
    content_type = "text/csv"

    def write_request(self, columns: Names, rows: Rows, options: RequestOptions = DEFAULT_OPTIONS) -> bytes:  # noqa: ARG002 - not needed
        return write_csv([columns, *rows])

    def read_request(self, body: bytes, columns: Names) -> Table:  # noqa: ARG002 - the header names them
        names, *rows = read_csv_request(body) or [[]]
        # A bare name may read as a number.
        return read_table(
            {"columns": [name if isinstance(name, str) else str(name) for name in names], "body": rows},
            "",
            fields="columns",
            values="body",
        )
