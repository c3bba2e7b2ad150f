"""`monitored(model)`: a model that logs its predictions, and is otherwise the model."""

import copy
import json
import logging
import pickle
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from evenhand_client import Evenhand, EvenhandHandler, monitored

pytest.importorskip("sklearn", reason="scikit-learn, whose models are monitored, is not installed")

from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .collector import Collector

Make = Callable[..., Evenhand]

FRAME = pd.DataFrame({"age": [20, 30, 40, 50, 60, 70], "income": [1, 9, 2, 8, 3, 7]})
LABELS = np.array(["no", "yes", "no", "yes", "no", "yes"])


class Broken:
    """A model that always fails."""

    def predict(self, _rows: object) -> None:
        raise ZeroDivisionError("the model's own fault")


def fitted() -> LogisticRegression:
    return LogisticRegression().fit(FRAME, LABELS)


def test_predictions_are_logged_a_row_each_and_answered_as_before(make: Make, collector: Collector) -> None:
    client, plain = make(), fitted()
    model = monitored(plain, client, meta=lambda rows: [{"row": int(row)} for row in rows.index])
    answer = model.predict(FRAME)
    client.flush()

    assert list(answer) == list(plain.predict(FRAME))
    assert [(record["features"], record["prediction"], record["meta"]) for record in collector.records] == [
        ({"age": int(age), "income": int(income)}, said, {"row": row})
        for row, (age, income, said) in enumerate(zip(FRAME["age"], FRAME["income"], answer, strict=True))
    ]
    assert collector.ids == model.last_ids


def test_of_probabilities_the_likeliest_class_is_the_prediction(make: Make, collector: Collector) -> None:
    client, plain = make(), fitted()
    model = monitored(plain, client, methods=["predict_proba"])
    shares = model.predict_proba(FRAME)
    model.predict(FRAME)
    client.flush()

    assert [record["prediction"] for record in collector.records] == list(plain.predict(FRAME))
    assert [record["probability"] for record in collector.records] == shares.tolist()


def test_rows_without_names_take_them_from_the_model_or_from_the_call(make: Make, collector: Collector) -> None:
    client = make()
    monitored(fitted(), client).predict(FRAME.rename_axis(None))
    monitored(LogisticRegression().fit(FRAME.to_numpy(), LABELS), client, feature_names=["a", "b"]).predict([[20, 1]])
    client.flush()

    assert collector.records[0]["features"] == {"age": 20, "income": 1}
    assert collector.records[-1]["features"] == {"a": 20, "b": 1}


def test_a_model_that_raises_still_raises(make: Make, collector: Collector) -> None:
    client = make()
    with pytest.raises(ZeroDivisionError, match="the model's own fault"):
        monitored(Broken(), client).predict(FRAME)
    client.flush()

    assert collector.requests == []


def test_what_cannot_be_logged_does_not_cost_the_answer(make: Make) -> None:
    client = make()
    model = monitored(LogisticRegression().fit(FRAME.to_numpy(), LABELS), client)

    assert list(model.predict(FRAME.to_numpy())) == list(LABELS)
    assert client.stats().rejected == len(FRAME)


def test_it_is_the_model_to_scikit_learn(make: Make) -> None:
    model = monitored(make_pipeline(StandardScaler(), LogisticRegression()), make())

    assert is_classifier(model)
    assert model.fit(FRAME, LABELS) is model
    assert list(model.classes_) == ["no", "yes"]
    assert model.get_params()["logisticregression__C"] == 1.0
    assert cross_val_score(model, FRAME, LABELS, cv=2, error_score="raise").shape == (2,)
    again = clone(model)
    assert repr(again).startswith("monitored(Pipeline(")
    assert not hasattr(again.named_steps["logisticregression"], "coef_")


def test_copies_go_on_logging_and_a_pickle_holds_no_key(make: Make, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make()
    model = monitored(fitted(), client)
    copy.deepcopy(model).predict(FRAME)
    client.flush()
    assert len(collector.records) == 6

    pickled = pickle.dumps(model)
    assert b"evk_secret" not in pickled
    monkeypatch.setenv("EVENHAND_KEY", "evk_other")
    other = pickle.loads(pickled)  # noqa: S301 - our own
    other.predict(FRAME)
    other._settings.client.close()  # noqa: SLF001 - it has no other name
    assert collector.requests[-1].key == "Bearer evk_other"
    assert len(collector.records) == 12


def test_an_unknown_method_is_refused(make: Make) -> None:
    with pytest.raises(ValueError, match="methods may be predict and predict_proba; found score"):
        monitored(fitted(), make(), methods=["score"])


def test_the_handler_logs_messages_that_are_decisions(make: Make, collector: Collector) -> None:
    client, log = make(), logging.getLogger("a program")
    handler = EvenhandHandler(client)
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        log.info(json.dumps({"features": {"age": 3}, "prediction": 1, "id": "a", "level": "info"}))
        log.info({"features": {"age": 4}, "prediction": 0, "id": "b"})
        log.info("%s", json.dumps({"features": {"age": 5}, "prediction": 0, "id": "c"}))
        log.info('{"message": "started"}')
        log.info("{not json")
        log.info("started")
    finally:
        log.removeHandler(handler)
    client.flush()

    assert [(record["id"], record["features"], record["prediction"]) for record in collector.records] == [
        ("a", {"age": 3}, 1),
        ("b", {"age": 4}, 0),
        ("c", {"age": 5}, 0),
    ]
