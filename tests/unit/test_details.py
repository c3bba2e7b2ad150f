"""Details of figures survive the way into JSON and back, and have the order in which Postgres keeps them."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.check import Details
from app.statistics.catalogue import CATALOGUE
from app.statistics.intervals.verdicts import Measured
from tests.builders.every_figure import everything
from tests.builders.random_records import Records, records
from tests.builders.row_data import measured, window
from tests.examples import many

NAMES = st.sampled_from(["n", "monitored_n", "reference_", "whom", "p_value", "monitored", "subject", "counts"]) | st.text(max_size=5)
NUMBERS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
VALUES = NUMBERS | st.text(max_size=3) | st.lists(st.integers(), max_size=2)


def round_trips(results: list[Measured]) -> None:
    for result in results:
        members = result.details.to_json()
        assert Details.from_json(json.loads(json.dumps(members, allow_nan=False))) == result.details, result
        assert members["formula"]


@settings(max_examples=many(25))
@given(records() | records(weighted=True))
@pytest.mark.thorough
def test_every_figure_of_a_table_is_traced_in_json_and_back(sample: Records) -> None:
    for results in everything(sample).values():
        round_trips(results)


def test_every_figure_of_records_is_traced_in_json_and_back() -> None:
    results = measured(window())

    assert {result.metric for result in results} == {row.key for row in CATALOGUE.values() if "rows" in row.needs}
    round_trips(results)


@given(st.dictionaries(NAMES, VALUES))
def test_what_another_release_stored_is_kept(members: dict[str, Any]) -> None:
    assert Details.from_json(members).to_json() == members


def test_fields_and_counts_have_the_names_that_are_stored() -> None:
    details = Details(
        subject="female",
        monitored="female",
        counts={"n": 30, "score_sum": None},
        monitored_counts={"favourable": 3},
        reference_counts={"own_n": 2},
        subgroup_of_groups={"male": 1, "a": 2},
    )

    assert details.to_json() == {
        "whom": "female",
        "monitored": "female",
        "n": 30,
        "score_sum": None,
        "monitored_favourable": 3,
        "reference_own_n": 2,
        "subgroup_of_groups": {"male": 1, "a": 2},
    }
    assert replace(details, subject=None) == Details.from_json({name: value for name, value in details.to_json().items() if name != "whom"})


@pytest.mark.parametrize(
    ("names", "kept"),
    [(["whom", "n", "draws", "caution"], ["n", "whom", "draws", "caution"]), (["é", "bb", "aa", "z"], ["z", "aa", "bb", "é"])],
)
def test_members_have_the_order_of_jsonb(names: list[str], kept: list[str]) -> None:
    assert list(Details.from_json(dict.fromkeys(names, 1)).to_json()) == kept


def test_a_changed_copy_is_that_of_dataclasses_and_refuses_unknown_names() -> None:
    details = Details(subject="women", counts={"n": 3}, draws=2)

    assert details.changed(draws=None, caution="It is small.") == replace(details, draws=None, caution="It is small.")
    assert details == Details(subject="women", counts={"n": 3}, draws=2)
    with pytest.raises(TypeError, match="drawn"):
        details.changed(drawn=4)
