import json
import tracemalloc
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from app.statistics.group_labels import ComparedGroup, Role
from app.statistics.tables import count_table, record_kinds
from app.statistics.tables.count_table import GroupCounts, LabelledCells, MitigatedLabelledCells
from app.statistics.tables.record_kinds import CounterfactualCells, MitigatedCells, find_distinct_rows
from app.statistics.tables.score_table import ScoreTable
from app.statistics.tables.strata_counts import Strata, Weighting
from tests.builders.page_words import says
from tests.builders.random_records import Records, records

SEXES: list[tuple[str, Role]] = [("Female", "monitored"), ("Male", "reference")]


def test_records_are_counted_by_group_and_outcome() -> None:
    table = GroupCounts.from_records(SEXES, [0, 0, 1, 1, 1, -1, -1], outcome=[1, 0, 1, 1, 2, 1, 2])

    assert table.counts.tolist() == [[1, 1], [0, 2]]
    assert table.unclassified.tolist() == [0, 1]
    assert table.other == 2


@given(records() | records(weighted=True))
@pytest.mark.thorough
def test_a_table_comes_back_from_json_as_it_went(sample: Records) -> None:
    for table in (
        sample.group_counts(),
        sample.counterfactual_cells(),
        sample.feedback_cells(),
        sample.mitigated_cells(),
        sample.mitigated_labelled(),
    ):
        text = json.dumps(table.to_json(), allow_nan=False)

        assert type(table).from_json(json.loads(text)).to_json() == table.to_json()


@given(records(), st.integers(0, 3), st.randoms(use_true_random=False))
@pytest.mark.thorough
def test_the_parts_of_a_split_merge_to_the_whole(sample: Records, parts: int, random: Random) -> None:
    of_record = np.array([random.randint(0, parts) for _ in sample.codes], dtype=np.int64)
    split = [sample.rows(np.flatnonzero(of_record == part)) for part in range(parts + 1)]

    assert GroupCounts.merge([part.group_counts() for part in split]).to_json() == sample.group_counts().to_json()
    assert CounterfactualCells.merge([part.counterfactual_cells() for part in split]).to_json() == sample.counterfactual_cells().to_json()
    assert LabelledCells.merge([part.feedback_cells() for part in split]).to_json() == sample.feedback_cells().to_json()
    assert MitigatedCells.merge([part.mitigated_cells() for part in split]).to_json() == sample.mitigated_cells().to_json()
    assert MitigatedLabelledCells.merge([part.mitigated_labelled() for part in split]).to_json() == sample.mitigated_labelled().to_json()


@given(records() | records(weighted=True), st.integers(1, 40))
@pytest.mark.thorough
def test_records_are_counted_in_pieces_as_they_are_at_once(sample: Records, size: int) -> None:
    at_once = [sample.group_counts(), sample.feedback_cells(), sample.mitigated_labelled()]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(count_table, "MAX_RECORDS_AT_ONCE", size)
        in_pieces = [sample.group_counts(), sample.feedback_cells(), sample.mitigated_labelled()]

    assert [table.to_json() for table in in_pieces] == [table.to_json() for table in at_once]


def test_many_records_with_scores_are_counted_in_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_table, "MAX_RECORDS_AT_ONCE", 1000)
    size = 60_000
    codes, outcomes = np.zeros(size, np.int8), np.arange(size, dtype=np.int64) % 2
    scores = (outcomes + 1) / 4

    tracemalloc.start()
    GroupCounts.from_records(SEXES, codes, outcome=outcomes, scores=scores)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 16 * size


def test_a_column_that_is_longer_than_its_records_is_refused_in_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_table, "MAX_RECORDS_AT_ONCE", 1)

    with pytest.raises(ValueError, match="expected one outcome per record, found 3 for 2 records"):
        GroupCounts.from_records(SEXES, [0, 1], outcome=[0, 1, 1])


@given(records(), st.randoms(use_true_random=False))
@pytest.mark.thorough
def test_the_order_of_records_is_irrelevant(sample: Records, random: Random) -> None:
    order = list(range(sample.codes.size))
    random.shuffle(order)
    shuffled = sample.rows(np.array(order, dtype=np.int64))

    assert shuffled.group_counts().to_json() == sample.group_counts().to_json()
    assert shuffled.counterfactual_cells().to_json() == sample.counterfactual_cells().to_json()
    assert shuffled.feedback_cells().to_json() == sample.feedback_cells().to_json()
    assert shuffled.mitigated_cells().to_json() == sample.mitigated_cells().to_json()
    assert shuffled.mitigated_labelled().to_json() == sample.mitigated_labelled().to_json()


def test_tables_written_before_there_were_weights_strata_and_scores_are_read() -> None:
    counts = GroupCounts.from_json({"groups": [["Female", "monitored"]], "counts": [[1, 2]], "unclassified": [0], "other": 3})
    cells = LabelledCells.from_json({"groups": [], "counts": np.ones((1, 3, 3, 2), np.int64).tolist()})

    assert (counts.weighting, counts.strata) == (None, None)
    assert (cells.weighting, cells.strata, cells.scores) == (None, None, None)


def test_every_kind_of_table_has_the_form_that_databases_hold() -> None:
    groups, codes, outcomes, weights = [["Female", "monitored"], ["Male", "reference"]], [0, 0, 1, -1], [1, 2, 0, 1], [2, 1, 0.5, 3]
    copies = {"copies_classified": [[0, 2], [0, 1], [1, 0], [0, 0]], "copies_favourable": [[0, 1], [0, 0], [1, 0], [0, 0]]}
    own = {"groups": groups, "group": [0, 1], "copies_classified": [[0, 2], [1, 0]], "count": [1, 1], "unclassified": [1, 0], "other": 1}
    three = np.zeros((1, 2, 2, 2, 2, 2), np.int64)
    three[0, 1, 0, 1, 0, 1] = three[0, 1, 1, 1, 1, 1] = 1

    forms = (
        (
            GroupCounts.from_records(SEXES, codes, outcome=outcomes, weights=weights, strata=(("x", "y"), [0, 1, 1, -1])),
            {
                "groups": groups,
                "counts": [[0, 1], [1, 0]],
                "unclassified": [1, 0],
                "other": 1,
                "weighting": {"weights": [[0, 2], [0.5, 0]], "squares": [[0, 4], [0.25, 0]]},
                "strata": {"labels": ["x", "y"], "places": [1, 6], "counts": [1, 1], "weights": [2, 0.5], "squares": [4, 0.25]},
            },
        ),
        (
            LabelledCells.from_records((), [-1, -1], actual=[1, 0], predicted=[1, 2], correct=[1, 0]),
            {"groups": [], "counts": [[[[0, 0], [0, 0], [1, 0]], [[0, 0], [0, 1], [0, 0]], [[0, 0], [0, 0], [0, 0]]]]},
        ),
        (
            CounterfactualCells.from_records(SEXES, codes, outcome=outcomes, weights=weights, **copies),
            own | {"outcome": [1, 0], "copies_favourable": [[0, 1], [1, 0]], "weight": [2, 0.5]},
        ),
        (
            MitigatedCells.from_records(
                SEXES,
                codes,
                before=outcomes,
                after=[1, 1, 1, 1],
                copies_classified=copies["copies_classified"],
                copies_before=copies["copies_favourable"],
                copies_after=np.zeros((4, 2), np.int64),
            ),
            own | {"before": [1, 0], "after": [1, 1], "copies_before": [[0, 1], [1, 0]], "copies_after": [[0, 0], [0, 0]]},
        ),
        (
            MitigatedLabelledCells.from_records(
                (), [-1, -1, -1], actual=[1, 0, 1], before=[0, 2, 1], after=[1, 0, 1], correct_before=[0, 0, 1], correct_after=[1, 1, 1]
            ),
            {"groups": [], "counts": three.tolist(), "unclassified": [1]},
        ),
    )

    for table, stored in forms:
        assert table.to_json() == stored
        assert type(table).from_json(stored).to_json() == stored


def test_weights_are_summed_by_cell_with_their_squares() -> None:
    table = GroupCounts.from_records(SEXES, [0, 0, 1], outcome=[1, 1, 0], weights=[0.5, 2, 3])

    assert table.counts_weighting is not None
    assert table.counts_weighting.weights.tolist() == [[0, 2.5], [3, 0]]
    assert table.counts_weighting.squares.tolist() == [[0, 4.25], [9, 0]]
    assert table.counts.tolist() == [[0, 2], [1, 0]]


def test_a_record_without_weights_weighs_one_beside_records_that_have_some() -> None:
    weighed = GroupCounts.from_records(SEXES, [0], outcome=[1], weights=[0.5])
    plain = GroupCounts.from_records(SEXES, [0, 1], outcome=[1, 0])

    both = GroupCounts.merge([weighed, plain])

    assert both.counts_weighting is not None
    assert both.counts_weighting.weights.tolist() == [[0, 1.5], [1, 0]]


def test_strata_hold_only_records_with_a_group_a_stratum_and_an_outcome() -> None:
    table = GroupCounts.from_records(SEXES, [0, 1, -1, 0, 1], outcome=[1, 0, 1, 2, 1], strata=(("a", "b"), [0, 1, 0, 0, -1]))

    assert table.strata is not None
    assert table.strata.full_weighting.weights.tolist() == [[[0, 1], [0, 0]], [[0, 0], [1, 0]]]


def test_strata_are_aligned_by_label_when_tables_are_merged() -> None:
    monday = GroupCounts.from_records(SEXES, [0], outcome=[1], strata=(("a",), [0]))
    tuesday = GroupCounts.from_records(SEXES, [1, 1], outcome=[0, 1], strata=(("b", "a"), [0, 1]))

    week = GroupCounts.merge([monday, tuesday]).strata

    assert week is not None
    assert week.labels == ("a", "b")
    assert week.full_weighting.weights.tolist() == [[[0, 1], [0, 1]], [[0, 0], [1, 0]]]


def test_a_day_has_the_strata_of_the_hours_that_have_some() -> None:
    with_strata, without = (GroupCounts.from_records(SEXES, [0], outcome=[1], strata=strata) for strata in ((("a",), [0]), None))

    for hours in ([with_strata, without], [without, with_strata]):
        day = GroupCounts.merge(hours)

        assert day.counts.tolist() == [[0, 2], [0, 0]]
        assert day.strata is not None
        assert day.strata.counts.tolist() == [[[0, 1], [0, 0]]]
    assert GroupCounts.merge([without, without]).strata is None


def test_hours_of_too_many_strata_together_say_so_and_come_back_from_json(snapshot: SnapshotAssertion) -> None:
    hours = [
        GroupCounts.from_records(SEXES, [0], outcome=[1], strata=([str(start + place) for place in range(600)], [0]))
        for start in (0, 600, 100)
    ]

    day = GroupCounts.merge(hours)
    month = GroupCounts.merge([GroupCounts.from_json(json.loads(json.dumps(day.to_json()))), hours[2]])

    for table in (day, month):
        assert table.strata is not None
        assert says(table.strata.reason, "1,200", "1,000")
        assert table.strata.reason == snapshot
        assert table.strata.labels == ()


def test_too_many_strata_of_too_many_groups_are_none_and_say_so(snapshot: SnapshotAssertion) -> None:
    groups: list[tuple[str, Role]] = [(str(place), "monitored") for place in range(1000)]
    few, many = (
        LabelledCells.from_records(
            groups, [0], actual=[1], predicted=[1], correct=[1], strata=([str(place) for place in range(strata)], [0])
        ).strata
        for strata in (100, 101)
    )

    assert few is not None
    assert many is not None
    assert (few.reason, few.counts.sum()) == ("", 1)
    assert says(many.reason, "101", "1,000", "100,000")
    assert many.reason == snapshot
    assert many.sum_labels().reason == many.reason


def test_strata_are_stored_by_the_cells_that_hold_records() -> None:
    table = GroupCounts.from_records(SEXES, [0, 1, 1], outcome=[1, 0, 0], strata=([str(place) for place in range(1000)], [7, 998, 998]))

    stored = table.to_json()["strata"]

    assert (stored["places"], stored["counts"]) == ([7 * 4 + 1, 998 * 4 + 2], [1, 2])


def test_parts_of_a_table_that_do_not_fit_its_groups_are_refused() -> None:
    groups = (ComparedGroup("Female", "monitored"), ComparedGroup("Male", "reference"))
    counts, cells = np.ones((3, 3), np.int64), np.ones((3, 3, 3, 2), np.int64)
    three = ScoreTable.from_records([*SEXES, ("X", "monitored")], [], [], [])

    with pytest.raises(ValueError, match="weighting of the shape"):
        GroupCounts(groups, counts, Weighting.of_counts(np.ones((3, 2), np.int64)))
    with pytest.raises(ValueError, match="strata of cells of the shape"):
        GroupCounts(groups, counts, None, Strata(("a",), np.ones((1, 3, 2), np.int64)))
    with pytest.raises(ValueError, match="weighting of the shape"):
        LabelledCells(groups, cells, Weighting.of_counts(np.ones((2, 3, 3, 2), np.int64)))
    with pytest.raises(ValueError, match="strata of cells of the shape"):
        LabelledCells(groups, cells, None, Strata(("a",), np.ones((1, 2, 2), np.int64)))
    with pytest.raises(ValueError, match="scores of the same groups"):
        LabelledCells(groups, cells, None, None, three)
    with pytest.raises(ValueError, match="weighting of the shape"):
        Strata(("a",), np.ones((1, 2, 2), np.int64), Weighting.of_counts(np.ones((1, 3, 2), np.int64)))


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf]])
def test_weights_that_mean_nothing_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weight"):
        GroupCounts.from_records(SEXES, [0, 1], outcome=[0, 1], weights=weights)


def test_tables_of_different_groups_are_aligned_by_label() -> None:
    monday = GroupCounts.from_records(SEXES, [0, 1], outcome=[1, 0])
    tuesday = GroupCounts.from_records([("Male", "reference"), ("X", "monitored")], [0, 1, 1, -1], outcome=[1, 1, 2, 0])

    week = GroupCounts.merge([monday, tuesday])

    assert week.groups == (ComparedGroup("Female", "monitored"), ComparedGroup("Male", "reference"), ComparedGroup("X", "monitored"))
    assert week.counts.tolist() == [[0, 1], [1, 1], [0, 1]]
    assert (week.unclassified.tolist(), week.other) == ([0, 0, 1], 1)


def test_copies_follow_their_target_when_tables_are_aligned() -> None:
    monday = CounterfactualCells.from_records(SEXES, [0], outcome=[0], copies_favourable=[[0, 1]], copies_classified=[[0, 1]])
    tuesday = CounterfactualCells.from_records(
        [("Male", "reference"), ("Female", "monitored")], [1], outcome=[0], copies_favourable=[[1, 0]], copies_classified=[[1, 0]]
    )

    merged = CounterfactualCells.merge([monday, tuesday])

    assert merged.count.tolist() == [2]
    assert merged.copies_favourable.tolist() == [[0, 1]]


def test_a_label_takes_the_role_of_its_last_table() -> None:
    before = GroupCounts.from_records([("X", "monitored")], [0], outcome=[1])
    after = GroupCounts.from_records([("X", "reference")], [0], outcome=[1])

    assert GroupCounts.merge([before, after]).groups == (ComparedGroup("X", "reference"),)


@pytest.mark.parametrize(
    ("codes", "outcomes", "message"),
    [
        ([2], [0], "codes from -1 to 1"),
        ([0], [3], "codes from 0 to 2"),
        ([0, 1], [0], "one outcome code per record"),
        ([0.5], [0], "integer codes"),
    ],
)
def test_codes_that_mean_nothing_are_refused(codes: list[int], outcomes: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GroupCounts.from_records(SEXES, codes, outcome=outcomes)


def test_a_group_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="each group once"):
        GroupCounts.from_records([("X", "monitored"), ("X", "reference")], [], outcome=[])


def test_more_favourable_copies_than_copies_are_refused() -> None:
    with pytest.raises(ValueError, match="no more favourable copies"):
        CounterfactualCells.from_records(SEXES, [0], outcome=[0], copies_favourable=[[0, 2]], copies_classified=[[0, 1]])


def test_feedback_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one predicted code per record"):
        LabelledCells.from_records(SEXES, [0, 1], actual=[0, 1], predicted=[0], correct=[1, 1])


@pytest.mark.parametrize("key_space", [2**62, 40])
def test_distinct_rows_are_the_same_whether_packed_keys_fit_or_not(monkeypatch: pytest.MonkeyPatch, key_space: int) -> None:
    monkeypatch.setattr(record_kinds, "KEY_SPACE", key_space)
    columns = np.random.default_rng(0).integers(0, 3, (500, 4))
    expected, count = np.unique(columns, axis=0, return_counts=True)

    first, total = find_distinct_rows([*columns.T], np.ones(500, np.int64))

    assert columns[first].tolist() == expected.tolist()
    assert total.tolist() == count.tolist()
