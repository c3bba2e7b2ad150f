from datetime import UTC, datetime

import pytest

from app.api.schemas.mitigation_profiles import ProfileOut, cut_off_sentence, reading_sentence
from app.domain.mitigation import AttributeProfile, CutOff, Profile, Reading, StandIn
from app.domain.records import Prediction


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        (Reading("number"), "The model's number is the probability of the favourable outcome and is the score."),
        (Reading("number", rises=False), "The model's number is the probability of the unfavourable outcome; 1 minus it is the score."),
        (
            Reading("list", favourable=(1,)),
            "Of the listed probabilities the one at place 1 (counted from 0) is of favourable outcomes and is the score.",
        ),
        (
            Reading("list", favourable=(0, 2, 3), classes=("a", "b", None, "d")),
            (
                "Of the listed probabilities those at places 0 (a), 2 and 3 (d) (counted from 0) are of favourable outcomes;"
                " their sum is the score."
            ),
        ),
        (Reading("list"), "None of the listed probabilities is known to be of a favourable outcome, so the score is 0."),
    ],
)
def test_the_reading_of_a_probability_is_put_into_words(reading: Reading, sentence: str) -> None:
    assert reading_sentence(reading) == sentence


def test_the_cut_off_is_told_with_the_scores_it_lies_between() -> None:
    assert cut_off_sentence(CutOff(0.5, 0.49871234, 0.5003)) == (
        "The model is favourable above the score 0.5: the highest with an unfavourable prediction is 0.498712,"
        " the lowest with a favourable one 0.5003."
    )


def test_a_profile_is_told_whole() -> None:
    sex = AttributeProfile(
        "sex",
        (StandIn("male", (("sex", "male"),), 0.75), StandIn("other", (("sex", "other"), ("rooms", 3)), 0.25)),
        0.99,
        thresholds=(("female", 0.3),),
        untouched=(("unknown", "has 12 classified records with a probability, and 100 are needed"),),
    )
    age = AttributeProfile("age", (), 0.0, "no reference value was listed, and none has been logged")
    profile = Profile(
        version=4,
        fitted_at=datetime(2026, 3, 2, 12, tzinfo=UTC),
        basis="b",
        records=500,
        is_provisional=True,
        attributes=(sex, age),
        unread="no probabilities are logged",
        favourable=Prediction(1, None, "yes"),
    )

    out = ProfileOut.from_object(profile, in_use=True).model_dump(mode="json")

    assert [one["changes"] for one in out["attributes"][0]["stand_ins"]] == [{"sex": "male"}, {"sex": "other", "rooms": 3}]
    assert out["attributes"][0]["thresholds"] == {"female": 0.3}
    assert list(out["attributes"][0]["untouched"]) == ["unknown"]
    assert out["attributes"][1]["reason"] == "no reference value was listed, and none has been logged"
    assert (out["reading"], out["cut_off"], out["unread"]) == (None, None, "no probabilities are logged")
    assert (out["version"], out["in_use"], out["records"], out["is_provisional"]) == (4, True, 500, True)
    assert out["favourable"] == {"prediction": 1, "label": "yes"}
    assert "basis" not in out
