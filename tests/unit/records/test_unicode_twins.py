"""Values that look alike are named in words and never merged: forms of Unicode, letters of other alphabets, what cannot be seen."""

import pandas as pd
import pytest

from app.domain.groups import describe_twins, look_of
from app.frames.grouping import group_records as group_frame
from app.records.grouping import ListedGroups
from tests.unit.records.test_near_twins import SEX, _read

TWINS = {
    "decomposed": ("M\u00fcnchen", "Mu\u0308nchen"),
    "composed": ("Mu\u0308nchen", "M\u00fcnchen"),
    "cyrillic": ("female", "fem\u0430le"),
    "cyrillic-with-dots": ("No\u00ebl", "No\u0451l"),
    "greek": ("Alpha", "\u0391lpha"),
    "zero-width": ("female", "fe\u200bmale"),
    "joiner": ("female", "fe\u200dmale"),
    "soft-hyphen": ("female", "fe\u00admale"),
    "right-to-left": ("female", "\u202efemale\u202c"),
    "wide": ("female", "\uff46emale"),
}

OTHERS = [
    ("Zurich", "Z\u00fcrich"),
    ("Male", "\u041c\u0430\u043b\u0435"),
    ("m", "\u00b5"),
    ("\u0441\u044b\u043d", "\u0441\u043e\u043d"),
    ("1", "l"),
]

ALIKE = "in characters that look alike or cannot be seen"


@pytest.mark.parametrize("name", TWINS)
def test_a_value_that_looks_like_a_listed_one_is_named_and_in_no_group(name: str) -> None:
    listed, twin = TWINS[name]
    values = [listed, twin, twin, "male"]
    words = f"'sex': {twin!a} (2 records) differs from {listed!a} {ALIKE}, so it is in no group until it is listed"

    read, both = _read(values, [listed]), _read(values, [listed, twin])
    frame = group_frame(pd.DataFrame({"sex": values}), "sex", listed)

    assert describe_twins(read.count_twins()) == list(frame.warnings) == [words]
    assert words.isascii()
    assert read.groupings[0].codes.tolist() == [0, -1, -1, 1]
    assert frame.sizes.tolist() == [1, 1, 2]
    assert ListedGroups.of(read.monitor.attributes[0], SEX).find(values)[1] is None
    assert len({group.label for group in both.groupings[0].groups}) == 3  # listed, they are two groups
    assert not both.count_twins()


@pytest.mark.parametrize("name", TWINS)
def test_groups_merely_seen_that_look_alike_stay_two_and_are_named(name: str) -> None:
    values = ["other", *TWINS[name], TWINS[name][1]]

    read, frame = _read(values, ["other"]), group_frame(pd.DataFrame({"sex": values}), "sex", "other")

    assert len(read.groupings[0].groups) == len(frame.groups) == 3
    (words,) = describe_twins(read.count_twins())
    assert words.endswith(f"{ALIKE}, and is a group of its own")
    assert list(frame.warnings) == [words]


@pytest.mark.parametrize(("listed", "other"), OTHERS)
def test_other_letters_are_no_twins(listed: str, other: str) -> None:
    assert look_of(listed) != look_of(other)
    assert not _read([listed, other], [listed]).count_twins()
