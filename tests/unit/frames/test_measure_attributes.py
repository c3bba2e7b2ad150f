from typing import Any

import numpy as np
import pandas as pd
import pytest

from app.base.errors import InvalidInput
from app.library.measurements import measure_attributes, measure_frame

EVERYTHING = {"label": "repaid", "prediction": "approved", "score": "score", "weight": "weight", "strata": "region"}


@pytest.fixture
def applicants() -> pd.DataFrame:
    """500 applicants whose every column is drawn; some have no sex, some no race, some neither."""
    draw = np.random.default_rng(11)
    score = draw.random(500)
    return pd.DataFrame(
        {
            "sex": draw.choice(["woman", "man", None], 500, p=[0.4, 0.5, 0.1]),
            "race": draw.choice(["white", "black", "asian", None], 500, p=[0.6, 0.2, 0.1, 0.1]),
            "age": draw.integers(18, 80, 500),
            "approved": np.where(score > 0.5, "yes", "no"),
            "repaid": draw.choice(["yes", "no", "open"], 500),
            "score": score,
            "weight": draw.integers(1, 4, 500),
            "region": draw.choice(["north", "south"], 500),
            "income": draw.normal(40, 10, 500),
        }
    )


def assert_equal_to_one_at_a_time(frame: pd.DataFrame, attributes: list[str], **arguments: object) -> None:
    """The reports of each attribute and of all together are those that `measure_frame` gives."""
    asked: dict[str, Any] = {"favourable": "yes", "draws": 100} | arguments
    reports = measure_attributes(frame, attributes=attributes, **asked)

    for names, report in zip([*attributes, attributes], reports.values(), strict=True):
        sides = {
            side: {name: listed for name, listed in asked[side].items() if name in names} or None
            for side in ("monitored", "reference")
            if side in asked
        }
        alone = measure_frame(frame, attribute=names, **asked | sides)
        assert report.measured == alone.measured
        assert report.to_json() == alone.to_json()
        assert [table.to_json() for table in report.tables] == [table.to_json() for table in alone.tables]
    assert list(reports) == [report.attribute for report in reports.values()]


@pytest.mark.parametrize(
    "columns", [EVERYTHING, {"prediction": "approved", "strata": "region"}, {"label": "repaid", "unfavourable": "no", "weight": "weight"}]
)
def test_each_attribute_and_all_together_have_the_figures_they_have_alone(applicants: pd.DataFrame, columns: dict[str, Any]) -> None:
    assert_equal_to_one_at_a_time(applicants, ["sex", "race"], **columns)


def test_the_metrics_of_rows_are_measured_for_each_attribute_too(applicants: pd.DataFrame) -> None:
    picked = ["prediction_consistency", "rich_subgroup_false_positive", "disparate_impact"]
    columns = {name: column for name, column in EVERYTHING.items() if name != "weight"}

    assert_equal_to_one_at_a_time(applicants, ["sex", "race"], **columns, features=["income", "age"], metrics=picked)


@pytest.mark.nightly
def test_groups_that_are_listed_are_those_of_each_attribute(applicants: pd.DataFrame) -> None:
    monitored = {"sex": ["woman"], "age": [(18, 25), (60, 80)]}
    reference = {"sex": ["man"], "age": (26, 50), "race": "white"}

    assert_equal_to_one_at_a_time(applicants, ["sex", "race", "age"], **EVERYTHING, monitored=monitored, reference=reference)


def test_one_attribute_has_one_report(applicants: pd.DataFrame) -> None:
    (report,) = measure_attributes(applicants, attributes=["sex"], prediction="approved", favourable="yes", reference="man").values()

    assert report.measured == measure_frame(applicants, attribute="sex", prediction="approved", favourable="yes", reference="man").measured


def test_what_cannot_be_measured_says_why_and_the_others_are_measured(applicants: pd.DataFrame) -> None:
    frame = applicants.assign(zip=[str(number) for number in range(len(applicants))], one="same")
    asked: dict[str, Any] = {"prediction": "approved", "favourable": "yes"}

    reports = measure_attributes(frame, attributes=["zip", "sex", "one"], **asked)

    alone = measure_frame(frame, attribute="sex", **asked)
    assert list(reports) == ["sex"]
    assert reports["sex"].measured == alone.measured
    for name, warning in zip(("zip", "one"), reports["sex"].warnings, strict=True):
        with pytest.raises(InvalidInput) as refused:
            measure_frame(frame, attribute=name, **asked)
        assert warning == f"'{name}': not measured, because {refused.value.problems[0].message}"


def test_attributes_that_no_record_has_together_are_measured_each_alone() -> None:
    frame = pd.DataFrame({"sex": ["f", "m", None, None], "race": [None, None, "b", "w"], "approved": ["yes", "no", "yes", "no"]})

    reports = measure_attributes(frame, attributes=["sex", "race"], prediction="approved", favourable="yes")

    assert list(reports) == ["sex", "race"]
    assert reports["sex"].warnings[0].startswith("'sex' and 'race': not measured, because ")


def test_if_nothing_can_be_measured_the_first_reason_is_raised(applicants: pd.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="every record of 'one' is in 'same'"):
        measure_attributes(applicants.assign(one="same", two="same"), attributes=["one", "two"], prediction="approved", favourable="yes")


@pytest.mark.parametrize(
    "wrong",
    [
        {"attribute": ["sex", "sex"]},
        {"attribute": []},
        {"attribute": ["sex", "hair"]},
        {"attribute": ["sex", "race"], "reference": "man"},
        {"attribute": ["sex", "race"], "monitored": {"hair": "red"}},
        {"attribute": ["sex", "race"], "prediction": "decision"},
        {"attribute": ["sex", "race"], "metrics": ["roc_auc"]},
        {"attribute": ["sex", "race"], "favourable": "perhaps"},
    ],
)
def test_what_is_wrong_is_named_as_for_one(applicants: pd.DataFrame, wrong: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"prediction": "approved", "favourable": "yes"} | wrong
    attribute = asked.pop("attribute")

    with pytest.raises(InvalidInput) as alone:
        measure_frame(applicants, attribute=attribute, **asked)
    with pytest.raises(InvalidInput) as together:
        measure_attributes(applicants, attributes=attribute, **asked)
    assert together.value.problems == alone.value.problems
