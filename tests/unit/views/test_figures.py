"""What stands behind a figure, in words."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.domain.checks import CheckState, DataSet, Measurement, Scope, Span
from app.metrics.verdicts import Verdict
from app.views.check_views import CheckOfView
from app.views.figures import DATA_SETS, INTERVALS, NO_VERDICT, NOT_RULED_OUT, VERDICTS, explained, limits_in_words, sentence_of

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
IMPACT = Measurement(
    metric="disparate_impact",
    data=DataSet.PAYLOAD,
    scope=Scope.GROUP,
    attribute="Sex",
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
    details={
        "formula": "favourable_rate(monitored) / favourable_rate(reference)",
        "monitored": "female",
        "reference": "male",
        "monitored_favourable": 120,
        "monitored_n": 200,
        "reference_favourable": 150,
        "reference_n": 200,
        "p_value": 0.001,
        "caution": "rests on few",
    },
)
CHECK = CheckOfView(
    id="c1",
    deployment_id="credit-risk",
    state=CheckState.SUCCEEDED,
    span=Span(start=NOON, end=NOON),
    monitor_version=3,
    model_revision="r1",
    carried_from=None,
    counted_span=Span(start=NOON, end=NOON),
)
UNCERTAINTY = Path(__file__).resolve().parents[3] / "docs" / "concepts" / "uncertainty.md"


@pytest.mark.parametrize(
    ("lower", "upper", "limits", "more"),
    [
        (0.86, 0.99, (0.85, 1.2), ""),
        (0.80, 0.99, (0.85, 1.2), f" {NOT_RULED_OUT}"),
        (0.86, 1.30, (0.85, 1.2), f" {NOT_RULED_OUT}"),
        (0.86, None, (0.85, 1.2), f" {NOT_RULED_OUT}"),
        (0.86, None, (0.85, None), ""),
        (None, 0.99, (0.85, None), f" {NOT_RULED_OUT}"),
    ],
)
def test_a_fair_figure_whose_interval_reaches_outside_says_so(
    lower: float | None, upper: float | None, limits: tuple[float | None, float | None], more: str
) -> None:
    fair = replace(IMPACT, value=0.9, lower=lower, upper=upper, verdict="fair", lower_limit=limits[0], upper_limit=limits[1])

    assert explained(fair).verdict == f"{VERDICTS['fair']}{more}"


def test_a_figure_opens_its_formula_counts_interval_limits_and_verdict() -> None:
    found = explained(IMPACT, CHECK)

    assert (found.title, found.formula) == ("Disparate impact", "favourable_rate(monitored) / favourable_rate(reference)")
    assert [(one.label, one.value) for one in found.counts] == [
        ("female: favourable", 120),
        ("female: records", 200),
        ("male: favourable", 150),
        ("male: records", 200),
        ("p-value", 0.001),
    ]
    assert found.interval == "the log interval of a ratio of two proportions (Katz)"
    assert found.limits == "Fair from 0.85 up."
    assert found.verdict == VERDICTS["suspected"]
    assert found.caution == "It rests on few."
    assert (found.whom, found.data) == ("female (Sex)", "logged records")
    assert found.sentence == sentence_of(IMPACT)
    assert found.check is CHECK


def test_a_figure_without_a_number_has_its_reason_and_no_interval() -> None:
    absent = replace(
        IMPACT, value=None, lower=None, upper=None, interval_method=None, reason="no record was classified", verdict="not_computable"
    )

    found = explained(absent)
    assert (found.value, found.interval, found.reason) == (None, None, "no record was classified")
    assert found.sentence == "Disparate impact cannot be computed: no record was classified."


@pytest.mark.parametrize(
    ("scope", "group", "expected"),
    [
        (Scope.WORST, None, "female, the monitored value treated worst (Sex)"),
        (Scope.POOLED, None, "all monitored values together (Sex)"),
        (Scope.REFERENCE, None, "all reference values together (Sex)"),
        (Scope.WORST_PAIR, None, "the two groups furthest apart (Sex)"),
        (Scope.ATTRIBUTE, None, "all groups (Sex)"),
    ],
)
def test_whom_a_figure_is_about_is_said_in_words(scope: Scope, group: str | None, expected: str) -> None:
    assert explained(replace(IMPACT, scope=scope, group=group)).whom == expected


def test_a_figure_of_everybody_names_no_attribute() -> None:
    assert explained(replace(IMPACT, metric="accuracy", scope=Scope.OVERALL, attribute=None, group=None)).whom == "everybody"


def test_counts_that_are_lists_or_weights_are_told_in_one_line() -> None:
    found = explained(replace(IMPACT, details={"bins": [1, 2], "monitored": "female", "monitored_favourable_weight": 1.5, "n": 3}))

    assert [(one.label, one.value) for one in found.counts] == [
        ("bins", "1, 2"),
        ("female: weight of favourable", 1.5),
        ("records", 3),
    ]


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (None, None, "No limit is set."),
        (0.8, None, "Fair from 0.8 up."),
        (None, 1.25, "Fair up to 1.25."),
        (-0.1, 0.1, "Fair from -0.1 to 0.1."),
    ],
)
def test_limits_are_said_in_words(lower: float | None, upper: float | None, expected: str) -> None:
    assert limits_in_words(lower, upper) == expected


def test_every_verdict_data_set_and_documented_interval_has_words() -> None:
    documented = UNCERTAINTY.read_text(encoding="utf-8").split("\n## ")[1]

    assert VERDICTS.keys() == set(Verdict)
    assert DATA_SETS.keys() == set(DataSet)
    assert all(f"`{method}`" in documented for method in INTERVALS)
    assert explained(replace(IMPACT, verdict=None)).verdict == NO_VERDICT
