"""The outcome as reference: what copies that disagree come to."""

import numpy as np
import pytest

from app.base.values import Range
from app.domain.mitigation import CutOff, Mode, Reading
from app.domain.monitor import Outcome, OutcomeRule
from app.mitigation.rule import (
    Judge,
    Probability,
    average_numbers,
    average_probabilities,
    read_known_scores,
    substitute,
    write_probabilities,
)
from tests.unit.mitigation.copies import CopyAnswer, outcome_as_reference, table

GOOD, BAD, ODD = Outcome.FAVOURABLE, Outcome.UNFAVOURABLE, Outcome.UNCLASSIFIED
RULE = OutcomeRule(favourable=(1,), unfavourable=(0,))
KNOWN = Judge(RULE, Reading("number"), CutOff(0.6, 0.55, 0.65))
UNKNOWN = Judge(RULE, None, None)
CLASSES = Judge(OutcomeRule(favourable=("a",), unfavourable=("b",)), Reading("list", favourable=(0,), classes=("a", "b", None)), None)


def test_without_copies_or_with_unclassified_ones_only_nothing_is_known() -> None:
    assert outcome_as_reference([], KNOWN) is None
    assert outcome_as_reference([CopyAnswer(ODD, 0.9, 1.0)], KNOWN) is None


def test_classified_copies_that_agree_decide_whatever_their_probabilities() -> None:
    assert outcome_as_reference([CopyAnswer(GOOD, 0.1, 0.5), CopyAnswer(GOOD, None, 0.5), CopyAnswer(ODD, 0.0, 9.0)], KNOWN) is GOOD


@pytest.mark.parametrize(("share", "expected"), [(0.61, GOOD), (0.6, BAD), (0.59, BAD)])
def test_a_mean_above_the_models_own_cut_off_is_favourable_and_at_it_not(share: float, expected: Outcome) -> None:
    assert outcome_as_reference([CopyAnswer(GOOD, 1.0, share), CopyAnswer(BAD, 0.0, 1 - share)], KNOWN) is expected


def test_a_number_may_be_the_probability_of_the_unfavourable_outcome() -> None:
    falls = Judge(RULE, Reading("number", rises=False), CutOff(0.5, 0.4, 0.6))

    assert outcome_as_reference([CopyAnswer(GOOD, 0.1, 0.5), CopyAnswer(BAD, 0.7, 0.5)], falls) is GOOD


def test_without_probabilities_the_greater_share_counts_and_a_tie_tells_nothing() -> None:
    assert outcome_as_reference([CopyAnswer(GOOD, None, 0.4), CopyAnswer(BAD, None, 0.6)], KNOWN) is BAD
    assert outcome_as_reference([CopyAnswer(GOOD, 0.9, 0.7), CopyAnswer(BAD, 0.1, 0.3)], UNKNOWN) is GOOD
    assert outcome_as_reference([CopyAnswer(GOOD, None, 0.1 + 0.2), CopyAnswer(BAD, None, 0.3)], KNOWN) is None


def test_copies_that_stand_for_nobody_count_only_where_there_are_no_others() -> None:
    nobody = CopyAnswer(GOOD, 0.9, 0.0)

    assert outcome_as_reference([nobody, CopyAnswer(BAD, 0.1, 0.1)], KNOWN) is BAD
    assert outcome_as_reference([nobody], KNOWN) is GOOD


def test_of_several_classes_the_greatest_mean_counts_and_a_tie_or_an_unknown_class_falls_back_to_shares() -> None:
    def decided(one: tuple[float, ...], other: tuple[float, ...], share: float = 0.7) -> Outcome | None:
        return outcome_as_reference([CopyAnswer(GOOD, one, share), CopyAnswer(BAD, other, 1 - share)], CLASSES)

    assert decided((0.4, 0.35, 0.25), (0.0, 0.9, 0.1)) is BAD
    assert decided((0.9, 0.1, 0.0), (0.0, 0.2, 0.8)) is GOOD
    assert decided((0.1, 0.0, 0.9), (0.0, 0.1, 0.9)) is GOOD


def test_real_numbers_are_decided_by_their_mean() -> None:
    judge = Judge(OutcomeRule(favourable=(Range(10, 20),), unfavourable=(Range(0, 9),)), None, None)
    answers = [CopyAnswer(GOOD, None, 0.5, 20.0), CopyAnswer(BAD, None, 0.5, 1.0)]

    assert outcome_as_reference(answers, judge) is GOOD
    assert outcome_as_reference([answers[0], CopyAnswer(BAD, None, 0.58, 0.0)], judge) is None


def test_a_mean_never_leaves_the_numbers_it_is_of() -> None:
    answers = [CopyAnswer(GOOD, 0.9, share) for share in (0.1, 0.2, 0.3, 0.4)]

    assert average_probabilities(table(answers), 1)[0] == 0.9
    assert average_probabilities(table([CopyAnswer(GOOD, (1.0, 0.0), 1 / 3)] * 3), 1)[0] == (1.0, 0.0)


def test_probabilities_of_different_forms_have_no_mean() -> None:
    assert average_probabilities(table([CopyAnswer(GOOD, 0.9, 1.0), CopyAnswer(GOOD, (0.1, 0.9), 1.0)]), 1)[0] is None
    assert average_probabilities(table([CopyAnswer(GOOD, (0.1, 0.9), 1.0), CopyAnswer(GOOD, (0.1, 0.5, 0.4), 1.0)]), 1)[0] is None
    assert average_probabilities(table([CopyAnswer(GOOD, 0.9, 1.0), CopyAnswer(GOOD, None, 1.0)]), 1)[0] is None
    assert average_probabilities(table([]), 1)[0] is None
    assert np.isnan(average_numbers(table([]), 1)[0])


@pytest.mark.parametrize(
    ("own", "as_reference", "mode", "expected"),
    [
        (BAD, GOOD, Mode.LIFT_ONLY, GOOD),
        (GOOD, BAD, Mode.LIFT_ONLY, GOOD),
        (BAD, BAD, Mode.LIFT_ONLY, BAD),
        (GOOD, BAD, Mode.REFERENCE_SUBSTITUTION, BAD),
        (BAD, None, Mode.REFERENCE_SUBSTITUTION, BAD),
        (ODD, GOOD, Mode.REFERENCE_SUBSTITUTION, ODD),
        (ODD, GOOD, Mode.LIFT_ONLY, ODD),
    ],
)
def test_a_mode_makes_an_outcome_of_the_own_one_and_that_as_reference(
    own: Outcome, as_reference: Outcome | None, mode: Mode, expected: Outcome
) -> None:
    known = ODD if as_reference is None else as_reference

    assert substitute(np.array([own]), np.array([known]), np.array([True]), mode).tolist() == [expected]
    assert substitute(np.array([own]), np.array([known]), np.array([False]), mode).tolist() == [own]


def test_the_favourable_score_is_read_as_the_model_gives_it() -> None:
    def favourable_score(probability: Probability, reading: Reading | None) -> float | None:
        (found,) = read_known_scores(write_probabilities([probability]), reading)
        return found

    assert favourable_score(0.25, Reading("number")) == 0.25
    assert favourable_score(0.25, Reading("number", rises=False)) == 0.75
    assert favourable_score((0.25, 0.5, 0.25), Reading("list", favourable=(0, 1))) == 0.75
    assert favourable_score((0.25, 0.75), Reading("list", favourable=(2,))) is None
    assert favourable_score(0.25, Reading("list", favourable=(0,))) is None
    assert favourable_score((0.25,), Reading("number")) is None
    assert favourable_score(None, Reading("number")) is None
    assert favourable_score(0.25, None) is None
