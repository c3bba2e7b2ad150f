"""The fields/values codec, as a scoring request and its answer."""

import json

import pytest

from app.base.errors import ScoringFailed
from app.domain.deployment import OutputFields
from app.domain.record import Prediction
from app.payloads.fields_values import FieldsValuesCodec
from app.payloads.read_predictions import fit_probability

CODEC = FieldsValuesCodec()
PLAIN = OutputFields()
SCORED = OutputFields(probability="probability")


def decode(answer: object, outputs: OutputFields = PLAIN, rows: int = 1) -> list[Prediction]:
    return CODEC.read_answer(json.dumps(answer).encode(), outputs=outputs, expected_rows=rows).predictions


def test_a_request_holds_the_columns_and_the_rows_in_order() -> None:
    body = CODEC.write_request(["sex", "age"], [["male", 30], ("female", None)])

    assert json.loads(body) == {"fields": ["sex", "age"], "values": [["male", 30], ["female", None]]}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_row_that_json_cannot_carry_is_refused_instead_of_sent_as_missing(number: float) -> None:
    with pytest.raises(ScoringFailed, match="Row 2 of a page holds"):
        CODEC.write_request(["x"], [[None], [number]])


def test_text_that_utf8_cannot_carry_is_refused() -> None:
    with pytest.raises(ScoringFailed, match="UTF-8"):
        CODEC.write_request(["x"], [["\ud800"]])


def test_the_word_null_in_text_is_no_missing_cell() -> None:
    assert json.loads(CODEC.write_request(["x", "y"], [["null", 1.5]]))["values"] == [["null", 1.5]]


def test_a_bare_answer_is_read() -> None:
    found = decode({"fields": ["prediction", "probability"], "values": [["Risk", 0.25]]}, SCORED)

    assert found == [Prediction("Risk", 0.25)]


def test_an_answer_wrapped_in_predictions_is_read() -> None:
    found = decode({"predictions": [{"fields": ["prediction"], "values": [[1], [0]]}]}, rows=2)

    assert found == [Prediction(1), Prediction(0)]


def test_echoed_inputs_and_the_names_of_the_classes_are_passed_over() -> None:
    answer = {
        "fields": ["sex", "prediction", "probability"],
        "labels": ["No Risk", "Risk"],
        "values": [["male", "Risk", [0.25, 0.75]]],
    }

    assert decode(answer, SCORED) == [Prediction("Risk", (0.25, 0.75))]


def test_the_label_column_gives_the_decoded_form() -> None:
    found = decode({"fields": ["prediction", "predictedLabel"], "values": [[0.0, "No Risk"]]}, OutputFields(label="predictedLabel"))

    assert found == [Prediction(0.0, None, "No Risk")]


def test_the_configured_prediction_column_goes_before_the_usual_ones() -> None:
    found = decode({"fields": ["prediction", "verdict"], "values": [[0, "yes"]]}, OutputFields(prediction="verdict"))

    assert found == [Prediction("yes")]


def test_a_usual_prediction_column_stands_in_for_a_configured_one_that_is_absent() -> None:
    found = decode({"fields": ["prediction"], "values": [[1]]}, OutputFields(prediction="predictedLabel"))

    assert found == [Prediction(1)]


def test_a_column_with_another_role_does_not_stand_in_for_the_prediction() -> None:
    outputs = OutputFields(prediction="verdict", label="predictedLabel")

    found = decode({"fields": ["predictedLabel", "prediction"], "values": [["No Risk", 0]]}, outputs)

    assert found == [Prediction(0, None, "No Risk")]


def test_two_columns_that_could_stand_in_are_refused() -> None:
    with pytest.raises(ScoringFailed, match="could be it"):
        decode({"fields": ["predictedLabel", "prediction"], "values": [["No Risk", 0]]}, OutputFields(prediction="verdict"))


def test_a_byte_order_mark_is_passed_over() -> None:
    body = b'\xef\xbb\xbf{"fields": ["prediction"], "values": [[1]]}'

    assert CODEC.read_answer(body, outputs=PLAIN, expected_rows=1).predictions == [Prediction(1)]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"fields": ["prediction"], "values": []}, "answered 0 rows for a page of 1."),
        ({"fields": ["prediction"], "values": [[1], [0]]}, "answered 2 rows for a page of 1."),
        ({"fields": ["verdict"], "values": [[1]]}, "has no prediction column 'prediction'; it has 'verdict'"),
        ({"fields": [], "values": [[]]}, "it has no column at all"),
        ({"fields": ["prediction", "prediction"], "values": [[1, 1]]}, "names the column 'prediction' more than once"),
        ({"fields": ["prediction", "p"], "values": [[1]]}, "named 2 fields but gave 1 in row 1"),
        ({"fields": ["prediction"], "values": [[None]]}, "gave null as the prediction of row 1"),
        ({"fields": ["prediction"], "values": [[[1]]]}, "gave an array as the prediction of row 1"),
        ({"fields": ["prediction"], "values": [[{"class": 1}]]}, "gave an object as the prediction of row 1"),
        ({"fields": ["prediction"], "values": [["a\0b"]]}, "NUL character"),
        ({"fields": ["prediction"], "values": [[10**30]]}, "beyond 64 bits"),
        ({"fields": ["prediction"], "values": [1]}, "did not answer"),
        ({"fields": "prediction", "values": [[1]]}, "did not answer"),
        ({"predictions": []}, "answered 0 tables"),
        ({"error": "not loaded"}, "without 'fields' and 'values'"),
        ([1], "did not answer"),
    ],
)
def test_an_answer_that_is_no_prediction_per_row_is_refused_in_words(answer: object, sentence: str) -> None:
    with pytest.raises(ScoringFailed) as caught:
        decode(answer)

    assert sentence in str(caught.value)


@pytest.mark.parametrize("probability", [None, "0.5", True, [], [None], ["a"], [True], [[0.5]], {}])
def test_a_probability_of_another_type_is_refused(probability: object) -> None:
    with pytest.raises(ScoringFailed, match="the probability"):
        decode({"fields": ["prediction", "probability"], "values": [[1, probability]]}, SCORED)


@pytest.mark.parametrize("probability", [-0.1, 1.1, 2, [0.5, 1.5], 1e300])
def test_a_probability_outside_0_to_1_is_refused(probability: object) -> None:
    (found,) = decode({"fields": ["prediction", "probability"], "values": [[1, probability]]}, SCORED)

    with pytest.raises(ScoringFailed, match="lies between 0 and 1"):
        fit_probability(found)


@pytest.mark.parametrize(
    ("sent", "fitted"),
    [(1.0000001192092896, 1), (1 + 2**-52, 1), (-1e-9, 0), (1.000001, 1), ([0.0, 1.0000001192092896], (0.0, 1)), ([-1e-7, 0.5], (0, 0.5))],
)
def test_a_probability_that_rounding_moved_out_is_0_or_1_and_says_so(sent: object, fitted: object) -> None:
    (found,) = decode({"fields": ["prediction", "probability"], "values": [[1, sent]]}, SCORED)

    assert fit_probability(found) == Prediction(1, fitted, is_rounded=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("sent", [0, 1, 0.5, [0, 1.0], [0.25, 0.75], None])
def test_a_probability_within_0_to_1_stays(sent: object) -> None:
    one = Prediction(1, tuple(sent) if isinstance(sent, list) else sent)  # type: ignore[arg-type]

    assert fit_probability(one) is one


def test_numbers_and_arrays_of_probabilities_do_not_mix() -> None:
    with pytest.raises(ScoringFailed, match="mixed kinds of probability"):
        decode({"fields": ["prediction", "probability"], "values": [[1, 0.5], [1, [0.5]]]}, SCORED, rows=2)


@pytest.mark.parametrize("missing", [OutputFields(probability="score"), OutputFields(label="score")])
def test_an_answer_without_a_configured_column_is_refused(missing: OutputFields) -> None:
    with pytest.raises(ScoringFailed, match="column 'score' that the deployment names"):
        decode({"fields": ["prediction"], "values": [[1]]}, missing)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"fields": ["prediction"], "values": [[NaN]]}', "gave nan as the prediction (in row 1)"),
        (b'{"fields": ["prediction"], "values": [[-Infinity]]}', "gave -inf as the prediction (in row 1)"),
        (b'{"fields": ["prediction"], "values": [[1e999]]}', "out of range"),
        (b'{"fields": ["prediction"], "values": [["\\ud800"]]}', "did not answer JSON"),
        (b'{"fields": ["prediction"], "values": [["\xff"]]}', "did not answer JSON"),
        (b"", "without a body"),
        (b"<html>NaN</html>", "did not answer JSON"),
        (b'{"fields": ["prediction"], "values": [[' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_bytes_that_are_not_strict_json_are_refused(body: bytes, sentence: str) -> None:
    with pytest.raises(ScoringFailed) as caught:
        CODEC.read_answer(body, outputs=PLAIN, expected_rows=1)

    assert sentence in str(caught.value)
