"""Gaps in scores as rows of the catalogue: by hand, next to numpy, from merged tables, and on simulated worlds whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from app.statistics.formulas.score_distances import EQUALIZED_ODDS, GAPS, QUANTILES
from app.statistics.group_labels import FloatArray, build_groups
from app.statistics.intervals.verdicts import Measured, Undefined, Value
from app.statistics.measures.measure import measure_as_logged
from app.statistics.selections.lending_sheet import compute_quantile_ratios, measure_score_gap
from app.statistics.sentences.figure_sentences import write_sentence
from app.statistics.tables.count_table import GroupCounts
from tests.builders.page_words import says
from tests.builders.results import found, reason, value

SEXES = build_groups([("female", "monitored"), ("male", "reference")])
OF_PREDICTIONS = [key for key in GAPS if key != EQUALIZED_ODDS]
SMD, LOW, HALF, TOP = "standardized_mean_difference", *QUANTILES


def table(women: FloatArray, men: FloatArray, others: FloatArray | None = None, weights: FloatArray | None = None) -> GroupCounts:
    parts = [np.asarray(part, np.float64) for part in (women, men, [] if others is None else others)]
    codes = np.repeat([0, 1, -1], [part.size for part in parts])
    scores = np.concatenate(parts)
    return GroupCounts.from_records(SEXES, codes, outcome=(scores > 0.5).astype(int), weights=weights, scores=scores)


def measured(counts: GroupCounts) -> list[Measured]:
    return measure_as_logged(counts, metrics=list(OF_PREDICTIONS), draws=20)


def test_figures_by_hand() -> None:
    """Scores in tenths: women 1 2 3 4, men 3 4 5 6.

    The means are 2.5 and 4.5. Everybody's mean is 3.5 and the sum of squares around it 2 · (6.25 + 2.25 + 0.25) + 2 · 0.25 = 18, so the
    variance is 2.25 and the deviation 1.5: the women are 4/3 of it below. A fifth of 8 people is 1.6, so the second lowest score, 2, is
    the first cut: 2 of 4 women and 4 of 4 men are above it. Half is 4 people: 3, above which are 1 and 3. Four fifths are 6.4: 5, above
    which are no woman and one man.
    """
    results = measured(table(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.3, 0.4, 0.5, 0.6])))

    assert value(results, SMD, "group", "female").value == pytest.approx(-4 / 3, abs=1e-9)
    assert [value(results, key, "group", "female").value for key in (LOW, HALF, TOP)] == pytest.approx([0.5, 1 / 3, 0.0])
    told = found(results, SMD, "group", "female").details
    assert told.counts["standard_deviation"] == pytest.approx(0.15)
    assert (told.monitored_counts["mean_score"], told.reference_counts["mean_score"]) == pytest.approx((0.25, 0.45))
    assert [found(results, key, "group", "female").details.counts["cut"] for key in (LOW, HALF, TOP)] == pytest.approx([0.2, 0.3, 0.5])


def test_sentences_say_who_has_the_lower_scores(snapshot: SnapshotAssertion) -> None:
    results = measured(table(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.3, 0.4, 0.5, 0.6])))
    told = {}
    for key in (SMD, HALF):
        one = found(results, key, "group", "female")
        assert isinstance(one.number, Value)
        told[key] = write_sentence(key, value=one.number.value, lower=one.number.lower, upper=one.number.upper, details=one.details)

    assert says(told[SMD], "1.33", "lower", "female", "male")
    assert told[SMD] == snapshot
    assert says(told[HALF], "female", "above", "0.333", "male")
    assert told[HALF] == snapshot


@pytest.mark.nightly
def test_random_scores_have_the_figures_of_numpy_and_of_the_sheet() -> None:
    rng = np.random.default_rng(21)
    for _ in range(300):
        women, men = rng.beta(2, 3, int(rng.integers(2, 60))), rng.beta(3, 2, int(rng.integers(2, 60)))
        others = rng.beta(2, 2, int(rng.integers(0, 9)))
        if rng.random() < 0.5:
            women, men, others = (part.round(1) for part in (women, men, others))
        everybody = np.concatenate([women, men, others])
        if everybody.min() == everybody.max():
            continue
        results = measured(table(women, men, others))
        gap = measure_score_gap(women, men, everybody, name="women", reference_name="men")
        expected = (women.mean() - men.mean()) / everybody.std()
        assert value(results, SMD, "group", "female").value == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert gap.smd == pytest.approx(expected, rel=1e-9, abs=1e-9)
        for key, (one,) in ((key, compute_quantile_ratios(women, men, everybody, (share,))) for key, share in QUANTILES.items()):
            cut = np.quantile(everybody, QUANTILES[key], method="inverted_cdf")
            if not (men > cut).any():
                assert one.ratio is None
                assert "no record of male has a score above" in reason(results, key, "group", "female")
                continue
            assert value(results, key, "group", "female").value == pytest.approx((women > cut).mean() / (men > cut).mean(), rel=1e-9)
            assert value(results, key, "group", "female").value == pytest.approx(one.ratio, rel=1e-9)


def test_what_does_not_exist_has_a_reason(snapshot: SnapshotAssertion) -> None:
    equal = measured(table(np.full(3, 0.7), np.full(4, 0.7)))
    assert "equal" in reason(equal, SMD, "group", "female")
    assert says(text := reason(equal, HALF, "group", "female"), "male", "above", "0.7")
    assert text == snapshot
    nobody = measured(table(np.zeros(0), np.array([0.1, 0.9])))
    texts = {reason(nobody, key, "group", "female") for key in OF_PREDICTIONS}
    assert says(min(texts), "female")
    assert texts == snapshot
    unscored = measured(replace(table(np.array([0.1]), np.array([0.9])), scores=None))
    assert all(isinstance(one.number, Undefined) for one in unscored)
    usual = measure_as_logged(replace(table(np.array([0.1]), np.array([0.9])), scores=None), draws=20)
    assert not {figure.metric for figure in usual} & set(OF_PREDICTIONS)


def test_the_outcome_does_not_decide_whose_scores_count() -> None:
    scores = np.array([0.1, 0.6, 0.3, 0.9])
    tables = [GroupCounts.from_records(SEXES, [0, 0, 1, 1], outcome=outcomes, scores=scores) for outcomes in ([0, 1, 0, 1], [2, 2, 2, 2])]

    one, other = (value(measured(each), SMD, "group", "female") for each in tables)
    assert one == other


def test_merged_and_stored_tables_have_the_figures_of_all_records() -> None:
    rng = np.random.default_rng(22)
    women, men = rng.beta(2, 3, 90).round(3), rng.beta(3, 2, 110).round(3)
    whole = measured(table(women, men))
    hours = [table(women[:40], men[:70]), table(women[40:], men[70:])]
    merged = GroupCounts.merge([GroupCounts.from_json(hour.to_json()) for hour in hours])
    assert [figure.number for figure in measured(merged)] == [one.number for one in whole]

    without = GroupCounts.merge([hours[0], replace(hours[1], scores=None)])
    assert found(measured(without), SMD, "group", "female").details.unscored == 90


def test_more_scores_than_bins_have_a_ratio_within_the_error_that_is_said_or_none() -> None:
    """Ten thousand different scores; in the second world nearly all lie in a range of one bin."""
    rng = np.random.default_rng(23)
    women, men = rng.beta(2, 3, 5_000), rng.beta(3, 2, 5_000)
    results = measured(table(women, men))
    everybody = np.concatenate([women, men])
    assert value(results, SMD, "group", "female").value == pytest.approx((women.mean() - men.mean()) / everybody.std(), rel=1e-7)
    for key, share in QUANTILES.items():
        cut, told = np.quantile(everybody, share, method="inverted_cdf"), found(results, key, "group", "female")
        exact, error = (women > cut).mean() / (men > cut).mean(), told.details.counts["binning_error"]
        assert isinstance(told.number, Value)
        assert error is not None
        assert 0 <= error < 0.02
        assert told.number.value == pytest.approx(exact, rel=error + 1e-12)
    close = [np.concatenate([2.0 ** -rng.uniform(1, 900, 3_000), 0.3 + side + rng.random(3_000) * 1e-6]) for side in (0, 5e-7)]
    assert "too close together" in reason(measured(table(*close)), HALF, "group", "female")


@pytest.mark.nightly
@pytest.mark.parametrize(("women", "men", "sizes"), [((2, 3), (3, 2), (60, 60)), ((1, 30), (2, 30), (60, 240)), ((2, 2), (2, 2), (30, 90))])
def test_intervals_hold_the_truth(women: tuple[int, int], men: tuple[int, int], sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(24)
    one, other = (rng.beta(*of, 400_000 * size // sum(sizes)) for of, size in zip((women, men), sizes, strict=True))
    everybody, truth = np.concatenate([one, other]), {}
    truth[SMD] = (one.mean() - other.mean()) / everybody.std()
    for key, share in QUANTILES.items():
        cut = np.quantile(everybody, share, method="inverted_cdf")
        truth[key] = (one > cut).mean() / (other > cut).mean()
    held = dict.fromkeys(OF_PREDICTIONS, 0)
    for _ in range(200):
        results = measured(table(rng.beta(*women, sizes[0]), rng.beta(*men, sizes[1])))
        for key, expected in truth.items():
            number = value(results, key, "group", "female")
            ends = (number.lower, number.upper)
            held[key] += ends[0] is not None and ends[0] <= expected <= (np.inf if ends[1] is None else ends[1])

    assert min(held.values()) >= 180


def test_scores_of_the_labelled_alone_would_hide_the_gap() -> None:
    """Loans are repaid, or not, only where they were granted, at scores above one half. So the row is of all scores."""
    rng = np.random.default_rng(25)
    women, men = rng.beta(2, 3, 20_000), rng.beta(3, 2, 20_000)
    of_all = value(measured(table(women, men)), SMD, "group", "female").value
    of_granted = value(measured(table(women[women > 0.5], men[men > 0.5])), SMD, "group", "female").value

    assert of_all == pytest.approx(-0.9, abs=0.03)
    assert of_granted == pytest.approx(-0.58, abs=0.03)


def test_unequal_weights_count_as_records() -> None:
    women, men = np.array([0.1, 0.5, 0.7]), np.array([0.4, 0.9])
    often = np.array([3, 1, 2, 4, 2])
    repeated = measured(table(np.repeat(women, often[:3]), np.repeat(men, often[3:])))
    weighed = measured(table(women, men, weights=often.astype(float)))

    for key in OF_PREDICTIONS:
        assert value(weighed, key, "group", "female").value == pytest.approx(value(repeated, key, "group", "female").value)
