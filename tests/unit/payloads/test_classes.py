"""The classes of a model: other spellings, probabilities by name, and the likeliest one."""

import json

import pytest

from app.base.errors import ScoringFailed
from app.domain.deployment import OutputFields
from app.domain.record import Prediction
from app.payloads.mlflow import MlflowCodec
from app.payloads.model_classes import Classes, ClassesUnclear

TWO = OutputFields(probability="p", classes=(0, 1))
ALONE = OutputFields(prediction="p", probability="p", classes=("denied", "approved"))


def read(rows: object, outputs: OutputFields, count: int = 1) -> list[Prediction]:
    return MlflowCodec().read_answer(json.dumps({"predictions": rows}).encode(), outputs=outputs, expected_rows=count).predictions


def test_a_prediction_gets_the_spelling_of_the_list_and_others_stay() -> None:
    found = Classes([0, 1]).spell_as_listed(["1", 1.0, 1, " 1", "one", True, "1e0"])

    assert list(map(repr, found)) == ["1", "1", "1", "1", "'one'", "True", "1"]


def test_classes_that_are_spelled_alike_are_each_only_themselves() -> None:
    assert Classes([1, "1"]).spell_as_listed(["1", 1]) == ["1", 1]


def test_an_object_of_probabilities_is_put_in_the_order_of_the_classes() -> None:
    assert read([{"prediction": 1, "p": {"1": 0.75, "0": 0.25}}], TWO) == [Prediction(1, (0.25, 0.75))]
    assert read([{"prediction": 1, "p": {"1.0": 0.75, "0.0": 0.25}}], TWO) == [Prediction(1, (0.25, 0.75))]


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ({"1": 0.75}, "probabilities without the class 0, which outputs.classes lists"),
        ({"0": 0.1, "1": 0.2, "2": 0.7}, "a probability of '2', which is not among outputs.classes"),
        ({"0": 0.5, "1": "much"}, "gave text as the probability array's value"),
    ],
)
def test_an_object_that_does_not_fit_the_classes_is_refused_in_words(chances: dict[str, object], words: str) -> None:
    with pytest.raises(ScoringFailed, match=words):
        read([{"prediction": 1, "p": chances}], TWO)


def test_without_classes_an_object_is_refused_with_what_to_set() -> None:
    with pytest.raises(ScoringFailed, match=r"list them in outputs\.classes"):
        read([{"prediction": 1, "p": {"0": 0.5, "1": 0.5}}], OutputFields(probability="p"))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[0.25, 0.75], [0.5, 0.5]], [Prediction("approved", (0.25, 0.75)), Prediction("denied", (0.5, 0.5))]),
        ([0.5, 0.49], [Prediction("approved", 0.5), Prediction("denied", 0.49)]),
        ([{"p": {"approved": 0.9, "denied": 0.1}}] * 2, [Prediction("approved", (0.1, 0.9))] * 2),
        ([[0.2], [0.7]], [Prediction("denied", 0.2), Prediction("approved", 0.7)]),
    ],
    ids=["lists", "numbers", "objects", "lists of one"],
)
def test_a_model_of_probabilities_alone_predicts_the_likeliest_class(rows: object, expected: list[Prediction]) -> None:
    assert read(rows, ALONE, count=2) == expected


def test_as_many_probabilities_as_classes_are_wanted() -> None:
    with pytest.raises(ScoringFailed, match="gave 3 probabilities for 2 classes"):
        read([[0.2, 0.3, 0.5]], ALONE)


def test_equal_probabilities_choose_the_first_class_and_a_single_half_the_last() -> None:
    """A change of either would change the answers of models that are watched already."""
    assert Classes(["denied", "approved"]).choose_likeliest([(0.5, 0.5), 0.5]) == ["denied", "approved"]
    assert Classes(["a", "b", "c"]).choose_likeliest([(0.2, 0.4, 0.4)]) == ["b"]


@pytest.mark.parametrize("probability", [(), (1.0,), (0.2, 0.3, 0.5)])
def test_probabilities_of_other_classes_are_unclear(probability: tuple[float, ...]) -> None:
    with pytest.raises(ClassesUnclear, match=f"^{len(probability)} probabilities for 2 classes$"):
        Classes([0, 1]).choose_likeliest([probability])
