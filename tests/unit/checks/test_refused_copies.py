"""Tests of answers to copies on their way from another process."""

import pickle

from app.base.errors import PageRefused
from app.calls.scoring.scoring_client import Refusal


def test_a_refusal_keeps_its_cause_on_the_way_between_processes() -> None:
    refusal = Refusal(("age",), PageRefused("The model takes no null.", quotation="no null", answer="age: no null"))

    sent: Refusal = pickle.loads(pickle.dumps(refusal))  # noqa: S301 - written by this test

    assert sent.nulls == ("age",)
    assert (str(sent.error), sent.error.quotation, sent.error.answer) == ("The model takes no null.", "no null", "age: no null")
