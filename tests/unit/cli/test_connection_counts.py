"""Laws of the numbers of connections that API processes share."""

import pytest

from app.cli import connection_counts
from app.cli.connection_counts import MOVE_SECONDS, SLACK, ConnectionCounts, make_counts_file


def test_a_process_has_more_than_another_that_accepts() -> None:
    with make_counts_file(3) as file:
        first, second, third = (ConnectionCounts(file.fileno(), place) for place in range(3))
        for counts in (first, second, third):
            counts.is_accepting = True
        first.set(5)
        second.set(5)
        third.set(5 - SLACK)
        assert not any(counts.has_more_than_another() for counts in (first, second, third))

        third.set(4 - SLACK)
        assert [counts.has_more_than_another() for counts in (first, second, third)] == [True, True, False]


def test_nothing_is_left_to_a_process_that_has_not_begun_or_has_ended() -> None:
    with make_counts_file(2) as file:
        first, second = (ConnectionCounts(file.fileno(), place) for place in range(2))
        first.is_accepting = True
        first.set(100)
        assert not first.has_more_than_another()
        second.is_accepting = True
        assert first.has_more_than_another()
        second.is_accepting = False
        second.set(1)  # one of those that it still serves
        assert not first.has_more_than_another()


def test_a_process_that_accepts_again_has_the_connections_it_had() -> None:
    with make_counts_file(2) as file:
        first, second = (ConnectionCounts(file.fileno(), place) for place in range(2))
        first.is_accepting = second.is_accepting = True
        first.set(5)
        second.is_accepting = False
        second.set(5)
        second.is_accepting = True
        assert not first.has_more_than_another()


def test_the_number_of_a_process_that_died_is_not_that_of_the_next_in_its_place() -> None:
    with make_counts_file(2) as file:
        first, killed = (ConnectionCounts(file.fileno(), place) for place in range(2))
        first.is_accepting = killed.is_accepting = True
        first.set(3)
        killed.set(0)
        assert first.has_more_than_another()  # it leaves connections to it, for a moment each

        ConnectionCounts(file.fileno(), 1)
        assert not first.has_more_than_another()


@pytest.mark.parametrize(("own", "least", "moves"), [(3, 0, True), (2, 0, False), (64, 55, True), (64, 56, False), (0, 64, False)])
def test_a_connection_moves_to_a_process_that_has_far_fewer(own: int, least: int, *, moves: bool) -> None:
    with make_counts_file(3) as file:
        first, second, third = (ConnectionCounts(file.fileno(), place) for place in range(3))
        for counts, number in ((first, own), (second, own), (third, least)):
            counts.is_accepting = True
            counts.set(number)

        assert first.is_one_to_move() == moves


def test_connections_move_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(connection_counts, "monotonic_seconds", lambda: now)
    with make_counts_file(2) as file:
        first, second = (ConnectionCounts(file.fileno(), place) for place in range(2))
        first.is_accepting = second.is_accepting = True
        first.set(100)

        assert [first.is_one_to_move() for _ in range(3)] == [True, False, False]
        now += MOVE_SECONDS
        assert first.is_one_to_move()


def test_none_moves_without_another_process_that_accepts() -> None:
    with make_counts_file(2) as file, make_counts_file(1) as of_one:
        first, second = (ConnectionCounts(file.fileno(), place) for place in range(2))
        single = ConnectionCounts(of_one.fileno(), 0)
        for counts in (first, single):
            counts.is_accepting = True
            counts.set(100)
        assert not first.is_one_to_move()
        assert not single.is_one_to_move()

        second.is_accepting, first.is_accepting = True, False  # it ends, and so do all its connections
        assert not first.is_one_to_move()
