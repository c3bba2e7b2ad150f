"""The `fields`/`values` format of OpenScale's custom providers."""

from dataclasses import replace
from typing import ClassVar

import msgspec

from ..base.errors import InvalidInput, ScoringFailed
from ..base.strict_json import JsonObject
from ..domain.deployment import OutputFields
from .codec import Codec, Form, Tables
from .read_call import LoggedTable, read_optional_text
from .read_predictions import Answer, OutputsUnclear, find_order, find_outputs, read_outputs, require_rows
from .schema_parts import (
    NAMES,
    TABLE,
    Schema,
    array_of,
    build_rows_schema,
    closed_object,
    complete_object,
    open_object,
)
from .wire import (
    Names,
    RowList,
    Rows,
    Table,
    decode_answer,
    decode_object,
    join_path,
    name_kind,
    read_repeating_table,
    read_table,
    require_length,
    require_members,
    require_object,
)

_MEMBERS = ("fields", "values", "meta")
_META_MEMBERS = ("fields", "values")
_INPUT_DATA = "input_data"
_PREDICTIONS = "predictions"


class _BareForm(Form):
    name = answer_name = "fields_values"
    title = "Fields and values"
    answer_title = "For fields and values"
    member = "values"
    shape = "{fields, values}"
    is_bare = True

    def write_request(self, columns: Names, rows: Rows) -> JsonObject:
        return {"fields": list(columns), "values": rows}

    write_answer = write_request

    def read_request(self, sent: JsonObject) -> Tables:
        require_members(sent, "", _MEMBERS, next_to=self.member)
        return _read_closed(sent, "")

    def build_request_schema(self, max_rows: int) -> Schema:
        rows = build_rows_schema(max_rows)
        meta = complete_object(fields=NAMES, values=rows)
        return closed_object(["fields", "values"], fields=NAMES, values=rows, meta=meta)

    def build_answer_schema(self) -> dict[str, Schema]:
        return {"fields": NAMES, "values": array_of({"type": "array"})}


class _InputDataForm(Form):
    """`{"input_data": [{fields, values, meta?}]}`, answered by `{"predictions": [{fields, values}]}`."""

    name = answer_name = member = _INPUT_DATA
    title = "The same under `input_data`"
    answer_title = "For `input_data`"
    shape = "{input_data: […]}"

    def write_request(self, columns: Names, rows: Rows) -> JsonObject:
        return {_INPUT_DATA: [BARE.write_request(columns, rows)]}

    def read_request(self, sent: JsonObject) -> Tables:
        require_members(sent, "", [_INPUT_DATA], next_to=_INPUT_DATA)
        return _read_closed(*_unwrap(sent, "", _INPUT_DATA))

    def write_answer(self, columns: Names, rows: Rows) -> JsonObject:
        return {_PREDICTIONS: [BARE.write_answer(columns, rows)]}

    def build_request_schema(self, max_rows: int) -> Schema:
        return complete_object(
            input_data=array_of(BARE.build_request_schema(max_rows), minItems=1, maxItems=1)
        )

    def build_answer_schema(self) -> dict[str, Schema]:
        members = BARE.build_answer_schema()
        return {_PREDICTIONS: array_of(open_object(list(members), **members))}


BARE = _BareForm()
INPUT_DATA = _InputDataForm()


class _AnswerTable(msgspec.Struct):
    fields: list[str]
    values: RowList


class _AnswerBody(msgspec.Struct):
    fields: list[str] | None = None
    values: RowList | None = None
    predictions: list[_AnswerTable] | None = None


class FieldsValuesCodec(Codec):
    """Writes `{fields, values}`; reads it bare or under `predictions`, without echoed inputs and class names."""

    label = "fields and values"
    shown_request = '{"fields": […], "values": [[…]]}'
    forms: ClassVar[tuple[Form, ...]] = (BARE, INPUT_DATA)
    written_form: ClassVar[Form] = BARE

    def read_answer(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> Answer:
        answer = decode_answer(body, _AnswerBody, expected='{"fields": [...], "values": [[...]]}')
        if answer.fields is not None and answer.values is not None:
            table = _AnswerTable(answer.fields, answer.values)
        elif answer.predictions is None:
            raise ScoringFailed(
                "The model's endpoint gave an answer without 'fields' and 'values' (and without "
                "'predictions' around them)."
            )
        elif len(answer.predictions) != 1:
            raise ScoringFailed(
                f"The model's endpoint answered {len(answer.predictions)} tables under 'predictions', where "
                "one was expected."
            )
        else:
            table = answer.predictions[0]
        require_rows(len(table.values), expected_rows)
        width = len(table.fields)
        for index, row in enumerate(table.values):
            if len(row) != width:
                raise ScoringFailed(
                    f"The model's endpoint named {width} fields but gave {len(row)} in row {index + 1}."
                )
        predictions = read_outputs(
            table.fields, lambda position: [row[position] for row in table.values], outputs
        )
        return Answer(table.fields, table.values, predictions)

    def read_request(self, body: bytes, columns: Names) -> Table:  # noqa: ARG002 - the request names them
        document, path = _unwrap(decode_object(body), "", _INPUT_DATA)
        return _read_tables(document, path).table

    def read_pair(self, pair: JsonObject, *, outputs: OutputFields) -> LoggedTable:
        request = _read_tables(*_unwrap(pair.get("request"), "request", _INPUT_DATA))
        # Answers may name a column twice that is no output.
        response = read_repeating_table(*_unwrap(pair.get("response"), "response", _PREDICTIONS))
        require_length(response, request.table)
        fields = request.table.fields
        rows = request.table.values
        if request.meta is not None:
            fields = [*fields, *request.meta.fields]
            rows = [[*row, *meta] for row, meta in zip(rows, request.meta.values, strict=True)]
        try:
            order = find_order(fields, rows, response.fields, response.values, outputs)
        except ScoringFailed as error:
            raise InvalidInput(response.values_path, str(error)) from error
        if order is not None:
            response = replace(response, values=[response.values[position] for position in order])
        try:
            positions = find_outputs(response.fields, outputs)
        except OutputsUnclear as error:
            raise InvalidInput(response.fields_path, str(error)) from error
        predictions, probabilities, labels = (
            None if position is None else [row[position] for row in response.values]
            for position in (positions.prediction, positions.probability, positions.label)
        )
        return LoggedTable(
            fields=tuple(request.table.fields),
            rows=request.table.values,
            meta_fields=() if request.meta is None else tuple(request.meta.fields),
            meta_rows=None if request.meta is None else request.meta.values,
            predictions=predictions or [],
            probabilities=probabilities,
            labels=labels,
            scoring_id=read_optional_text(pair, "scoring_id"),
            scoring_timestamp=read_optional_text(pair, "scoring_timestamp"),
        )

    def write_pair(self, table: LoggedTable, *, outputs: OutputFields) -> JsonObject:
        request: JsonObject = BARE.write_request(table.fields, table.rows)
        if table.meta_rows is not None:
            request["meta"] = BARE.write_request(table.meta_fields, table.meta_rows)
        columns = {
            outputs.prediction: table.predictions,
            outputs.probability: table.probabilities,
            outputs.label: table.labels,
        }
        cells_by_output = {
            name: cells for name, cells in columns.items() if name is not None and cells is not None
        }
        response = BARE.write_answer(
            list(cells_by_output), list(map(list, zip(*cells_by_output.values(), strict=True)))
        )
        optional_texts = {"scoring_id": table.scoring_id, "scoring_timestamp": table.scoring_timestamp}
        return {member: text for member, text in optional_texts.items() if text is not None} | {
            "request": request,
            "response": response,
        }

    def pair_schemas(self) -> dict[str, Schema]:
        wrapped = array_of(TABLE, minItems=1, maxItems=1)
        return {
            "request": {"anyOf": [TABLE, open_object([_INPUT_DATA], input_data=wrapped)]},
            "response": {"anyOf": [TABLE, open_object([_PREDICTIONS], predictions=wrapped)]},
        }


class InputDataCodec(FieldsValuesCodec):
    label = "fields and values, under input_data"
    shown_request = '{"input_data": [{"fields": […], "values": [[…]]}]}'
    forms = ()
    written_form = INPUT_DATA


def _read_closed(document: JsonObject, path: str) -> Tables:
    tables = _read_tables(document, path)
    require_members(document, path, _MEMBERS, next_to="values")
    if tables.meta is not None:
        require_members(document["meta"], join_path(path, "meta"), _META_MEMBERS, next_to="values")
    return tables


def _read_tables(document: JsonObject, path: str) -> Tables:
    table = read_table(document, path)
    sent_meta = document.get("meta")
    if sent_meta is None:
        return Tables(table)
    meta = read_table(sent_meta, join_path(path, "meta"))
    require_length(meta, table)
    return Tables(table, meta)


def _unwrap(document: object, path: str, wrapper: str) -> tuple[JsonObject, str]:
    table = require_object(document, path)
    if wrapper not in table:
        return table, path
    inner = table[wrapper]
    inner_path = join_path(path, wrapper)
    if not isinstance(inner, list) or len(inner) != 1:
        content = f"{len(inner)} of them" if isinstance(inner, list) else name_kind(inner)
        raise InvalidInput(inner_path, f"must be an array of exactly one table, found {content}")
    return require_object(inner[0], f"{inner_path}[0]"), f"{inner_path}[0]"
