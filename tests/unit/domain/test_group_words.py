"""Groups in sentences: a display name that names nobody gets people to speak of, and comes after one that does."""

import pytest

from app.domain.groups import GroupWords
from app.domain.monitor import DisplayNames, GroupName

NAMES = {("sex", "female"): "women", ("age", "18-25"): "aged 18–25", ("age", "26-75"): "over 25", ("region", "north"): "Northerners"}
WORDS = GroupWords(
    DisplayNames(groups=tuple(GroupName(feature=feature, group=group, name=name) for (feature, group), name in NAMES.items()))
)


@pytest.mark.parametrize(
    ("attribute", "group", "subject"),
    [
        ("sex", "female", "women"),
        ("age", "18-25", "people aged 18–25"),
        ("age", "26-75", "people over 25"),
        ("sex × age", "female × 18-25", "women aged 18–25"),
        ("age × sex", "18-25 × female", "women aged 18–25"),
        ("age", "18-25, 26-75", "people aged 18–25 or over 25"),
        ("sex", "male", "records with sex male"),
        ("sex × age", "male × 18-25", "records with sex male and age 18-25"),
        ("region", "north", "Northerners"),
        ("region", "", "records with region (blank)"),
    ],
)
def test_a_group_is_the_subject_of_a_sentence(attribute: str, group: str, subject: str) -> None:
    assert WORDS.subject(attribute, group) == subject


def test_a_table_has_the_name_as_it_was_given() -> None:
    assert WORDS.label("age", "18-25") == "aged 18–25"
    assert WORDS.label("sex", "male") == "male"


def test_only_a_group_whose_every_part_has_a_name_is_named() -> None:
    assert WORDS.is_named("sex × age", "female × 26-75")
    assert not WORDS.is_named("sex × age", "male × 26-75")
    assert not GroupWords().is_named("sex", "female")
