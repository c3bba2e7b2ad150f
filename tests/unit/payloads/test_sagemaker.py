"""SageMaker's formats as its containers write them."""

import pytest

from app.base.errors import InvalidInput, ScoringFailed
from app.domain.deployment import OutputFields
from app.domain.record import Prediction
from app.payloads.sagemaker import SagemakerCsvCodec, SagemakerLinesCodec

SCORED = OutputFields(probability="score")
XGBOOST = OutputFields(prediction="score", probability="score", classes=(0, 1))


def read(text: str, outputs: OutputFields, rows: int) -> list[Prediction]:
    return SagemakerCsvCodec().read_answer(text.encode(), outputs=outputs, expected_rows=rows).predictions


def test_a_request_is_csv_without_a_header_and_text_in_quotes() -> None:
    assert SagemakerCsvCodec().write_request(["a", "b", "c"], [[1, 'say "x"', None], [2.5, "1", True]]) == (
        b'1,"say ""x""",\n2.5,"1",true\n'
    )


@pytest.mark.parametrize(
    ("text", "outputs", "expected"),
    [
        ("1,0.75\n0,0.25\n", SCORED, [Prediction(1, 0.75), Prediction(0, 0.25)]),
        ("1\r\n0\r\n", OutputFields(), [Prediction(1), Prediction(0)]),
        ("0.75\n0.25", XGBOOST, [Prediction(1, 0.75), Prediction(0, 0.25)]),
        ("0.75,0.25", XGBOOST, [Prediction(1, 0.75), Prediction(0, 0.25)]),
        ("0.25,0.75\n0.5,0.5\n", XGBOOST, [Prediction(1, (0.25, 0.75)), Prediction(0, (0.5, 0.5))]),
        ('yes,"[0.25, 0.75]"\nno,"[0.5, 0.5]"\n', SCORED, [Prediction("yes", (0.25, 0.75)), Prediction("no", (0.5, 0.5))]),
        ('{"predictions": [{"score": 0.75}, {"score": 0.25}]}', XGBOOST, [Prediction(1, 0.75), Prediction(0, 0.25)]),
    ],
    ids=["named by their places", "alone", "scores", "scores on one line", "classes", "an array in a cell", "JSON"],
)
def test_the_answers_of_containers_are_read(text: str, outputs: OutputFields, expected: list[Prediction]) -> None:
    assert read(text, outputs, 2) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,0.5,7\n", "3 values in line 1, where the deployment names 2 outputs"),
        ("1,0.5\n0,0.5\n", "answered 2 rows for a page of 1"),
        ('"1', "did not answer CSV: line 1 has a quote"),
        ("1,\n", "gave null as the probability of row 1"),
        ("\n<!DOCTYPE html><title>Log in</title>\n", "did not answer CSV, but a page of HTML or XML"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(ScoringFailed, match=words):
        read(text, SCORED, 1)


def test_a_page_of_a_log_in_is_no_prediction_and_a_class_in_angles_is_one() -> None:
    with pytest.raises(ScoringFailed, match="a page of HTML or XML"):
        read("<HTML>Log in</HTML>", OutputFields(), 1)
    assert read("<=50K\n>50K\n", OutputFields(), 2) == [Prediction("<=50K"), Prediction(">50K")]


def test_a_line_of_another_length_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"body\[1\]: has 1 values for 2 fields"):
        SagemakerCsvCodec().read_request(b"1,2\n3\n", ["a", "b"])


def test_json_lines_hold_features_or_objects() -> None:
    codec = SagemakerLinesCodec()

    arrays = codec.read_request(b'{"features": [1, "x"]}\n\n{"features": [2, "y"]}\n', ["a", "b"])
    objects = codec.read_request(b'{"features": {"a": 1, "b": "x"}}\n{"features": {"a": 2, "b": "y"}}', ["a", "b"])

    assert arrays.values == objects.values == [[1, "x"], [2, "y"]]
    answer = b'{"predicted_label": 1, "score": 0.75}\n'
    outputs = OutputFields(prediction="predicted_label", probability="score")
    assert codec.read_answer(answer, outputs=outputs, expected_rows=1).predictions == [Prediction(1, 0.75)]
