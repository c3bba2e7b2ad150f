"""Which copies a live record gets."""

import pytest

from app.domain.mitigation import AttributeProfile, StandIn
from app.mitigation.live.substitute import MAX_COPIES, combine_stand_ins, find_copies

PLACES = {"sex": 0, "colour": 1, "age": 2}


def stand_ins(feature: str, *shares: float) -> tuple[StandIn, ...]:
    """One for each share, with the values v0, v1 and so on."""
    return tuple(StandIn(f"v{number}", ((feature, f"v{number}"),), share) for number, share in enumerate(shares))


def profile(feature: str, *shares: float) -> AttributeProfile:
    return AttributeProfile(feature, stand_ins(feature, *shares))


def test_one_attribute_gives_a_copy_for_each_stand_in() -> None:
    found = combine_stand_ins([stand_ins("sex", 0.75, 0.25)], PLACES)

    assert [(stand_in.apply(["female", "red", 3]), stand_in.share) for stand_in in found] == [
        (["v0", "red", 3], 0.75),
        (["v1", "red", 3], 0.25),
    ]


def test_two_attributes_give_every_combination_with_shares_multiplied() -> None:
    found = combine_stand_ins([stand_ins("sex", 0.75, 0.25), stand_ins("colour", 0.5, 0.5)], PLACES)

    assert [stand_in.apply(["f", "r", 3])[:2] for stand_in in found] == [["v0", "v0"], ["v0", "v1"], ["v1", "v0"], ["v1", "v1"]]
    assert [stand_in.share for stand_in in found] == [0.375, 0.375, 0.125, 0.125]


def test_shares_that_do_not_add_up_are_made_to_and_absent_ones_count_alike() -> None:
    assert [stand_in.share for stand_in in combine_stand_ins([stand_ins("sex", 0.3, 0.1)], PLACES)] == pytest.approx([0.75, 0.25])
    assert [stand_in.share for stand_in in combine_stand_ins([stand_ins("sex", 0.0, 0.0)], PLACES)] == [0.5, 0.5]


def test_of_too_many_combinations_those_of_the_greatest_share_are_kept() -> None:
    many = [1 / 2**place for place in range(1, 21)]
    three = [stand_ins("sex", *many), stand_ins("colour", *many), stand_ins("age", *many)]
    found = combine_stand_ins(three, PLACES)
    every = sorted((a * b * c for a in many for b in many for c in many), reverse=True)

    assert len(found) == MAX_COPIES
    assert sum(stand_in.share for stand_in in found) == pytest.approx(1)
    total = sum(every[:MAX_COPIES])
    assert sorted((stand_in.share for stand_in in found), reverse=True) == pytest.approx([share / total for share in every[:MAX_COPIES]])


def test_of_equal_shares_the_earlier_are_kept() -> None:
    alike = [1 / 20] * 20
    found = combine_stand_ins([stand_ins("sex", *alike), stand_ins("colour", *alike)], PLACES)

    assert [stand_in.apply(["", "", 0])[:2] for stand_in in found] == [[f"v{a}", f"v{b}"] for a in range(5) for b in range(20)]


def test_several_attributes_are_copied_together_and_each_alone() -> None:
    found = find_copies([profile("sex", 0.75, 0.25), profile("colour", 1.0)], list(PLACES), ("sex", "colour"))

    assert list(found.list_rows(["f", "r", 3])) == [["v0", "v0", 3], ["v1", "v0", 3], ["v0", "r", 3], ["v1", "r", 3], ["f", "v0", 3]]
    assert found.count == 5


def test_an_attribute_without_stand_ins_is_left_out_and_nothing_is_left_of_it_alone() -> None:
    profiles = [profile("sex", 1.0), profile("colour")]
    both, none = (find_copies(profiles, list(PLACES), attributes) for attributes in (("sex", "colour"), ("colour",)))

    assert (both.attributes, both.count) == (("sex",), 1)
    assert none.count == 0


def test_a_stand_in_may_change_several_features_and_the_later_attribute_counts() -> None:
    through = (StandIn("m", (("sex", "male"), ("age", None)), 1.0),)
    (found,) = combine_stand_ins([through, (StandIn("old", (("age", 50),), 1.0),)], PLACES)

    assert found.apply(["female", "red", 20]) == ["male", "red", 50]
    assert combine_stand_ins([through], PLACES)[0].apply(["female", "red", 20]) == ["male", "red", None]
