"""What parity mode makes of a record whose group meets the goal as it is, alone and beside groups of other attributes."""

from datetime import UTC, datetime

import pytest

from app.domain.mitigation import AttributeProfile, Profile, Reading
from app.domain.records import Prediction
from app.mitigation.live.debiasing import Debiased, Debiasing
from app.mitigation.thresholds import FEW, MET
from tests.unit.mitigation.parity import held_to_thresholds

YES = Prediction("yes", 0.9)
TOO_FEW = FEW.format(n=3, least=100)


def learned(*, favourable: Prediction | None = YES) -> Profile:
    """Women meet their goal, blue has a threshold of 0.3, and of green nothing could be learned."""
    sex = AttributeProfile("sex", (), untouched=(("female", MET),))
    colour = AttributeProfile("colour", (), thresholds=(("blue", 0.3),), untouched=(("green", TOO_FEW),))
    return Profile(
        version=1,
        fitted_at=datetime(2026, 1, 1, tzinfo=UTC),
        basis="",
        records=100,
        is_provisional=False,
        attributes=(sex, colour),
        reading=Reading("number"),
        favourable=favourable,
    )


@pytest.mark.parametrize("own", [Prediction("no", 0.1), Prediction("no")])
@pytest.mark.parametrize("favourable", [YES, None])
def test_nothing_is_to_be_done_where_the_group_meets_its_goal(own: Prediction, favourable: Prediction | None) -> None:
    assert held_to_thresholds(own, {"sex": "female"}, learned(favourable=favourable)) == Debiased(own, Debiasing.UNCHANGED)


@pytest.mark.parametrize(
    ("probability", "colour", "debiasing"),
    [
        (0.4, "blue", Debiasing.CHANGED),
        (0.2, "blue", Debiasing.UNCHANGED),
        (None, "blue", Debiasing.UNDECIDED),
        (0.4, "green", Debiasing.UNCHANGED),
    ],
)
def test_a_group_that_meets_its_goal_leaves_the_word_to_the_thresholds_of_others(
    probability: float | None, colour: str, debiasing: Debiasing
) -> None:
    found = held_to_thresholds(Prediction("no", probability), {"sex": "female", "colour": colour}, learned())

    assert found.debiasing is debiasing


def test_a_group_of_which_nothing_could_be_learnt_stays_undecided() -> None:
    own = Prediction("no", 0.9)

    assert held_to_thresholds(own, {"colour": "green"}, learned()) == Debiased(own, Debiasing.UNDECIDED)
