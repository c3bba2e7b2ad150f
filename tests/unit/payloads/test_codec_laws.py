"""Laws that hold for every payload format."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.errors import InvalidInput, ScoringFailed
from app.base.values import Scalar
from app.domain.deployment import OutputFields
from app.domain.record import Prediction
from app.payloads.codec import AskedRows, Codec, Form, Objects, Tables
from app.payloads.read_call import LoggedTable
from app.payloads.registry import FORMS, PAIR_CODEC, PayloadFormat, find_form, get_codec

OUTPUTS = OutputFields(prediction="verdict", probability="p", label="name")
NAMES = ["verdict", "p", "name"]

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
scalars = st.one_of(st.booleans(), st.integers(-(2**63) + 1, 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), texts)
cells = st.one_of(st.none(), scalars)
tables = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=6))
chances = st.floats(0, 1)
answers = st.one_of(
    st.lists(st.tuples(scalars, chances, scalars), max_size=6),
    st.lists(st.tuples(scalars, st.lists(chances, min_size=2, max_size=2), scalars), max_size=6),
)
jsons = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["fields", "values", "predictions", "prediction", "verdict", "p", "name"]), inner, max_size=4),
    ),
    max_leaves=12,
)
formats = st.sampled_from(list(PayloadFormat))
formed = [row for row in PayloadFormat if row.codec.forms]
forms = st.sampled_from(FORMS)


@st.composite
def logged_tables(draw: st.DrawFn) -> LoggedTable:
    """Tables of any cells, with and without meta fields, probabilities, labels, an id and a time."""
    count = draw(st.integers(1, 5))
    a_cell_each, optional = st.lists(cells, min_size=count, max_size=count), st.sampled_from([None, "2030-01-31", "ü"])
    widths = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    rows, meta = ([list(row) for row in zip(*(draw(a_cell_each) for _ in range(width)), strict=True)] for width in widths)
    return LoggedTable(
        fields=tuple(f"c{at}" for at in range(widths[0])),
        rows=rows,
        meta_fields=tuple(f"m{at}" for at in range(widths[1])),
        meta_rows=meta or None,
        predictions=draw(a_cell_each),
        probabilities=draw(st.none() | a_cell_each),
        labels=draw(st.none() | a_cell_each),
        scoring_id=draw(optional),
        scoring_timestamp=draw(optional),
    )


def find_codec_of_form(form: Form) -> Codec:
    return next(row.codec for row in PayloadFormat if form in row.codec.forms)


def through_json(document: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    return json.loads(json.dumps(document))


def read_dumped_rows(asked: AskedRows, columns: list[str]) -> list[list[Any]]:
    if isinstance(asked, Objects):
        return [[row[name] for name in columns] for row in asked.rows]
    assert (asked.table.fields, asked.meta) == (columns, None)
    return asked.table.values


def test_every_payload_format_has_a_codec() -> None:
    assert all(get_codec(payload_format) for payload_format in PayloadFormat)


def test_forms_are_told_apart_by_their_names_and_members() -> None:
    assert len({form.name for form in FORMS}) == len({form.member for form in FORMS}) == len(FORMS)


@given(st.sampled_from(formed), tables)
def test_a_model_receives_the_rows_as_they_were(payload_format: PayloadFormat, rows: list[list[Scalar | None]]) -> None:
    columns = [f"c{at}" for at in range(len(rows[0]))]

    received = json.loads(payload_format.codec.write_request(columns, rows))

    form = payload_format.codec.forms[0]
    assert find_form(received) is form
    assert read_dumped_rows(form.read_request(received), columns) == rows


@given(forms, tables)
def test_a_request_that_a_form_writes_is_read_back_by_it(form: Form, rows: list[list[Scalar | None]]) -> None:
    columns = [f"c{at}" for at in range(len(rows[0]))]

    sent = through_json(form.write_request(columns, rows))

    assert find_form(sent) is form
    assert read_dumped_rows(form.read_request(sent), columns) == rows


@given(forms, jsons)
def test_any_json_under_a_forms_member_is_read_or_refused(form: Form, part: object) -> None:
    try:
        asked = form.read_request(through_json({form.member: part}))
    except InvalidInput:
        return

    assert isinstance(asked, Tables | Objects)


@given(forms, answers)
def test_what_a_model_answers_comes_back_row_by_row(form: Form, rows: list[tuple[Any, Any, Any]]) -> None:
    body = json.dumps(form.write_answer(NAMES, rows)).encode()

    found = find_codec_of_form(form).read_answer(body, outputs=OUTPUTS, expected_rows=len(rows)).predictions

    assert found == [Prediction(prediction, tuple(p) if isinstance(p, list) else p, label) for prediction, p, label in rows]


@given(forms, answers.filter(bool))
def test_an_answer_that_a_form_writes_is_read_back_with_all_columns(form: Form, rows: list[tuple[Any, Any, Any]]) -> None:
    body = json.dumps(form.write_answer([*NAMES, "echoed"], [[*row, place] for place, row in enumerate(rows)])).encode()

    found = find_codec_of_form(form).read_answer(body, outputs=OUTPUTS, expected_rows=len(rows))

    assert found.fields == [*NAMES, "echoed"]
    assert found.rows == [[*row, place] for place, row in enumerate(rows)]
    assert [(prediction.prediction, prediction.label) for prediction in found.predictions] == [
        (prediction, label) for prediction, _, label in rows
    ]


@given(logged_tables())
@pytest.mark.thorough
def test_a_pair_is_read_back_as_it_was_written(table: LoggedTable) -> None:
    pair = through_json(PAIR_CODEC.write_pair(table, outputs=OUTPUTS))

    assert PAIR_CODEC.read_pair(pair, outputs=OUTPUTS) == table


@given(formats, jsons, st.integers(0, 3), st.sampled_from([OUTPUTS, OutputFields(), OutputFields(probability="p")]))
def test_any_json_gives_usable_predictions_or_scoring_failed(
    payload_format: PayloadFormat, body: object, rows: int, outputs: OutputFields
) -> None:
    try:
        found = get_codec(payload_format).read_answer(json.dumps(body).encode(), outputs=outputs, expected_rows=rows).predictions
    except ScoringFailed:
        return

    assert len(found) == rows
    assert all(isinstance(answer.prediction, (str, int, float)) for answer in found)
    assert all(not isinstance(answer.prediction, float) or math.isfinite(answer.prediction) for answer in found)


@given(formats, st.binary(max_size=40))
def test_any_bytes_give_a_list_or_scoring_failed(payload_format: PayloadFormat, body: bytes) -> None:
    try:
        found = get_codec(payload_format).read_answer(body, outputs=OutputFields(), expected_rows=1).predictions
    except ScoringFailed:
        return

    assert len(found) == 1


@given(st.dictionaries(st.sampled_from(["request", "response", "scoring_id", "scoring_timestamp"]), jsons))
@pytest.mark.thorough
def test_any_logged_pair_gives_a_table_or_invalid_input(pair: dict[str, Any]) -> None:
    try:
        table = PAIR_CODEC.read_pair(pair, outputs=OutputFields(prediction="verdict"))
    except InvalidInput:
        return

    assert len(table.predictions) == len(table)


@pytest.mark.parametrize("payload_format", formed)
def test_equal_rows_are_each_sent(payload_format: PayloadFormat) -> None:
    received = json.loads(payload_format.codec.write_request(["x"], [[1], [1], [1]]))

    assert read_dumped_rows(payload_format.codec.forms[0].read_request(received), ["x"]) == [[1], [1], [1]]
