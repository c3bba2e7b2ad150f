"""The life of a comparison in worlds whose truth is known. `scripts/trial evidence` runs the whole table."""

from itertools import product

import numpy as np
import pytest

from app.statistics.e_values.betting import measure_unsteadiness, weigh_claims
from app.statistics.e_values.nulls import Detector, Hours, Limit, Scale, SideHours, UnfairSide
from app.statistics.e_values.onset import find_onset
from tests.builders.evidence_hours import ABOVE, BELOW, follow, follow_interval, follow_months, simulate
from tests.builders.hours import count_hours


@pytest.mark.parametrize("ratio", [0.85, *(pytest.param(ratio, marks=pytest.mark.thorough) for ratio in (0.9, 1.0))])
def test_a_model_inside_the_limit_raises_no_alarm(ratio: float) -> None:
    found = [follow_months(simulate([ratio] * 1_000, seed)).episodes for seed in range(20)]

    assert found == [()] * 20


@pytest.mark.parametrize(("to", "delay"), [(0.7, 28), pytest.param(0.6, 8, marks=pytest.mark.thorough), (0.5, 5)])
def test_a_fall_is_found_with_its_hour_and_so_is_the_return(to: float, delay: int) -> None:
    delays, errors, returns = [], [], []
    for seed in range(20):
        episode = follow_months(simulate([0.95] * 300 + [to] * 100 + [0.95] * 100, seed)).episodes[0]
        delays.append(episode.alarm - 300 + 1)
        errors.append(abs(episode.since.hour - 300))
        assert episode.resolved is not None
        assert episode.fair_since is not None
        returns.append(episode.resolved - 400 + 1)

    assert np.median(delays) <= delay
    assert np.median(errors) <= 1
    assert np.median(returns) <= 18


def test_a_rise_above_the_upper_limit_is_found_too() -> None:
    episode = follow_months(simulate([1.0] * 200 + [1.6] * 50, seed=1), ABOVE).episodes[0]

    assert 200 <= episode.alarm <= 212
    assert abs(episode.since.hour - 200) <= 2


def test_a_difference_is_found_and_a_group_that_gets_more_is_not_below() -> None:
    limit = Limit(Scale.DIFFERENCE, UnfairSide.BELOW, -0.1, 0.1)
    other = Limit(Scale.DIFFERENCE, UnfairSide.ABOVE, 0.1, -0.1)
    hours = simulate([0.95] * 200 + [0.6] * 50, seed=4)

    assert abs(follow_months(hours, limit).episodes[0].since.hour - 200) <= 2
    assert follow_months(hours, other).episodes == ()
    assert follow_months(hours, other).shown_since is not None


def test_no_records_say_nothing_even_after_many_hours() -> None:
    nothing = SideHours(np.zeros(10_000), np.zeros(10_000))
    followed = follow_months(Hours(nothing, nothing))

    assert followed.episodes == ()
    assert followed.shown_since is None
    assert followed.log_evidence.max() == 0


def test_hours_that_say_nothing_do_not_alarm_by_clockwork() -> None:
    detector = Detector(1)
    for _ in range(20_000):
        detector.add([0.0])  # E = 1

    assert detector.sums[0] > np.log(8760)
    assert not detector.has_alarm(np.log(8760))


def test_a_skipped_hour_changes_nothing() -> None:
    detector = Detector(2)
    detector.add([1.0, float("nan")])
    before = (list(detector.sums), list(detector.bests))
    detector.add([float("nan")] * 2)

    assert (detector.sums, detector.bests) == before


def test_more_comparisons_need_more_evidence() -> None:
    hours = simulate([0.95] * 200 + [0.7] * 200, seed=5)
    alone, among_many = (follow_months(hours, comparisons=count).episodes[0].alarm for count in (1, 100))

    assert alone < among_many


def test_following_the_first_hours_alone_gives_what_all_hours_give_for_them() -> None:
    hours = simulate([0.95] * 150 + [0.6] * 100, seed=6)
    whole, part = follow_months(hours), follow_months(hours.between(0, 200))

    assert np.array_equal(whole.log_evidence[:200], part.log_evidence)
    assert whole.shown_fair[:200] == part.shown_fair


def test_a_fair_model_is_shown_fair_and_stays_so_until_the_end_of_the_next_month() -> None:
    hours = simulate([1.0] * 100, seed=7)
    silent = SideHours(np.zeros(2_400), np.zeros(2_400))
    longer = Hours(
        *(
            SideHours(*(np.concatenate(parts) for parts in ((side.favourable, silent.favourable), (side.records, silent.records))))
            for side in (hours.monitored, hours.reference)
        )
    )
    shown = follow_months(longer).shown_fair

    assert shown[99]
    assert shown[2 * 720 - 1]
    assert not shown[2 * 720]


@pytest.mark.nightly
def test_a_model_on_the_limit_is_rarely_shown_fair() -> None:
    shown = [any(follow_months(simulate([0.8] * 720, seed)).shown_fair) for seed in range(1_000, 1_100)]

    assert sum(shown) <= 5


def test_hours_that_vary_more_than_chance_do_not_alarm() -> None:
    rng = np.random.default_rng(8)
    found = []
    for _ in range(10):
        monitored = rng.binomial(300, 0.3, 1_000)
        favourable = [
            rng.binomial(count, 1 / (1 + np.exp(-(np.log(rate / (1 - rate)) + rng.normal(0, 0.2, 1_000)))))
            for count, rate in ((monitored, 0.425), (300 - monitored, 0.5))
        ]
        sides = zip(favourable, (monitored, 300 - monitored), strict=True)
        hours = Hours(*(SideHours(part.astype(float), total.astype(float)) for part, total in sides))
        found.append(bool(follow_months(hours).episodes))
        assert measure_unsteadiness(hours)[-1] > 1.3

    assert sum(found) <= 1


@pytest.mark.nightly
def test_the_interval_holds_at_every_hour_and_narrows() -> None:
    missed, widths = 0, []
    for seed in range(30):
        lower, upper = follow_interval(simulate([0.85] * 300, seed), Scale.RATIO)
        missed += bool(np.any(lower > 0.85) or np.any(upper < 0.85))  # NaN is an open end
        widths.append((upper[23] - lower[23], upper[-1] - lower[-1]))

    assert missed <= 3
    assert np.median([first for first, _ in widths]) <= 0.2
    assert np.median([last for _, last in widths]) <= 0.07


def test_the_interval_of_a_difference_holds_too() -> None:
    lower, upper = follow_interval(simulate([0.8] * 200, seed=9), Scale.DIFFERENCE)

    assert lower[-1] < -0.1 < upper[-1]
    assert upper[-1] - lower[-1] < 0.08


def test_an_interval_without_records_is_open() -> None:
    lower, upper = follow_interval(count_hours([(0, 0)] * 3, [(0, 0)] * 3), Scale.RATIO)

    assert np.isnan([lower, upper]).all()


def test_evidence_grows_only_where_the_figure_is_outside() -> None:
    inside, outside = (np.nansum(weigh_claims(simulate([ratio] * 100, 3), BELOW)[0], axis=0).max() for ratio in (0.95, 0.6))

    assert inside < 0 < outside


def test_months_are_one_for_each_hour() -> None:
    with pytest.raises(IndexError):
        follow(simulate([1.0] * 10, seed=1), BELOW, comparisons=1, months=[0])


@pytest.mark.nightly
def test_the_onset_of_small_and_one_sided_counts_is_found() -> None:
    """Rates of 0 and 1 meet the ends of the line."""
    tables = [(s, n) for n in range(4) for s in range(n + 1)]
    for monitored, reference in product(tables, tables):
        for limit in (BELOW, ABOVE, Limit(Scale.DIFFERENCE, UnfairSide.BELOW, -0.1)):
            found = find_onset(count_hours([monitored] * 3, [reference] * 3), limit, start=0, end=3, leaves=True)
            assert 0 <= found.earliest <= found.hour <= found.latest <= 2


def test_the_onset_is_an_hour_with_records_of_both() -> None:
    # The fall lies in a gap: each hour of it would explain the counts as well.
    monitored = [(50, 100), (48, 100), (0, 0), (0, 5), (0, 0), (20, 100), (22, 100)]
    reference = [(50, 100), (50, 100), (0, 0), (0, 0), (3, 6), (50, 100), (50, 100)]

    found = find_onset(count_hours(monitored, reference), BELOW, start=0, end=7, leaves=True)

    assert (found.hour, found.earliest, found.latest) == (5, 5, 5)
