import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.domain.mitigation import ParityGoal
from tests.unit.mitigation.parity import FREE, OWN, RENT, thresholds


def test_so_many_of_the_highest_scores_are_lifted_that_the_goal_is_met_and_no_more() -> None:
    # The reference rate is 1, so 0.8 x 5 = 4 of 5 must be favourable; one is.
    found, _ = thresholds([OWN] * 5 + [RENT] * 5, [1] * 5 + [1, 0, 0, 0, 0], [0.9] * 5 + [0.8, 0.45, 0.1, 0.3, 0.2])

    assert found == {"rent": 0.2}


def test_a_group_that_meets_the_goal_keeps_its_outcomes() -> None:
    found, untouched = thresholds([OWN] * 4 + [RENT] * 4, [1, 1, 0, 0, 1, 1, 0, 0], [0.5] * 8)

    assert found == {}
    assert untouched["rent"] == "meets the goal as it is"


def test_a_small_group_and_one_without_probabilities_keep_their_outcomes_with_the_reason() -> None:
    codes = [OWN] * 4 + [RENT] * 3 + [FREE] * 4
    found, untouched = thresholds(codes, [1] * 4 + [0] * 7, [0.5] * 7 + [np.nan] * 4)

    assert found == {}
    assert untouched["rent"] == "has 3 classified records with a probability, and 4 are needed"
    assert untouched["free"] == "has 0 classified records with a probability, and 4 are needed"


def test_a_small_reference_group_sets_no_goal() -> None:
    _, untouched = thresholds([OWN] * 3 + [RENT] * 9, [1] * 3 + [0] * 9, [0.5] * 12)

    assert untouched["rent"] == "the reference group has 3 classified records, and 4 are needed"


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1000)), min_size=4, max_size=60),
    st.integers(0, 10),
    st.floats(0.05, 1, exclude_min=True),
)
def test_the_goal_is_reached_and_one_score_higher_would_miss_it(group: list[tuple[int, int]], favourable: int, impact: float) -> None:
    outcomes = [1] * favourable + [0] * (10 - favourable) + [outcome for outcome, _ in group]
    scores = [0.5] * 10 + [score / 1000 for _, score in group]
    goal = ParityGoal(attribute="housing", disparate_impact=impact, min_group_size=4)
    found, untouched = thresholds([OWN] * 10 + [RENT] * len(group), outcomes, scores, goal)

    wanted = impact * favourable / 10 * len(group)
    own = sum(outcome for outcome, _ in group)
    if "rent" in found:
        lifted = sum(outcome == 0 and score / 1000 >= found["rent"] for outcome, score in group)
        above = sum(outcome == 0 and score / 1000 > found["rent"] for outcome, score in group)
        assert own + lifted >= wanted - 1e-6
        assert own + above < wanted
    else:
        assert untouched["rent"]
        assert own >= wanted - 1e-6
