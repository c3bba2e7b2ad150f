"""Local Law 144: three audits computed by hand, and laws that hold for all."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.monitor import Comparison
from app.statistics.selections.category_people import Category, CategoryTable
from app.statistics.selections.four_fifths import audit_tables, list_empty_categories

COUNTS = st.integers(1, 400).flatmap(lambda people: st.tuples(st.just(people), st.integers(0, people)))


def table(*counts: tuple[str, int, int], unknown: int = 0) -> CategoryTable:
    return CategoryTable(Comparison(("race",)), tuple(Category((name,), people, selected) for name, people, selected in counts), unknown)


def ratios(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    return {row["category"]: row["impact_ratio"] for row in rows}


def test_an_audit_whose_smallest_category_has_the_highest_rate_takes_the_highest_of_the_included_ones() -> None:
    # Asian: 1 of 1 selected, which is 1 of 501 people, below 2 %. By hand: White 200/400 = 0.5, Black 30/100 = 0.3; 0.3 / 0.5 = 0.6.
    sheet = audit_tables([table(("Asian", 1, 1), ("Black", 100, 30), ("White", 400, 200))], assessed=501, unknown=0)

    (audit,) = sheet.tables
    assert ratios(audit.rows) == {"Asian": None, "Black": pytest.approx(0.6), "White": 1.0}
    assert [row["excluded"] for row in audit.rows] == [True, False, False]
    assert audit.rows[0]["rate"] == 1.0
    assert audit.most_selected is not None
    assert audit.most_selected.label == "White"


def test_exactly_two_percent_is_included() -> None:
    (audit,) = audit_tables([table(("A", 2, 1), ("B", 98, 49))], assessed=100, unknown=0).tables
    assert ratios(audit.rows) == {"A": 1.0, "B": 1.0}


def test_two_percent_are_of_all_data_of_the_audit_with_those_of_unknown_categories() -> None:
    # A has 2 of the 98 people of its table, which is more than 2 %, and of the 110 people of the data, which is less.
    (audit,) = audit_tables([table(("A", 2, 2), ("B", 96, 48), unknown=12)], assessed=110, unknown=12).tables
    assert ratios(audit.rows) == {"A": None, "B": 1.0}


def test_where_nobody_is_selected_there_is_no_ratio() -> None:
    (audit,) = audit_tables([table(("A", 50, 0), ("B", 50, 0))], assessed=100, unknown=0).tables
    assert ratios(audit.rows) == {"A": None, "B": None}
    assert [row["excluded"] for row in audit.rows] == [False, False]


def test_without_categories_there_are_no_rows() -> None:
    (audit,) = audit_tables([table(unknown=5)], assessed=5, unknown=5).tables
    assert (audit.rows, audit.most_selected) == ([], None)


@given(st.lists(COUNTS, min_size=1, max_size=8), st.sampled_from([0, 0.02, 0.2]))
def test_ratios_lie_between_0_and_1_and_the_most_selected_included_category_has_1(
    counts: list[tuple[int, int]], least_share: float
) -> None:
    everybody = sum(people for people, _ in counts)
    named = [(f"c{place}", people, selected) for place, (people, selected) in enumerate(counts)]
    (audit,) = audit_tables([table(*named)], assessed=everybody, unknown=0, least_share=least_share).tables

    for row in audit.rows:
        assert row["excluded"] == (row["applicants"] < least_share * everybody)
        assert row["impact_ratio"] is None or 0 <= row["impact_ratio"] <= 1
    included = [row for row in audit.rows if not row["excluded"]]
    if any(row["selected"] for row in included):
        assert max(row["impact_ratio"] or 0 for row in included) == 1
    else:
        assert all(row["impact_ratio"] is None for row in audit.rows)


def test_categories_of_the_rule_that_nobody_is_of_are_listed() -> None:
    races = table(("White", 5, 2), ("Asian", 3, 1))
    absent = list_empty_categories(races, {})
    assert absent == [
        "Black or African American",
        "Hispanic or Latino",
        "Native American or Alaska Native",
        "Native Hawaiian or Pacific Islander",
        "Two or more races",
    ]
    # A name that the rule does not have: only categories that are known otherwise.
    assert list_empty_categories(table(("White", 5, 2), ("Klingon", 3, 1)), {"race": ("White", "Asian")}) == ["Asian"]


def test_combinations_that_nobody_is_of_are_listed() -> None:
    both = CategoryTable(Comparison(("sex", "job")), (Category(("Female", "a"), 3, 1), Category(("Male", "b"), 3, 1)), 0)
    assert list_empty_categories(both, {}) == ["Female × b", "Male × a"]
