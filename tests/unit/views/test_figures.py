"""What stands behind a figure, in words."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from app.checks.views.explain_figure import DATA_WORDS, INTERVAL_WORDS, describe_limits, describe_measurement, explain, list_statements
from app.checks.views.headlines import VERDICT_WORDS
from app.domain.check import DataSet, Details, Measurement, Scope
from app.domain.monitor import Comparison
from app.statistics.intervals.verdicts import Value, Verdict, judge_number
from app.statistics.sentences.statements import NO_VERDICT
from tests.builders.page_words import says

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
IMPACT = Measurement(
    metric="disparate_impact",
    data=DataSet.AS_LOGGED,
    scope=Scope.GROUP,
    comparison=Comparison(("Sex",)),
    group="female",
    at=NOON,
    value=0.8,
    reason=None,
    lower=0.69,
    upper=0.92,
    interval_method="log_ratio",
    n=400,
    verdict="suspected",
    lower_limit=0.85,
    upper_limit=None,
    details=Details(
        formula="favourable_rate(monitored) / favourable_rate(reference)",
        monitored="female",
        reference="male",
        monitored_counts={"favourable": 120, "n": 200},
        reference_counts={"favourable": 150, "n": 200},
        p_value=0.001,
        caution="rests on few",
    ),
)
UNCERTAINTY = Path(__file__).resolve().parents[3] / "docs" / "concepts" / "uncertainty.md"


@pytest.mark.parametrize(
    ("lower", "upper", "limits", "said"),
    [
        (0.86, 0.99, (0.85, 1.2), "It is inside the limits (0.85 to 1.2), and so is its whole interval."),
        (
            0.80,
            0.99,
            (0.85, 1.2),
            "It is inside the limits (0.85 to 1.2), but its interval reaches 0.800, so a value beyond the limit of 0.85 is not ruled out.",
        ),
        (
            0.86,
            1.30,
            (0.85, 1.2),
            "It is inside the limits (0.85 to 1.2), but its interval reaches 1.300, so a value beyond the limit of 1.2 is not ruled out.",
        ),
        (
            0.80,
            None,
            (0.85, 1.2),
            (
                "It is inside the limits (0.85 to 1.2), but its interval reaches 0.800 and has no upper end, so a value beyond either limit"
                " is not ruled out."
            ),
        ),
        (0.86, None, (0.85, None), "It is inside the one limit that is set (0.85 and more), and so is its whole interval."),
    ],
)
def test_a_figure_inside_its_limits_says_whether_its_whole_interval_is(
    lower: float | None, upper: float | None, limits: tuple[float | None, float | None], said: str
) -> None:
    number = Value(0.9, lower, upper, "log_ratio", 400)
    judged = judge_number(number, lower_limit=limits[0], upper_limit=limits[1], smallest_group=200)
    inside = replace(IMPACT, value=0.9, lower=lower, upper=upper, verdict=judged, lower_limit=limits[0], upper_limit=limits[1])

    assert list_statements(inside)[-1] == said
    assert judged == (Verdict.FAIR if "whole" in said else Verdict.UNDECIDED)


def test_a_figure_opens_its_formula_counts_interval_limits_and_verdict(snapshot: SnapshotAssertion) -> None:
    found = explain(IMPACT)

    assert (found.title, found.formula) == ("Disparate impact", "favourable_rate(monitored) / favourable_rate(reference)")
    assert [(count.label, count.value) for count in found.counts] == [
        ("p-value", 0.001),
        ("female: records", 200),
        ("male: records", 200),
        ("female: favourable", 120),
        ("male: favourable", 150),
    ]
    assert says(found.interval, "Katz")
    assert found.interval == snapshot
    assert found.limits == "Watched from 0.85 up only."
    assert says(found.statements[0], "0.0010")
    assert says(found.statements[1], "0.85", "0.920")
    assert found.statements == snapshot
    assert found.caution == "It rests on few."
    assert (found.subject, found.data) == ("female (Sex)", "logged records")
    assert found.sentence == describe_measurement(IMPACT)


def test_a_figure_without_a_number_has_its_reason_and_no_interval(snapshot: SnapshotAssertion) -> None:
    absent = replace(
        IMPACT, value=None, lower=None, upper=None, interval_method=None, reason="no record was classified", verdict="not_computable"
    )

    found = explain(absent)
    assert (found.measurement, found.interval) == (absent, None)
    assert found.sentence == snapshot


@pytest.mark.parametrize(
    ("scope", "group", "expected"),
    [
        (Scope.POOLED, None, "all monitored values together (Sex)"),
        (Scope.REFERENCE, None, "all reference values together (Sex)"),
        (Scope.WORST_PAIR, None, "the two groups furthest apart (Sex)"),
        (Scope.ATTRIBUTE, None, "all groups (Sex)"),
    ],
)
def test_the_subject_of_a_figure_is_named_in_words(scope: Scope, group: str | None, expected: str) -> None:
    assert explain(replace(IMPACT, scope=scope, group=group)).subject == expected


def test_a_figure_of_everybody_names_no_attribute() -> None:
    assert explain(replace(IMPACT, metric="accuracy", scope=Scope.OVERALL, comparison=Comparison(()), group=None)).subject == "all records"


def test_counts_that_are_lists_or_weights_are_told_in_one_line() -> None:
    details = Details(monitored="female", monitored_counts={"favourable_weight": 1.5}, counts={"n": 3}, others={"bins": [1, 2]})
    found = explain(replace(IMPACT, details=details))

    assert [(count.label, count.value) for count in found.counts] == [
        ("records", 3),
        ("bins", "1, 2"),
        ("female: weight of favourable", 1.5),
    ]


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (None, None, "No limit is set."),
        (0.8, None, "Watched from 0.8 up only."),
        (None, 1.25, "Watched up to 1.25 only."),
        (0.8, 1.25, "Fair from 0.8 to 1.25."),
    ],
)
def test_limits_are_said_in_words(lower: float | None, upper: float | None, expected: str) -> None:
    assert describe_limits(replace(IMPACT, lower_limit=lower, upper_limit=upper)) == expected


def test_a_figure_that_has_one_side_by_its_nature_is_not_called_half_watched() -> None:
    distance = replace(IMPACT, metric="total_variation_distance", lower_limit=None, upper_limit=0.1)

    assert describe_limits(distance) == "Fair up to 0.1."


def test_every_verdict_data_set_and_documented_interval_has_words() -> None:
    documented = UNCERTAINTY.read_text(encoding="utf-8").split("\n## ")[1]

    assert VERDICT_WORDS.keys() == {*Verdict, None}
    assert DATA_WORDS.keys() == set(DataSet)
    assert all(f"`{method}`" in documented for method in INTERVAL_WORDS)
    assert explain(replace(IMPACT, verdict=None)).statements[-1] == NO_VERDICT


def test_every_documented_method_of_an_interval_has_words() -> None:
    """Without them the page of the figure could not be shown."""
    table = UNCERTAINTY.read_text(encoding="utf-8").partition("| `wilson` |")[2].partition("\n\n")[0]
    named = set(re.findall(r"^\| `([a-z_]+)` \|", table, re.MULTILINE))

    assert len(named) > 20
    assert named - INTERVAL_WORDS.keys() == set()
