"""Reports on the selections in a frame: unknown categories, ties at the median, and refusals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput
from app.library.selections import count_scored, count_selected, report_selections
from tests.builders.page_words import says

SEXES, RACES = ("F", "M", "", None), ("a", "b", "c", None)


def test_an_audit_with_unknown_categories_shows_their_number_and_leaves_them_out() -> None:
    # By hand: sex F 2 of 4, M 3 of 4, one unknown. race a 3 of 5, b 2 of 3, one unknown. Both: F × a 1/2, F × b 1/2, M × a 2/3.
    frame = pd.DataFrame(
        {
            "sex": ["F", "F", "F", "F", "M", "M", "M", "M", ""],
            "race": ["a", "a", "b", "b", "a", "a", "a", None, "b"],
            "hired": ["yes", "no", "yes", "no", "yes", "yes", "no", "yes", "yes"],
        }
    )
    found = report_selections(frame, preset="ll144", attribute=["sex", "race"], prediction="hired", favourable="yes").to_json()

    sheet = found["sheets"]["ll144"]
    assert sheet["unknown"] == 2
    assert [table["attribute"] for table in sheet["tables"]] == ["sex", "race", "sex × race"]
    counts = [[(row["category"], row["applicants"], row["selected"]) for row in table["rows"]] for table in sheet["tables"]]
    assert counts == [
        [("F", 4, 2), ("M", 4, 3)],
        [("a", 5, 3), ("b", 3, 2)],
        [("F × a", 2, 1), ("F × b", 2, 1), ("M × a", 3, 2)],
    ]
    ratios = [[row["impact_ratio"] for row in table["rows"]] for table in sheet["tables"]]
    assert ratios == [pytest.approx([2 / 3, 1]), pytest.approx([0.9, 1]), pytest.approx([0.75, 0.75, 1])]
    assert set(sheet["tables"][0]["rows"][0]) == {"category", "applicants", "selected", "rate", "impact_ratio", "excluded"}


def test_an_audit_of_scores_counts_those_above_the_median_of_everybody_and_no_tie() -> None:
    # By hand: scores 1 2 3 3 3 4 9, median 3, also with the two of unknown sex. Above 3: one F of two, none of three M.
    frame = pd.DataFrame({"sex": ["F", "F", "M", "M", "M", None, None], "score": [2, 4, 3, 3, 3, 1, 9]})
    found = report_selections(frame, preset="ll144", attribute="sex", score="score").to_json()

    assert found["median_score"] == 3
    (table,) = found["sheets"]["ll144"]["tables"]
    assert [(row["category"], row["selected"], row["applicants"], row["impact_ratio"]) for row in table["rows"]] == [
        ("F", 1, 2, 1.0),
        ("M", 0, 3, 0.0),
    ]
    assert found["sheets"]["ll144"]["unknown"] == 2


def test_people_without_an_answer_are_in_no_table() -> None:
    frame = pd.DataFrame({"sex": ["F", "M", "M"], "hired": ["yes", None, "no"], "score": [1.0, None, 2.0]})
    for counted in (
        count_selected(frame, attributes=["sex"], prediction="hired", favourable="yes"),
        count_scored(frame, attributes=["sex"], score="score"),
    ):
        assert (counted.assessed, counted.records[0].counted, counted.records[0].of) == (2, 2, 3)
        assert [category.applicants for category in counted.tables[0].categories] == [1, 1]


def test_an_attribute_with_one_category_says_that_there_is_nobody_to_compare(snapshot: SnapshotAssertion) -> None:
    frame = pd.DataFrame({"sex": ["F", "F", None], "hired": ["yes", "no", "yes"]})
    found = report_selections(frame, preset="lending", attribute="sex", prediction="hired", favourable="yes").to_json()
    (table,) = found["sheets"]["lending"]["tables"]
    assert table["rows"] == []
    assert says(table["reason"], "reference", "F")
    assert table["reason"] == snapshot


@given(st.lists(st.tuples(st.sampled_from(SEXES), st.sampled_from(RACES), st.booleans()), min_size=1, max_size=60))
@pytest.mark.thorough
def test_tables_count_what_a_loop_over_the_people_counts(people: list[tuple[str | None, str | None, bool]]) -> None:
    frame = pd.DataFrame(people, columns=["sex", "race", "hired"])
    found = count_selected(frame, attributes=["sex", "race"], prediction="hired", favourable=True)

    for table, names in zip(found.tables, [("sex",), ("race",), ("sex", "race")], strict=True):
        known: dict[tuple[str, ...], list[bool]] = {}
        for sex, race, hired in people:
            own = tuple(value for name, value in (("sex", sex), ("race", race)) if name in names)
            if all(own):
                known.setdefault(tuple(map(str, own)), []).append(hired)
        assert {category.names: (category.applicants, category.selected) for category in table.categories} == {
            own: (len(answers), sum(answers)) for own, answers in known.items()
        }
        assert table.unknown == len(people) - sum(map(len, known.values()))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"preset": "gdpr"}, "preset"),
        ({"attribute": "age"}, "attribute"),
        ({"attribute": []}, "attribute"),
        ({"attribute": "id"}, "attribute"),
        ({"prediction": "age"}, "prediction"),
        ({"prediction": None}, "prediction"),
        ({"score": "score"}, "prediction"),
        ({"prediction": None, "score": "sex"}, "score"),
        ({"prediction": None, "score": "nothing"}, "score"),
        ({"prediction": "nothing"}, "prediction"),
        ({"favourable": "maybe"}, "favourable"),
        ({"least_share": 1}, "least_share"),
        ({"least_share": float("nan")}, "least_share"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named(arguments: dict[str, object], named: str) -> None:
    frame = pd.DataFrame({"sex": ["f", "m"] * 300, "hired": ["yes", "no"] * 300, "score": range(600), "id": range(600), "nothing": np.nan})
    given_arguments: dict[str, object] = {"preset": "ll144", "attribute": "sex", "prediction": "hired", "favourable": "yes"}
    with pytest.raises(InvalidInput) as refused:
        report_selections(frame, **{**given_arguments, **arguments})  # type: ignore[arg-type]
    assert refused.value.problems[0].field == named
