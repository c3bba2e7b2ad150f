"""Rich subgroups worked out by hand, and beside every subgroup there is."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.statistics.group_labels import FloatArray, IntArray
from app.statistics.records.rich_subgroup import RichSubgroup, find_rich_subgroup

UNFAVOURABLE, FAVOURABLE = 0, 1


def records(*cells: tuple[tuple[float, ...], int, int, int]) -> tuple[FloatArray, IntArray, IntArray]:
    """Protected attributes, predictions and labels of cells (attributes, label, predicted unfavourable, predicted favourable)."""
    rows = [(place, outcome, label) for place, label, *counts in cells for outcome, count in enumerate(counts) for _ in range(count)]
    return (
        np.array([place for place, _, _ in rows], dtype=np.float64),
        np.array([outcome for _, outcome, _ in rows], dtype=np.int64),
        np.array([label for _, _, label in rows], dtype=np.int64),
    )


def found(subgroup: RichSubgroup | None) -> RichSubgroup:
    assert subgroup is not None
    return subgroup


def test_one_attribute_divides_two_groups() -> None:
    # Of 4 men 3 falsely accepted, of 6 women 1: 0.4 of all. (0.75 - 0.4) · 4 / 20.
    protected, predicted, labels = records(((0.0,), 0, 1, 3), ((1.0,), 0, 5, 1), ((0.0,), 1, 5, 5))

    men = found(find_rich_subgroup(protected, predicted, labels, "false_positive"))

    assert men.value == pytest.approx(0.35 * 4 / 20)
    assert (men.rate, men.overall_rate) == (0.75, 0.4)
    assert protected[men.judged[men.members]].ravel().tolist() == [0.0] * 4


def test_false_negatives_count_the_rejected_among_the_actually_favourable() -> None:
    protected, predicted, labels = records(((0.0,), 1, 3, 1), ((1.0,), 1, 1, 5), ((0.0,), 0, 5, 5))

    assert found(find_rich_subgroup(protected, predicted, labels, "false_negative")).value == pytest.approx(0.35 * 4 / 20)


def test_gerrymandering_that_no_single_attribute_shows_is_found_at_a_corner() -> None:
    """Kearns et al.'s first example, an exclusive or: each attribute by itself has the same rate on both sides."""
    corners = [(place, 0, *((10, 0) if place[0] == place[1] else (0, 10))) for place in product((0.0, 1.0), repeat=2)]
    protected, predicted, labels = records(*corners)

    subgroup = found(find_rich_subgroup(protected, predicted, labels, "false_positive"))

    assert subgroup.value == pytest.approx(0.5 * 10 / 40)
    assert len(np.unique(protected[subgroup.members], axis=0)) == 1
    assert found(find_rich_subgroup(protected[:, :1], predicted, labels, "false_positive")).value == 0.0


def test_an_intersection_is_found_where_each_attribute_alone_shows_less() -> None:
    # Only black women are falsely accepted: 10 of 40 records, rate 1 against 0.25.
    corners = [(place, 0, *((0, 10) if place == (1.0, 1.0) else (10, 0))) for place in product((0.0, 1.0), repeat=2)]
    protected, predicted, labels = records(*corners)

    subgroup = found(find_rich_subgroup(protected, predicted, labels, "false_positive"))

    assert subgroup.value == pytest.approx(0.75 * 10 / 40)
    assert protected[subgroup.members].tolist() == [[1.0, 1.0]] * 10
    assert subgroup.interval.lower > 0.1


def test_records_exactly_on_the_line_do_not_spoil_the_rate() -> None:
    """AIF360 0.6.1 says 0.0625: the rate of its second subgroup is taken from the middle records too, which are not in it."""
    protected, predicted, labels = records(
        ((0.0,), 0, 4, 0), ((1.0,), 0, 4, 0), ((2.0,), 0, 1, 3), ((0.0,), 1, 0, 1), ((1.0,), 1, 0, 2), ((2.0,), 1, 0, 1)
    )

    subgroup = found(find_rich_subgroup(protected, predicted, labels, "false_positive"))

    assert subgroup.value == pytest.approx((0.75 - 0.25) * 4 / 16)
    assert subgroup.rate == 0.75


def test_nothing_is_found_where_nobody_can_err_or_all_are_alike() -> None:
    protected, predicted, labels = records(((0.0,), 1, 2, 2), ((1.0,), 1, 2, 2), ((1.0,), 0, 3, 3))

    assert (
        find_rich_subgroup(protected[labels == FAVOURABLE], predicted[labels == FAVOURABLE], labels[labels == 1], "false_positive") is None
    )
    assert find_rich_subgroup(protected, predicted, labels, "false_positive") is None
    assert find_rich_subgroup(np.empty((len(labels), 0)), predicted, labels, "false_negative") is None


def test_without_any_error_the_value_is_zero_and_the_interval_is_not() -> None:
    protected, predicted, labels = records(((0.0,), 0, 30, 0), ((1.0,), 0, 30, 0))

    subgroup = found(find_rich_subgroup(protected, predicted, labels, "false_positive"))

    assert subgroup.value == 0.0
    assert subgroup.interval.lower == 0.0
    assert (subgroup.interval.upper or 0.0) > 0.0


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=6))
@pytest.mark.thorough
def test_membership_of_groups_finds_the_best_of_all_unions_of_groups(counts: list[tuple[int, int]]) -> None:
    """Given one 0/1 attribute for each group, a line can part any of the groups from the others."""
    groups = np.repeat(np.arange(len(counts)), [sum(each) for each in counts])
    errors = np.array([outcome for each in counts for outcome, count in enumerate(each) for _ in range(count)], dtype=np.int64)
    member = (groups[:, None] == np.arange(len(counts))).astype(np.float64)
    labels = np.zeros(len(groups), dtype=np.int64)

    subgroup = find_rich_subgroup(member, errors, labels, "false_positive")

    if len(set(groups)) < 2:
        assert subgroup is None
        return
    deviations = np.bincount(groups, weights=errors - errors.mean())
    assert found(subgroup).value == pytest.approx(deviations[deviations > 0].sum() / len(groups))
    assert found(subgroup).interval.lower <= found(subgroup).value <= (found(subgroup).interval.upper or 0.0)


@pytest.mark.nightly
def test_the_interval_reaches_zero_in_19_of_20_windows_without_any_difference() -> None:
    reaches = []
    for window in range(200):
        random = np.random.default_rng(window)
        protected, predicted = random.integers(0, 2, (400, 3)).astype(np.float64), random.integers(0, 2, 400)
        subgroup = found(find_rich_subgroup(protected, predicted, np.zeros(400, dtype=np.int64), "false_positive"))
        reaches.append(subgroup.interval.lower == 0.0)

    assert 0.9 <= np.mean(reaches) <= 0.99
