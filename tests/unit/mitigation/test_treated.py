import numpy as np
import pytest

from app.base.values import Range
from app.domain.mitigation import AttributeProfile, CutOff, Mode, Reading, StandIn
from app.domain.monitor import Outcome, OutcomeRule
from app.mitigation.rule import UNKNOWN, Judge
from app.mitigation.window.treated_window import find_outcomes_as_reference, treat_window
from tests.unit.mitigation.copies import RULE, window

RENT, FREE, OWN, FAMILY, NOBODY = 0, 1, 2, 3, -1
PROFILE = AttributeProfile("housing", (StandIn("own", (("housing", "own"),), 0.75), StandIn("family", (("housing", "family"),), 0.25)))
READS = Judge(RULE, Reading("number"), CutOff(0.5, 0.4, 0.6))
BLIND = Judge(RULE, None, None)


def as_reference(answers: dict[str, tuple[float | str, float | None]], judge: Judge = READS, profile: AttributeProfile = PROFILE) -> int:
    copies = window([RENT], [0], {(0, label): answer for label, answer in answers.items()}, rule=judge.rule)
    return int(find_outcomes_as_reference(copies, profile, judge)[0])


def test_copies_that_agree_decide_whatever_their_probabilities_are() -> None:
    assert as_reference({"own": (1, 0.1), "family": (1, 0.1)}) == Outcome.FAVOURABLE
    assert as_reference({"own": (0, None), "family": (0, 0.9)}) == Outcome.UNFAVOURABLE


def test_copies_that_disagree_are_decided_by_their_mean_probability_weighted_by_payload_share() -> None:
    # 0.75 x 0.45 + 0.25 x 0.9 = 0.5625
    assert as_reference({"own": (0, 0.45), "family": (1, 0.9)}) == Outcome.FAVOURABLE
    # 0.75 x 0.4 + 0.25 x 0.6 = 0.45, though the plain mean is at the cut-off
    assert as_reference({"own": (0, 0.4), "family": (1, 0.6)}) == Outcome.UNFAVOURABLE


def test_the_models_own_cut_off_counts_and_not_one_half() -> None:
    judge = Judge(RULE, Reading("number"), CutOff(0.3, 0.29, 0.31))

    assert as_reference({"own": (1, 0.35), "family": (0, 0.2)}, judge) == Outcome.FAVOURABLE


def test_without_probabilities_the_greater_share_decides_and_a_tie_tells_nothing() -> None:
    even = AttributeProfile("housing", (StandIn("own", (), 0.5), StandIn("family", (), 0.5)))

    assert as_reference({"own": (1, None), "family": (0, None)}) == Outcome.FAVOURABLE
    assert as_reference({"own": (0, None), "family": (1, None)}) == Outcome.UNFAVOURABLE
    assert as_reference({"own": (0, None), "family": (1, None)}, profile=even) == UNKNOWN


def test_a_probability_that_nobody_can_read_is_as_good_as_none() -> None:
    assert as_reference({"own": (0, 0.45), "family": (1, 0.99)}, BLIND) == Outcome.UNFAVOURABLE


def test_a_reference_value_that_nobody_has_says_nothing_next_to_one_that_somebody_has() -> None:
    profile = AttributeProfile("housing", (StandIn("own", (), 1.0),))

    assert as_reference({"own": (0, 0.1), "family": (1, 0.9)}, profile=profile) == Outcome.UNFAVOURABLE


def test_unclassified_copies_take_no_part() -> None:
    assert as_reference({"own": ("maybe", 0.9), "family": (1, 0.6)}) == Outcome.FAVOURABLE
    assert as_reference({"own": ("maybe", 0.9), "family": ("maybe", 0.6)}) == UNKNOWN


def test_of_real_numbers_the_mean_has_the_outcome() -> None:
    rule = OutcomeRule(favourable=(Range(100, 200),), unfavourable=(Range(0, 99),))
    judge = Judge(rule, None, None)

    # 0.75 x 90 + 0.25 x 150 = 105
    assert as_reference({"own": (90, None), "family": (150, None)}, judge) == Outcome.FAVOURABLE
    # 0.75 x 95 + 0.25 x 112 = 99.25 is in neither range
    assert as_reference({"own": (95, None), "family": (112, None)}, judge) == UNKNOWN


def test_lifting_turns_unfavourable_monitored_records_favourable_and_no_other() -> None:
    copies = window([RENT, RENT, FREE, OWN, NOBODY], [0, 1, 0, 0, 0], {(0, "own"): (1, 0.9), (1, "own"): (0, 0.1), (2, "own"): (0, 0.2)})

    found = treat_window(copies, np.array([0, 1, 0, 0, 0]), PROFILE, READS, Mode.LIFT_ONLY)

    assert found.after.tolist() == [1, 1, 0, 0, 0]


def test_substitution_gives_monitored_records_the_outcome_of_their_copies() -> None:
    copies = window([RENT, RENT, FREE, OWN, NOBODY], [0, 1, 0, 0, 0], {(0, "own"): (1, 0.9), (1, "own"): (0, 0.1), (2, "own"): (0, 0.2)})

    found = treat_window(copies, np.array([0, 1, 0, 0, 0]), PROFILE, READS, Mode.REFERENCE_SUBSTITUTION)

    assert found.after.tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize(("mode", "expected"), [(Mode.LIFT_ONLY, [1, 1, 0, 1]), (Mode.REFERENCE_SUBSTITUTION, [1, 1, 0, 0])])
def test_a_synthetic_monitored_record_is_compared_with_the_record_it_was_copied_from(mode: Mode, expected: list[int]) -> None:
    own = [1, 1, 0, 0]
    answers = {(place, "rent"): (answer, 0.5) for place, answer in enumerate([0, 1, 0, 1])}
    copies = window([OWN] * 4, own, answers)

    found = treat_window(copies, np.array(own), PROFILE, READS, mode)

    assert found.copies_after[:, RENT].tolist() == expected
    assert found.after.tolist() == own
