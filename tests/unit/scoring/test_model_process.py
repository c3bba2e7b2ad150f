"""Errors of a model's own code: they are quoted, and never with the secrets of the process."""

import pytest
from syrupy.assertion import SnapshotAssertion

from app.calls.scoring.model_process import NOT_TAKEN, answer_page, hide_secrets
from tests.builders.page_words import says


@pytest.fixture(autouse=True)
def _with_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "s3cret-token")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret-token-and-more")
    monkeypatch.setenv("SHORT_KEY", "on")


def test_users_and_passwords_of_addresses_are_hidden(snapshot: SnapshotAssertion) -> None:
    text = "cannot connect to postgresql://mlflow:p%40ss@db.example/mlflow, nor to https://u:p@mlflow.example:5000/"

    assert says(said := hide_secrets(text), "//[redacted]@db.example/mlflow", "//[redacted]@mlflow.example:5000/")
    assert said == snapshot


def test_values_of_variables_that_are_secrets_are_hidden_the_longest_first() -> None:
    assert hide_secrets("401: s3cret-token-and-more or s3cret-token, based on") == "401: [redacted] or [redacted], based on"


def test_an_error_of_the_model_is_quoted_without_them() -> None:
    class Model:
        def predict(self, frame: object) -> object:  # noqa: ARG002 - of the protocol
            raise RuntimeError("refused with s3cret-token")

    answer = answer_page(Model(), b'{"dataframe_split": {"columns": ["sex"], "data": [["male"]]}}')

    assert answer.status == NOT_TAKEN
    assert b"[redacted]" in answer.body
    assert b"s3cret" not in answer.body
