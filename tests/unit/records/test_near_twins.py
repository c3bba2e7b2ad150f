"""A value that looks like a listed one is in no group, at every way to read it, and is named with its records; nothing is merged."""

import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from app.checks.counting.count_files import CountedSpan
from app.domain.deployment import Column, FieldKind, FieldType, RecordSchema
from app.domain.groups import MAX_REFERENCE_VALUES, NearTwin, describe_twins, list_groups, normalize_look
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from app.library.frame_groups import group_records as group_frame
from app.sources.arrays.read_records import ListedGroups, RecordColumns, RecordTable, read_table

SEX = Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
SCHEMA = RecordSchema(version=1, features=(SEX,), meta=())
TWINS = ["female ", " female", "female\t", "female\u00a0", "\ufefffemale", "fe\u200bmale ", "female\r\n"]
NO_TWINS = ["Female", "FEMALE", "females", "fe male", "f", "", " ", "male"]


def _read(values: list[str | None], monitored: list[str], reference: list[str] | None = None) -> RecordTable:
    attribute = MonitoredAttribute(feature="sex", monitored=tuple(monitored), reference=None if reference is None else tuple(reference))
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(attribute,))
    columns = pa.table({"sex": pa.array(values, pa.string())})
    return read_table(RecordColumns(columns, pa.chunked_array([pa.array(["1"] * len(values))])), SCHEMA, monitor)


@pytest.mark.parametrize("twin", [twin for twin in TWINS if "\u200b" not in twin])
def test_a_near_twin_is_in_no_group_until_it_is_listed(twin: str) -> None:
    values = ["female", twin, twin, "male"]
    words = f"'sex': {twin!r} (2 records) differs from 'female' by a blank, so it is in no group until it is listed"

    read = _read(values, ["female"])
    frame = group_frame(pd.DataFrame({"sex": values}), "sex", "female")
    listed = _read(values, ["female", twin])

    assert read.groupings[0].codes.tolist() == [0, -1, -1, 1]
    assert describe_twins(read.count_twins()) == [words]
    assert ListedGroups.of(read.monitor.attributes[0], SEX).find(values)[1] is None
    assert [group.label for group in frame.groups] == ["female", "male"]
    assert (frame.sizes.tolist(), frame.warnings) == ([1, 1, 2], (words,))
    assert sorted(listed.groupings[0].codes.tolist()) == [0, 1, 1, 2]
    assert not listed.count_twins()


@pytest.mark.parametrize("other", NO_TWINS)
def test_other_values_stay_in_the_default_reference(other: str) -> None:
    read = _read(["female", other], ["female"])

    assert read.groupings[0].codes.tolist() == [0, 1]
    assert not read.count_twins()


def test_a_double_blank_inside_is_a_blank_too() -> None:
    read = _read(["New York", "New  York", "NewYork", "Rome"], ["New York"])

    assert read.groupings[0].codes.tolist() == [0, -1, 1, 2]


def test_a_near_twin_is_not_among_everybody_else_either() -> None:
    values = ["female", "female ", *map(str, range(MAX_REFERENCE_VALUES + 1))]

    read, frame = _read(values, ["female"]), group_frame(pd.DataFrame({"sex": values}), "sex", "female")

    assert read.groupings[0].codes.tolist() == [0, -1, *[1] * (MAX_REFERENCE_VALUES + 1)]
    assert frame.sizes.tolist() == [1, MAX_REFERENCE_VALUES + 1, 1]
    assert describe_twins(read.count_twins()) == list(frame.warnings)


@pytest.mark.parametrize(("listed", "seen"), [("Female", "female"), ("female", "FEMALE"), ("Ärztin", "ärztin"), ("Female ", "female")])
def test_a_listed_group_that_records_have_in_other_letters_is_named(listed: str, seen: str) -> None:
    read = _read([seen, seen, "male"], [listed], ["male"])

    assert read.describe_misspelled() == [f"'sex': no record has {listed!r}, but records have {seen!r}"]
    assert _read([seen, seen, "male"], [listed]).describe_misspelled() == read.describe_misspelled()


def test_groups_that_records_have_or_that_nothing_resembles_are_not_misspelled() -> None:
    assert _read(["female", "Female", "male"], ["female", "Female"]).describe_misspelled() == []
    assert _read(["Female", "female", "male"], ["Female"]).describe_misspelled() == []
    assert _read(["male"], ["female"], ["male"]).describe_misspelled() == []


def test_near_twins_of_each_other_stay_in_the_default_reference_and_those_of_a_listed_one_do_not() -> None:
    values = ["female"] * 3 + ["male", "male ", "male "]

    assert _read(values, ["female"]).groupings[0].codes.tolist() == [0, 0, 0, 1, 2, 2]
    assert _read(values, ["female"], ["male"]).count_twins() == Counter({NearTwin("sex", "male ", "male"): 2})


def test_where_every_value_is_a_group_the_one_with_the_most_records_is_and_its_near_twins_are_not() -> None:
    frame = pd.DataFrame({"sex": ["female"] * 2 + [" female"] + ["male"] * 2 + ["male "] * 3})

    for reference in (None, "male "):
        grouping = group_frame(frame, "sex", None, reference)
        assert {group.label for group in grouping.groups} == {"female", "male "}
        assert grouping.sizes.tolist() == [2, 3, 3]
        assert [warning.partition(" (")[0] for warning in grouping.warnings] == ["'sex': 'male'", "'sex': ' female'"]
    assert {group.label for group in group_frame(frame, "sex", None, "male").groups} == {"female", "male"}


def test_numbers_have_no_near_twins() -> None:
    code = Column(name="code", type=FieldType.INTEGER, kind=FieldKind.CATEGORICAL)

    assert len(list_groups(MonitoredAttribute(feature="code", monitored=(1,)), code, [1, 11, 2])) == 3


def test_the_records_of_near_twins_are_summed_over_pieces_of_files() -> None:
    whole = CountedSpan()
    for values, repeats in ((["female", "female ", "male"], [5, 3, 1]), (["female ", " female"], [4, 1])):
        piece = CountedSpan()
        piece.count_batch(_read(values, ["female"], ["male"]), np.array(repeats), pa.chunked_array([["1"] * len(values)]), "1")
        whole.merge(pickle.loads(pickle.dumps(piece)))  # noqa: S301 - written by this test

    assert whole.near_twins == Counter({NearTwin("sex", "female ", "female"): 7, NearTwin("sex", " female", "female"): 1})
    assert whole.describe()["near_twins"] == describe_twins(whole.near_twins)


LOOK_ALIKES = {
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


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_value_that_looks_like_a_listed_one_is_named_and_in_no_group(name: str) -> None:
    listed, twin = LOOK_ALIKES[name]
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


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_groups_merely_seen_that_look_alike_stay_two_and_are_named(name: str) -> None:
    values = ["other", *LOOK_ALIKES[name], LOOK_ALIKES[name][1]]

    read, frame = _read(values, ["other"]), group_frame(pd.DataFrame({"sex": values}), "sex", "other")

    assert len(read.groupings[0].groups) == len(frame.groups) == 3
    (words,) = describe_twins(read.count_twins())
    assert words.endswith(f"{ALIKE}, and is a group of its own")
    assert list(frame.warnings) == [words]


@pytest.mark.parametrize(("listed", "other"), OTHERS)
def test_other_letters_are_no_twins(listed: str, other: str) -> None:
    assert normalize_look(listed) != normalize_look(other)
    assert not _read([listed, other], [listed]).count_twins()
