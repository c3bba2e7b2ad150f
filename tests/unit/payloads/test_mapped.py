"""The mapped format: bodies of any form by JSONPath, and the part of JSONPath that it knows."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.errors import InvalidInput, ScoringFailed
from app.domain.deployment import BodyMapping, Endpoint, OutputFields
from app.domain.record import Prediction
from app.payloads.json_paths import JsonPath, PathUnclear, parse_path, spell_path
from app.payloads.mapped_json import MappedCodec

NESTED = BodyMapping(
    records="$.data.people[*]",
    answers="$.results[*]",
    columns={"age": "$.person.age", "sex": "$.person['legal sex']", "income": "$.money[1]"},
    outputs={"prediction": "$.decision", "score": "$.odds[0]"},
    constants={"$.model": "credit", "$.data.version": 2},
)
COLUMNS = ["age", "sex", "income", "owner"]
OUTPUTS = OutputFields(probability="score")
ONE = BodyMapping(records="$.person", answers="$")


def problems(mapping: BodyMapping | None, **endpoint: int) -> set[str]:
    found = MappedCodec().find_mapping_problems(Endpoint(url="http://m/", mapping=mapping, **endpoint), COLUMNS)  # type: ignore[arg-type]
    return {problem.field for problem in found}


def test_records_columns_and_constants_are_written_at_their_places() -> None:
    codec = MappedCodec(NESTED)

    body = codec.write_request(COLUMNS, [[31, "female", 1.5, True], [52, None, 2, False]])

    assert json.loads(body) == {
        "model": "credit",
        "data": {
            "version": 2,
            "people": [
                {"person": {"age": 31, "legal sex": "female"}, "money": [None, 1.5], "owner": True},
                {"person": {"age": 52, "legal sex": None}, "money": [None, 2], "owner": False},
            ],
        },
    }
    assert codec.read_request(body, COLUMNS).values == [[31, "female", 1.5, True], [52, None, 2, False]]


def test_outputs_are_read_at_their_places() -> None:
    answer = {"results": [{"decision": "yes", "odds": [0.75, 0.25]}, {"decision": "no", "odds": [0.5]}]}

    found = MappedCodec(NESTED).read_answer(json.dumps(answer).encode(), outputs=OUTPUTS, expected_rows=2).predictions

    assert found == [Prediction("yes", 0.75), Prediction("no", 0.5)]


def test_a_request_of_one_record_needs_pages_of_one() -> None:
    codec = MappedCodec(ONE)

    assert json.loads(codec.write_request(["age"], [[31]])) == {"person": {"age": 31}}
    assert codec.read_answer(b'{"prediction": 1}', outputs=OutputFields(), expected_rows=1).predictions == [Prediction(1)]
    with pytest.raises(ScoringFailed, match="page_size to 1"):
        codec.write_request(["age"], [[31], [32]])
    assert problems(ONE) == {"endpoint.page_size"}
    assert problems(ONE, page_size=1) == set()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"found": []}, r"the path of the answers leads to nothing at \$\['results'\]"),
        ({"results": {"decision": 1}}, "the path of the answers leads to no array"),
        ({"results": [{"decision": 1, "odds": []}]}, r"output 'score' leads to nothing at \$\['odds'\]\[0\] \(row 1\)"),
        ({"results": []}, "answered 0 rows for a page of 1"),
    ],
)
def test_an_answer_without_the_place_is_refused_with_the_place(answer: object, words: str) -> None:
    with pytest.raises(ScoringFailed, match=words):
        MappedCodec(NESTED).read_answer(json.dumps(answer).encode(), outputs=OUTPUTS, expected_rows=1)


def test_a_request_without_a_column_names_its_record() -> None:
    with pytest.raises(InvalidInput, match=r"body\[1\]: a column's path leads to nothing at \$\['sex'\]"):
        MappedCodec().read_request(b'[{"sex": 1}, {}]', ["sex"])


@pytest.mark.parametrize(
    ("mapping", "field"),
    [
        (None, "endpoint.mapping"),
        (BodyMapping(records="people"), "endpoint.mapping.records"),
        (BodyMapping(answers="$..x"), "endpoint.mapping.answers"),
        (BodyMapping(columns={"age": "$[?@.x]"}), "endpoint.mapping.columns.age"),
        (BodyMapping(columns={"age": "$.a[*]"}), "endpoint.mapping.columns.age"),
        (BodyMapping(columns={"height": "$.h"}), "endpoint.mapping.columns.height"),
        (BodyMapping(outputs={"prediction": "$.a[1000]"}), "endpoint.mapping.outputs.prediction"),
        (BodyMapping(columns={"age": "$.sex"}), "endpoint.mapping"),
        (BodyMapping(columns={"age": "$.sex.age"}), "endpoint.mapping"),
        (BodyMapping(columns={"age": "$[0]"}), "endpoint.mapping"),
        (BodyMapping(constants={"$.model": 1}), "endpoint.mapping"),
        (BodyMapping(columns={"age": f"$.a{'[999]' * 19}"}), "endpoint.mapping"),
        (BodyMapping(constants={f"${'[999]' * 20}": 1}, records="$[0][*]"), "endpoint.mapping"),
        (BodyMapping(outputs={"prediction": "$[999][999]"}), "endpoint.mapping.outputs.prediction"),
        (BodyMapping(records="$['\0'][*]"), "endpoint.mapping.records"),
        (BodyMapping(outputs={"prediction": "$['\ud800']"}), "endpoint.mapping.outputs.prediction"),
        (BodyMapping(records="$.r[*]", constants={"$.model": "a\0"}), "endpoint.mapping.constants.$.model"),
    ],
)
def test_a_mapping_that_cannot_be_used_is_refused_with_its_field(mapping: BodyMapping | None, field: str) -> None:
    assert problems(mapping) == {field}


def test_an_answer_that_has_no_place_for_a_column_is_refused_with_its_path() -> None:
    codec = MappedCodec(BodyMapping(outputs={"prediction": "$[0]", "score": "$[1]"}))

    assert codec.write_answer(["prediction", "score"], [["yes", 0.5]]) == b'[["yes",0.5]]'
    with pytest.raises(ScoringFailed, match="with the columns prediction, mitigated_prediction cannot be written"):
        codec.write_answer(["prediction", "mitigated_prediction"], [["yes", "no"]])
    with pytest.raises(ScoringFailed, match="one record at once"):
        MappedCodec(ONE).write_answer(["prediction"], [["yes"], ["no"]])


@given(st.lists(st.text(max_size=5) | st.integers(0, 999), max_size=20))
def test_a_path_that_is_spelled_is_read_back(steps: list[str | int]) -> None:
    assert parse_path(spell_path(steps)) == JsonPath(tuple(steps))


@given(st.text(max_size=12) | st.text(alphabet="$.['a]0*\\", max_size=12))
def test_any_text_is_a_path_or_refused(text: str) -> None:
    try:
        parse_path(text)
    except PathUnclear as error:
        assert str(error)  # noqa: PT017 - either way is right
