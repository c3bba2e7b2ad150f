"""Probabilities of several classes, read from what was logged: which is of which class, or why that is not known."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from app.checks.answers import read_probabilities
from app.metrics.answers import ClassProbabilities

CLASSES = ["a", "b", "c"]
SURE = {one: [0.8 if one == other else 0.1 for other in CLASSES] for one in CLASSES}


def rows(labels: Sequence[Any], predicted: Sequence[Any], probabilities: Sequence[Any]) -> pa.Table:
    texts = [[None if one is None else json.dumps(one) for one in column] for column in (labels, predicted, probabilities)]
    return pa.table(dict(zip(("label", "predicted", "probability"), map(pa.array, texts, [pa.string()] * 3), strict=True)))


def test_predictions_show_which_probability_is_of_which_class() -> None:
    found = read_probabilities(rows(["b", "c", "a"], CLASSES, [SURE[one] for one in CLASSES]), None)

    assert isinstance(found, ClassProbabilities)
    assert found.labels.tolist() == [1, 2, 0]


def test_stated_classes_need_no_prediction_to_show_them() -> None:
    found = read_probabilities(rows(["c", 1, None], ["a", "a", "a"], [[0.5, 0.2, 0.3]] * 3), ("a", 1, "c"))

    assert isinstance(found, ClassProbabilities)
    assert (found.labels.tolist(), found.table.shape) == ([2, 1], (2, 3))


def test_records_without_probabilities_are_left_out() -> None:
    found = read_probabilities(rows(["a", "b"], ["a", "b"], [SURE["a"], None]), None)

    assert isinstance(found, ClassProbabilities)
    assert found.labels.tolist() == [0]


@pytest.mark.parametrize(
    ("labels", "predicted", "probabilities", "classes", "reason"),
    [
        (["a"], ["a"], [None], None, "no record was logged with a probability for each class"),
        (["a"], ["a"], [0.8], None, "no record was logged with a probability for each class"),
        (["a", "b"], ["a", "b"], [SURE["a"], [0.5, 0.5]], None, "some probabilities are one number"),
        (["a"], ["a"], [[2.0, -1.0, 0.0]], None, "not all between 0 and 1"),
        (["a"], ["a"], [[0.8, 0.8, 0.8]], None, "do not always add up to 1"),
        (["a", "a"], ["a", "a"], [SURE["a"], SURE["b"]], None, "not in the same place"),
        (["c"], ["a"], [SURE["a"]], None, "which probability is that of the label"),
        (["a"], ["a"], [SURE["a"]], ("a", "b"), "3 probabilities for the 2 classes"),
    ],
)
def test_there_is_a_reason_where_they_cannot_be_read(
    labels: list[Any], predicted: list[Any], probabilities: list[Any], classes: tuple[str, ...] | None, reason: str
) -> None:
    found = read_probabilities(rows(labels, predicted, probabilities), classes)

    assert isinstance(found, str)
    assert reason in found
