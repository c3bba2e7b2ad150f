import json
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics import BalancedCells, FeedbackCells, Group, GroupCounts
from app.metrics.groups import Role
from app.metrics.tables import distinct
from app.metrics.tables.distinct import distinct_rows
from tests.unit.metrics.strategies import Records, records

SEXES: list[tuple[str, Role]] = [("Female", "monitored"), ("Male", "reference")]


def test_records_are_counted_by_group_and_outcome() -> None:
    table = GroupCounts.from_records(SEXES, [0, 0, 1, 1, 1, -1, -1], [1, 0, 1, 1, 2, 1, 2])

    assert table.counts.tolist() == [[1, 1], [0, 2]]
    assert table.unclassified.tolist() == [0, 1]
    assert table.other == 2


@given(records())
def test_a_table_comes_back_from_json_as_it_went(sample: Records) -> None:
    for table in (sample.group_counts(), sample.balanced_cells(), sample.feedback_cells()):
        text = json.dumps(table.to_json(), allow_nan=False)

        assert type(table).from_json(json.loads(text)).to_json() == table.to_json()


@given(records(), st.integers(0, 3), st.randoms(use_true_random=False))
def test_the_parts_of_a_split_merge_to_the_whole(sample: Records, parts: int, random: Random) -> None:
    of_record = np.array([random.randint(0, parts) for _ in sample.codes], dtype=np.int64)
    split = [sample.rows(np.flatnonzero(of_record == part)) for part in range(parts + 1)]

    assert GroupCounts.merged([part.group_counts() for part in split]).to_json() == sample.group_counts().to_json()
    assert BalancedCells.merged([part.balanced_cells() for part in split]).to_json() == sample.balanced_cells().to_json()
    assert FeedbackCells.merged([part.feedback_cells() for part in split]).to_json() == sample.feedback_cells().to_json()


@given(records(), st.randoms(use_true_random=False))
def test_the_order_of_records_is_irrelevant(sample: Records, random: Random) -> None:
    order = list(range(sample.codes.size))
    random.shuffle(order)
    shuffled = sample.rows(np.array(order, dtype=np.int64))

    assert shuffled.group_counts().to_json() == sample.group_counts().to_json()
    assert shuffled.balanced_cells().to_json() == sample.balanced_cells().to_json()
    assert shuffled.feedback_cells().to_json() == sample.feedback_cells().to_json()


def test_tables_of_different_groups_are_aligned_by_label() -> None:
    monday = GroupCounts.from_records(SEXES, [0, 1], [1, 0])
    tuesday = GroupCounts.from_records([("Male", "reference"), ("X", "monitored")], [0, 1, 1, -1], [1, 1, 2, 0])

    week = GroupCounts.merged([monday, tuesday])

    assert week.groups == (Group("Female", "monitored"), Group("Male", "reference"), Group("X", "monitored"))
    assert week.counts.tolist() == [[0, 1], [1, 1], [0, 1]]
    assert (week.unclassified.tolist(), week.other) == ([0, 0, 1], 1)


def test_copies_follow_their_target_when_tables_are_aligned() -> None:
    monday = BalancedCells.from_records(SEXES, [0], [0], copies_favourable=[[0, 1]], copies_classified=[[0, 1]])
    tuesday = BalancedCells.from_records(
        [("Male", "reference"), ("Female", "monitored")], [1], [0], copies_favourable=[[1, 0]], copies_classified=[[1, 0]]
    )

    merged = BalancedCells.merged([monday, tuesday])

    assert merged.count.tolist() == [2]
    assert merged.copies_favourable.tolist() == [[0, 1]]


def test_a_label_takes_the_role_of_its_last_table() -> None:
    before = GroupCounts.from_records([("X", "monitored")], [0], [1])
    after = GroupCounts.from_records([("X", "reference")], [0], [1])

    assert GroupCounts.merged([before, after]).groups == (Group("X", "reference"),)


@pytest.mark.parametrize(
    ("codes", "outcomes", "message"),
    [([2], [0], "codes from -1 to 1"), ([0], [3], "codes from 0 to 2"), ([0, 1], [0], "as many outcomes"), ([0.5], [0], "integer codes")],
)
def test_codes_that_mean_nothing_are_refused(codes: list[int], outcomes: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GroupCounts.from_records(SEXES, codes, outcomes)


def test_a_group_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="each group once"):
        GroupCounts.from_records([("X", "monitored"), ("X", "reference")], [], [])


def test_more_favourable_copies_than_copies_are_refused() -> None:
    with pytest.raises(ValueError, match="no more favourable copies"):
        BalancedCells.from_records(SEXES, [0], [0], copies_favourable=[[0, 2]], copies_classified=[[0, 1]])


def test_feedback_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one code per record"):
        FeedbackCells.from_records(SEXES, [0, 1], actual=[0, 1], predicted=[0], correct=[1, 1])


@pytest.mark.parametrize(("key_space", "dense"), [(2**62, 2**20), (40, 2**20), (40, 4)])
def test_distinct_rows_are_the_same_whether_packed_keys_fit_or_not(monkeypatch: pytest.MonkeyPatch, key_space: int, dense: int) -> None:
    monkeypatch.setattr(distinct, "KEY_SPACE", key_space)
    monkeypatch.setattr(distinct, "DENSE", dense)
    columns = np.random.default_rng(0).integers(0, 3, (500, 4))
    expected, count = np.unique(columns, axis=0, return_counts=True)

    first, total = distinct_rows([*columns.T], np.ones(500, np.int64))

    assert columns[first].tolist() == expected.tolist()
    assert total.tolist() == count.tolist()
