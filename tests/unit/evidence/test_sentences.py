"""The words of a state, and of a false-alarm budget."""

from datetime import UTC, datetime, timedelta

import pytest

from app.statistics.e_values.state_words import State, say_budget, say_start, say_state

SINCE = datetime(2026, 11, 19, 7, tzinfo=UTC)
YEAR = 8760.0


@pytest.mark.parametrize(
    ("state", "since", "more_hours", "reason", "words"),
    [
        (State.UNFAIR, SINCE, None, None, "unfair since 2026-11-19 07:00 (false-alarm budget one a year)"),
        (State.SHOWN_FAIR, SINCE, None, None, "shown fair since 2026-11-19 07:00"),
        (State.UNDECIDED, None, 1, None, "undecided (needs about 1 more hour at this traffic)"),
        (State.UNDECIDED, None, 1200, None, "undecided (needs about 1,200 more hours at this traffic)"),
        (State.UNDECIDED, None, None, None, "undecided (the hours that it still needs cannot be estimated)"),
        (State.UNDECIDED, None, 7, "no label has arrived", "undecided (no label has arrived)"),
    ],
)
def test_every_state_has_its_words(state: State, since: datetime | None, more_hours: int | None, reason: str | None, words: str) -> None:
    start = None if since is None else say_start(since, None, None)
    assert say_state(state, since=start, more_hours=more_hours, budget_hours=YEAR, reason=reason) == words


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (0, 0, "2026-11-19 07:00"),
        (4, 20, "2026-11-19 07:00 (between 2026-11-19 03:00 and 2026-11-20 03:00)"),
        (4, 21, "about 2026-11-19 (between 2026-11-19 and 2026-11-20)"),
    ],
)
def test_a_start_whose_range_is_wider_than_a_day_names_no_hour(before: int, after: int, words: str) -> None:
    assert say_start(SINCE, SINCE - timedelta(hours=before), SINCE + timedelta(hours=after)) == words


@pytest.mark.parametrize(
    ("hours", "words"),
    [(8760, "one a year"), (87_600, "one in 10 years"), (200, "one in 200 hours"), (10_000, "one in 10,000 hours")],
)
def test_the_budget_reads_as_one_false_alarm_in_a_time(hours: float, words: str) -> None:
    assert say_budget(hours) == words
