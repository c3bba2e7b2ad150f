"""What OpenScale published of one deployment, hour by hour: our values from its counts beside the figures it printed.

The counts are those of the counterfactual data (`distribution`) and of the payload alone (`payload_distribution`); fairness is in percent.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from app.statistics.group_labels import Role
from app.statistics.intervals.verdicts import Measured, Value, judge_number
from app.statistics.measures.measure import measure_as_logged
from app.statistics.measures.perturbed_data import measure_openscale
from app.statistics.tables.count_table import GroupCounts
from app.statistics.tables.record_kinds import CounterfactualCells
from tests.builders.count_tables import count_groups
from tests.contract.parity import DRAWS, EXACT, Number, golden_json, numbers, plain

FEATURES = ("Sex", "Age")
HOURS = 84
ROUNDED = 0.05 + EXACT
"""Half of the last digit of a fairness value, a ratio rounded to three places, in percent."""

GROUPS: list[tuple[str, Role]] = [("monitored", "monitored"), ("reference", "reference")]
Counts = dict[str, tuple[int, int]]
"""Unfavourable and favourable records of each group."""


@pytest.mark.parametrize("place", range(len(FEATURES)), ids=FEATURES)
def test_the_fairness_of_an_hours_payload_is_as_published(subtests: pytest.Subtests, place: int) -> None:
    for hour in range(HOURS):
        with subtests.test(hour=hour):
            published = _published("fairness", hour, place)
            counts = _counts(published["payload_distribution"])
            assert sum(map(sum, counts.values())) == published["number_of_records"]

            found = numbers(measure_as_logged(_table(counts), draws=DRAWS))
            assert _percent(found["disparate_impact", "group", "monitored"]) == pytest.approx(
                published["payload_fairness_value"], abs=EXACT
            )
            assert _percent(found["favourable_rate", "group", "monitored"]) == pytest.approx(
                published["payload_monitored_fav_percent"], abs=EXACT
            )
            assert _percent(found["favourable_rate", "reference", None]) == pytest.approx(
                published["payload_reference_fav_percent"], abs=EXACT
            )
            difference = published["payload_monitored_fav_percent"] - published["payload_reference_fav_percent"]
            assert _percent(found["statistical_parity_difference", "group", "monitored"]) == pytest.approx(difference, abs=EXACT)


@pytest.mark.parametrize("place", range(len(FEATURES)), ids=FEATURES)
def test_the_counterfactual_fairness_of_an_hour_is_as_published(subtests: pytest.Subtests, place: int) -> None:
    for hour in range(HOURS):
        with subtests.test(hour=hour):
            published = _published("fairness", hour, place)
            table = _counterfactual(_counts(published["payload_distribution"]), _completed(published))

            measured = measure_openscale(table, seed=0, draws=DRAWS)
            found = numbers(measured)
            assert _percent(found["favourable_rate", "group", "monitored"]) == pytest.approx(published["monitored_fav_percent"], abs=EXACT)
            assert _percent(found["perfect_equality", "attribute", None]) == pytest.approx(published["perfect_equality"], abs=EXACT)
            ratio = plain(found["openscale_fairness", "group", "monitored"])
            assert 100 * ratio == pytest.approx(published["fairness_value"], abs=ROUNDED)
            assert (ratio < published["threshold"]) == published["is_biased"]
            assert _lies_outside(measured, published["threshold"]) in {published["is_biased"], None}


@pytest.mark.parametrize("part", ["fairness", "debiased"])
@pytest.mark.parametrize("place", range(len(FEATURES)), ids=FEATURES)
def test_the_rates_printed_follow_from_the_counts_printed(subtests: pytest.Subtests, part: str, place: int) -> None:
    for hour in range(HOURS):
        with subtests.test(hour=hour):
            published = _published(part, hour, place)
            listed = numbers(measure_as_logged(_table(_counts(published["distribution"])), draws=DRAWS))
            whole = numbers(measure_as_logged(_table(_completed(published)), draws=DRAWS))

            assert _percent(listed["favourable_rate", "group", "monitored"]) == pytest.approx(published["monitored_fav_percent"], abs=EXACT)
            assert _percent(listed["favourable_rate", "reference", None]) == pytest.approx(published["reference_fav_percent"], abs=EXACT)
            assert _percent(whole["favourable_rate", "reference", None]) == pytest.approx(published["perfect_equality"], abs=EXACT)
            assert _percent(whole["disparate_impact", "group", "monitored"]) == pytest.approx(published["fairness_value"], abs=ROUNDED)
            acceptable = plain(whole["favourable_rate", "reference", None]) * published["threshold"]
            assert 100 * acceptable == pytest.approx(published["acceptable_fav_class_percent"], abs=5.1e-5)
            assert (plain(whole["favourable_rate", "group", "monitored"]) < acceptable) == published["is_biased"]


def test_every_hour_published_is_compared() -> None:
    samples = golden_json("A4_openscale_samples.json")

    for part in ("fairness", "debiased"):
        assert [tuple(published["feature"] for published in hour) for hour in samples[part]] == [FEATURES] * HOURS


def _published(part: str, hour: int, place: int) -> Any:  # noqa: ANN401 - a JSON value
    return golden_json("A4_openscale_samples.json")[part][hour][place]


def _counts(distribution: list[Mapping[str, Any]]) -> Counts:
    tally: Counter[tuple[str, bool]] = Counter()
    for entry in distribution:
        tally[entry["group"], entry["favourable"]] += entry["count"]
    return {group: (tally[group, False], tally[group, True]) for group, _ in GROUPS}


def _completed(published: Mapping[str, Any]) -> Counts:
    """The counts of the counterfactual data with the few records that some listings leave out: all of the reference, as its rate tells."""
    counts = _counts(published["distribution"])
    left_out = published["number_of_records"] + published["perturbed_records"] - sum(map(sum, counts.values()))
    assert (left_out == 0) == published["distribution_complete"]
    total = sum(counts["reference"]) + left_out
    favourable = round(published["perfect_equality"] / 100 * total)
    assert counts["reference"][1] <= favourable <= counts["reference"][1] + left_out
    return counts | {"reference": (total - favourable, favourable)}


def _table(counts: Counts) -> GroupCounts:
    return count_groups(GROUPS, [counts[group] for group, _ in GROUPS])


def _counterfactual(payload: Counts, counterfactual: Counts) -> CounterfactualCells:
    """Records with copies that add up to the counts.

    Which record has which copy is not published, and makes no difference to a rate. In some hours the counterfactual data hold one or
    two of the payload's records fewer than there are; then as many are records here as fit.
    """
    fitting = {group: np.minimum(payload[group], counterfactual[group]) for group, _ in GROUPS}
    codes, outcomes, favourable, classified = [], [], [], []
    for own, other in ((0, 1), (1, 0)):
        records, copied = fitting[GROUPS[own][0]], counterfactual[GROUPS[other][0]] - fitting[GROUPS[other][0]]
        size = int(records.sum())
        copies = np.full(size, copied.sum() // size) + (np.arange(size) < copied.sum() % size)
        columns = np.zeros((2, size, 2), np.int64)
        columns[0, :, other] = np.clip(copied[1] - (np.cumsum(copies) - copies), 0, copies)
        columns[1, :, other] = copies
        codes.append(np.full(size, own))
        outcomes.append(np.repeat([0, 1], records))
        favourable.append(columns[0])
        classified.append(columns[1])
    return CounterfactualCells.from_records(
        GROUPS,
        np.concatenate(codes),
        outcome=np.concatenate(outcomes),
        copies_favourable=np.concatenate(favourable),
        copies_classified=np.concatenate(classified),
    )


def _lies_outside(measured: list[Measured], threshold: float) -> bool | None:
    """Whether our verdict sees the fairness outside its limit; None where a group is too small for one."""
    (impact,) = [figure for figure in measured if (figure.metric, figure.scope) == ("openscale_fairness", "group")]
    judged = judge_number(impact.number, lower_limit=threshold, upper_limit=None, smallest_group=impact.smallest_group)
    return None if judged == "insufficient_data" else judged in {"suspected", "unfair"}


def _percent(number: Number) -> float:
    assert isinstance(number, Value), number
    return 100 * number.value
