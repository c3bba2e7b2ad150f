"""Scores by a reading that was learned before: what is read of answers in another form, and what decides at the cut-off."""

import numpy as np
import pyarrow as pa
import pytest

from app.domain.mitigation import CutOff, Reading
from app.domain.monitor import Outcome, OutcomeRule
from app.mitigation.rule import Judge, read_known_scores
from app.sources.arrays.favourable_scores import read_scores_by_reading
from tests.unit.mitigation.copies import CopyAnswer, outcome_as_reference

RULE = OutcomeRule(favourable=(1,), unfavourable=(0,))
MIXED = ["0.25", None, "[0.125, 0.875]", "[0.25, 0.25, 0.5]", "1"]


def scores(reading: Reading, texts: list[str | None]) -> list[float | None]:
    found = read_scores_by_reading(reading, pa.chunked_array([pa.array(texts, pa.string())]))
    return [None if np.isnan(score) else score for score in found.tolist()]


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        (Reading("number"), [0.25, None, None, None, 1.0]),
        (Reading("number", rises=False), [0.75, None, None, None, 0.0]),
        (Reading("list", favourable=(0, 2), classes=("a", "b", "c")), [None, None, None, 0.75, None]),
    ],
)
def test_answers_of_another_form_hide_no_score_but_their_own(reading: Reading, expected: list[float | None]) -> None:
    assert scores(reading, MIXED) == expected
    assert scores(reading, MIXED[2:3]) == expected[2:3]


def test_many_records_are_read_as_each_by_itself_to_the_last_digit() -> None:
    reading = Reading("list", favourable=tuple(range(11)), classes=tuple("abcdefghijkl"))
    draws = np.random.default_rng(5).dirichlet(np.ones(12), size=300)
    texts = [str(row.tolist()) for row in draws]

    assert scores(reading, list(texts)) == [score for text in texts for score in read_known_scores([text], reading)]


@pytest.mark.parametrize(
    ("cut_off", "expected"),
    [
        (CutOff(0.5, 0.4, 0.5), Outcome.FAVOURABLE),
        (CutOff(0.5, 0.5, 0.6), Outcome.UNFAVOURABLE),
        (CutOff(0.5, 0.5, 0.5), Outcome.UNFAVOURABLE),
        (CutOff(0.5, 0.4, 0.6), Outcome.UNFAVOURABLE),
    ],
)
def test_at_the_cut_off_the_outcome_is_the_one_that_the_model_was_seen_to_give_there(cut_off: CutOff, expected: Outcome) -> None:
    answers = [CopyAnswer(Outcome.FAVOURABLE, 0.75, 0.5), CopyAnswer(Outcome.UNFAVOURABLE, 0.25, 0.5)]

    assert outcome_as_reference(answers, Judge(RULE, Reading("number"), cut_off)) is expected
