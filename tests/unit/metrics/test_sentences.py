from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from app.domain.check import Details
from app.statistics.intervals.verdicts import Measured, Value
from app.statistics.sentences.figure_sentences import write_sentence
from tests.builders.page_words import says
from tests.builders.results import found
from tests.unit.metrics.worked import worked

TOLD = [
    ("favourable_rate", "group", "women", "Of every 100 records of women, 35 were predicted favourable (95 %: 26 to 45)."),
    (
        "disparate_impact",
        "group",
        "women",
        "Of every 100 records of women, 35 were predicted favourable; of every 100 of men, 56: a ratio of 0.625"  # noqa: ISC004 - one sentence
        " (95 %: 0.454 to 0.860).",
    ),
    (
        "statistical_parity_difference",
        "group",
        "women",
        "Of every 100 records of women, 35.0 were predicted favourable; of every 100 of men, 56.0: 21.0"  # noqa: ISC004 - one sentence
        " percentage points less (95 %: 33.7 percentage points less to 7.2 percentage points less).",
    ),
    (
        "difference_in_positive_proportions_in_predicted_labels",
        "group",
        "women",
        "Of every 100 records of women, 35.0 were predicted favourable; of every 100 of men, 56.0: 21.0"  # noqa: ISC004 - one sentence
        " percentage points less (95 %: 33.7 percentage points less to 7.2 percentage points less).",
    ),
    ("true_positive_count", "overall", None, "70 records rightly predicted favourable (95 %: 57 to 84)."),
    ("accuracy", "overall", None, "Of every 100 labelled records, 75 were predicted right (95 %: 69 to 80)."),
]


def told(result: Measured) -> str:
    """The sentence of a result that is a number."""
    assert isinstance(result.number, Value)
    ends: dict[str, Any] = {"lower": result.number.lower, "upper": result.number.upper}
    return write_sentence(result.metric, value=result.number.value, **ends, details=result.details)


@pytest.mark.parametrize(("metric", "scope", "group", "expected"), TOLD)
def test_a_measurement_is_told_in_plain_words(metric: str, scope: str, group: str | None, expected: str) -> None:
    assert told(found(worked(), metric, scope, group)) == expected


def test_a_difference_agrees_with_both_rates_as_they_are_shown(snapshot: SnapshotAssertion) -> None:
    details = Details(
        monitored="women", reference="men", monitored_counts={"n": 64, "favourable": 23}, reference_counts={"n": 716, "favourable": 577}
    )

    said = write_sentence("statistical_parity_difference", value=23 / 64 - 577 / 716, lower=-0.55, upper=-0.33, details=details)

    # With one digit, 35.9 less 80.6 would be 44.6.
    assert says(said, "100", "women", "35.94", "100", "men", "80.59", "44.65", "95", "55.00", "33.00")
    assert said == snapshot


def test_a_figure_made_of_several_rates_is_told_by_its_own_row(snapshot: SnapshotAssertion) -> None:
    result = found(worked(), "average_odds_difference", "group", "women")

    assert says(text := told(result), "women", "12.0", "men", "−0.120")
    assert text == snapshot


def test_what_cannot_be_computed_says_why(snapshot: SnapshotAssertion) -> None:
    assert write_sentence("roc_auc", value=None, reason="no probability is known") == snapshot


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.00004, "Of every 100 records, fewer than 0.1 were predicted favourable (95 %: 0.0 to fewer than 0.1)."),
        (0.9996, "Of every 100 records, more than 99.9 were predicted favourable (95 %: 0.0 to more than 99.9)."),
        (0.5, "Of every 100 records, 50 were predicted favourable (95 %: 0 to 50)."),
    ],
)
def test_a_share_is_never_rounded_onto_none_or_all(value: float, expected: str) -> None:
    assert write_sentence("favourable_rate", value=value, lower=0.0, upper=value) == expected


def test_numbers_have_no_exponents_and_are_not_rounded_onto_one(snapshot: SnapshotAssertion) -> None:
    small = write_sentence("between_all_groups_theil_index", value=0.0000188, lower=0.0, upper=0.00007)
    large = write_sentence("disparate_impact", value=0.99996, lower=0.99, upper=None)

    assert says(small, "0.0000188", "95", "0.0000000", "0.0000700")
    assert small == snapshot
    assert says(large, "0.9999600", "95", "0.9900000")
    assert large == snapshot


def test_amplification_says_which_way(snapshot: SnapshotAssertion) -> None:
    wider, narrower = (write_sentence("differential_fairness_bias_amplification", value=sign * 0.5, lower=-1, upper=1) for sign in (1, -1))

    assert says(wider, "widens", "1.65")
    assert wider == snapshot
    assert says(narrower, "narrows", "1.65")
    assert narrower == snapshot


def test_data_with_copies_is_told_apart(snapshot: SnapshotAssertion) -> None:
    told_of = write_sentence(
        "favourable_rate", value=0.5, lower=0.4, upper=0.6, details=Details(subject="women", counts={"original_n": 10, "n": 20})
    )

    assert says(told_of, "100", "women", "50", "95", "40", "60")
    assert told_of == snapshot


def test_a_caution_is_part_of_the_sentence(snapshot: SnapshotAssertion) -> None:
    told_of = write_sentence("favourable_rate", value=0.5, lower=0.4, upper=0.6, details=Details(caution="rests on 2 records"))

    assert says(told_of, "95", "40", "60", "2")
    assert told_of == snapshot
