"""Laws that hold for every payload format."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.deployments import OutputFields, PayloadFormat
from app.domain.records import Prediction
from app.domain.values import Scalar
from app.errors import InvalidInput, ScoringFailed
from app.scoring.formats.logged import read_logged
from app.scoring.formats.registry import codec_for

OUTPUTS = OutputFields(prediction="verdict", probability="p", label="name")

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


def answer_in(payload_format: PayloadFormat, rows: list[tuple[Any, Any, Any]]) -> bytes:
    names = ["verdict", "p", "name"]
    if payload_format is PayloadFormat.MLFLOW:
        return json.dumps({"predictions": {name: [row[at] for row in rows] for at, name in enumerate(names)}}).encode()
    return json.dumps({"fields": names, "values": rows}).encode()


def test_every_payload_format_has_a_codec() -> None:
    assert all(codec_for(payload_format) for payload_format in PayloadFormat)


@given(formats, tables)
def test_a_model_receives_the_rows_as_they_were(payload_format: PayloadFormat, rows: list[list[Scalar | None]]) -> None:
    columns = [f"c{at}" for at in range(len(rows[0]))]

    received = json.loads(codec_for(payload_format).encode_request(columns, rows))

    table = received.get("dataframe_split", received)
    assert table.get("columns", table.get("fields")) == columns
    assert table.get("data", table.get("values")) == rows


@given(formats, answers)
def test_what_a_model_answers_comes_back_row_by_row(payload_format: PayloadFormat, rows: list[tuple[Any, Any, Any]]) -> None:
    body = answer_in(payload_format, rows)

    found = codec_for(payload_format).decode_response(body, outputs=OUTPUTS, expected_rows=len(rows))

    assert found == [Prediction(prediction, tuple(p) if isinstance(p, list) else p, label) for prediction, p, label in rows]


@given(formats, jsons, st.integers(0, 3), st.sampled_from([OUTPUTS, OutputFields(), OutputFields(probability="p")]))
def test_any_json_gives_usable_predictions_or_scoring_failed(
    payload_format: PayloadFormat, body: object, rows: int, outputs: OutputFields
) -> None:
    try:
        found = codec_for(payload_format).decode_response(json.dumps(body).encode(), outputs=outputs, expected_rows=rows)
    except ScoringFailed:
        return

    assert len(found) == rows
    assert all(isinstance(one.prediction, (str, int, float)) for one in found)
    assert all(not isinstance(one.prediction, float) or math.isfinite(one.prediction) for one in found)


@given(formats, st.binary(max_size=40))
def test_any_bytes_give_a_list_or_scoring_failed(payload_format: PayloadFormat, body: bytes) -> None:
    try:
        found = codec_for(payload_format).decode_response(body, outputs=OutputFields(), expected_rows=1)
    except ScoringFailed:
        return

    assert len(found) == 1


@given(st.dictionaries(st.sampled_from(["request", "response", "scoring_id", "scoring_timestamp"]), jsons))
def test_any_logged_pair_gives_a_table_or_invalid_input(pair: dict[str, Any]) -> None:
    try:
        table = read_logged(pair, outputs=OutputFields(prediction="verdict"))
    except InvalidInput:
        return

    assert len(table.predictions) == len(table)


@pytest.mark.parametrize("payload_format", list(PayloadFormat))
def test_equal_rows_are_each_sent(payload_format: PayloadFormat) -> None:
    received = json.loads(codec_for(payload_format).encode_request(["x"], [[1], [1], [1]]))

    table = received.get("dataframe_split", received)
    assert table.get("data", table.get("values")) == [[1], [1], [1]]
