from typing import Any

import pytest

from app.metrics import Measured, Value
from app.metrics.sentences import sentence
from tests.unit.metrics.found import found
from tests.unit.metrics.worked import worked

TOLD = [
    ("favourable_rate", "group", "women", "Of 100 records of women 35 were predicted favourable (95 %: 26 to 45)."),
    (
        "disparate_impact",
        "group",
        "women",
        "Of 100 records of women 35 were predicted favourable, of 100 of men 56: a ratio of 0.625 (95 %: 0.454 to 0.860).",
    ),
    (
        "statistical_parity_difference",
        "group",
        "women",
        "Of 100 records of women 35 were predicted favourable, of 100 of men 56: 21.0 percentage points less"  # noqa: ISC004 - one sentence
        " (95 %: 33.7 percentage points less to 7.2 percentage points less).",
    ),
    (
        "difference_in_positive_proportions_in_predicted_labels",
        "group",
        "women",
        "Of 100 records of women 35 were predicted favourable, of 100 of men 56: 21.0 percentage points less"  # noqa: ISC004 - one sentence
        " (95 %: 33.7 percentage points less to 7.2 percentage points less).",
    ),
    ("true_positive_count", "overall", None, "70 records rightly predicted favourable (95 %: 57.5 to 83.7)."),
    ("accuracy", "overall", None, "Of 100 labelled records 75 were predicted right (95 %: 69 to 80)."),
]


def told(result: Measured) -> str:
    """The sentence of a result that is a number."""
    assert isinstance(result.number, Value)
    ends: dict[str, Any] = {"lower": result.number.lower, "upper": result.number.upper}
    return sentence(result.metric, value=result.number.value, **ends, details=result.details)


@pytest.mark.parametrize(("metric", "scope", "group", "expected"), TOLD)
def test_a_measurement_is_told_in_plain_words(metric: str, scope: str, group: str | None, expected: str) -> None:
    assert told(found(worked(), metric, scope, group)) == expected


def test_a_figure_made_of_several_rates_is_told_by_its_own_row() -> None:
    result = found(worked(), "average_odds_difference", "group", "women")

    assert told(result).startswith(
        "Of records with equal labels, women is favoured 12.0 percentage points less often than men, on average (value -0.120"
    )


def test_what_cannot_be_computed_says_why() -> None:
    assert sentence("roc_auc", value=None, reason="no probability is known") == "ROC AUC cannot be computed: no probability is known."
