from datetime import UTC, datetime

from syrupy.assertion import SnapshotAssertion

from app.domain.mitigation import AttributeProfile, CutOff, Profile, Reading, StandIn
from app.mitigation.bodies import ProfileOut


def test_a_profile_is_told_whole(snapshot: SnapshotAssertion) -> None:
    sex = AttributeProfile(
        "sex",
        (StandIn("male", (("sex", "male"),), 0.75), StandIn("other", (("sex", "other"), ("rooms", 3)), 0.25)),
        0.99,
    )
    age = AttributeProfile("age", (), 0.0, "no reference value was listed, and none has been logged")
    profile = Profile(
        version=4,
        fitted_at=datetime(2026, 3, 2, 12, tzinfo=UTC),
        basis="b",
        records=500,
        is_provisional=True,
        attributes=(sex, age),
        reading=Reading("list", favourable=(0, 2), classes=("a", "b", None)),
        cut_off=CutOff(0.5, 0.49, 0.51),
        unread="no probabilities are logged",
    )

    out = ProfileOut.from_object(profile).model_dump(mode="json")

    assert [stand_in["changes"] for stand_in in out["attributes"][0]["stand_ins"]] == [{"sex": "male"}, {"sex": "other", "rooms": 3}]
    assert out["attributes"][1]["reason"] == snapshot
    assert out["reading"] == {"form": "list", "rises": True, "favourable": [0, 2], "classes": ["a", "b", None]}
    assert out["cut_off"] == {"value": 0.5, "highest_unfavourable": 0.49, "lowest_favourable": 0.51}
    assert out["unread"] == "no probabilities are logged"
    assert (out["version"], out["records"], out["is_provisional"]) == (4, 500, True)
    assert "basis" not in out
