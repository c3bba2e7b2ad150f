"""A closed alarm, and an alarm without new evidence."""

import math

import numpy as np

from app.statistics.e_values.follow import ComparisonFamily, FollowedComparison, Follower, WeighedHour
from app.statistics.e_values.nulls import is_quiet
from app.statistics.e_values.onset import Onset


def hour(number: int, log_e: float, *, closed: int | None = None) -> WeighedHour:
    """An hour in which the only alternative on either side gains so much for unfairness, and loses it against it."""
    return WeighedHour(hour=number, month=0, unfair=[log_e], fair=[-log_e], closed=closed)


def find(start: int, _end: int, _leaves: bool) -> Onset:  # noqa: FBT001 - the form of FindOnset
    return Onset(start, start, start)


def add(follower: Follower, block: WeighedHour) -> None:
    """Adds an hour to the only comparison; the threshold is 100."""
    comparison = FollowedComparison(follower, find)
    ComparisonFamily(math.log(100)).add(block.hour, [(comparison, block)], [comparison], 1)


def alarmed() -> Follower:
    """A follower with an alarm in its second hour."""
    follower = Follower.starting(0, 1, 1)
    for number in range(2):
        add(follower, hour(number, 3.0))
    assert follower.open_episode is not None
    return follower


def test_a_closed_alarm_is_over_and_the_evidence_begins_at_0() -> None:
    follower = alarmed()
    follower.close(2)

    assert follower.open_episode is None
    assert (follower.episodes[-1].closed, follower.episodes[-1].resolved) == (2, None)
    assert (follower.chapter, follower.log_evidence, follower.log_fairness) == (2, 0.0, 0.0)


def test_closing_it_again_or_with_the_next_hour_is_the_same() -> None:
    once, twice, with_hour = alarmed(), alarmed(), alarmed()
    once.close(2)
    twice.close(2)
    twice.close(2)
    add(once, hour(2, 1.0))
    add(twice, hour(2, 1.0))
    add(with_hour, hour(2, 1.0, closed=2))

    assert once == twice == with_hour


def test_an_alarm_after_a_closing_begins_after_it() -> None:
    follower = alarmed()
    follower.close(2)
    for number in range(2, 4):
        add(follower, hour(number, 3.0))

    assert [(episode.alarm, episode.since.hour, episode.is_open) for episode in follower.episodes] == [(1, 0, False), (3, 2, True)]


def test_hours_are_quiet_until_they_have_evidence_on_one_side() -> None:
    nothing, some = np.full((168, 2), np.nan), np.full((168, 2), math.log(21) / 168)

    assert is_quiet(nothing, nothing)
    assert is_quiet(some * 0.9, some * 0.9)
    assert not is_quiet(some, nothing)
    assert not is_quiet(nothing, some)
