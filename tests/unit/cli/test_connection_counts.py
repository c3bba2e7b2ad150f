"""Laws of the numbers of connections that API processes share."""

import pytest

from app.cli.connection_counts import SLACK, ConnectionCounts, make_counts_file
from app.cli.service import api_specs


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

        # The supervisor notes it when it finds it dead, and so does the next one when it begins.
        api_specs(2, 0, file.fileno(), environment={})[1].on_death()
        assert not first.has_more_than_another()
        killed.set(0)
        assert first.has_more_than_another()
        ConnectionCounts(file.fileno(), 1)
        assert not first.has_more_than_another()


@pytest.mark.parametrize(
    ("numbers", "leaving", "expected"),
    [
        ((2, 0), 0, False),
        ((3, 0), 0, True),
        ((3, 0), 1, False),
        ((64, 0), 27, True),
        ((64, 0), 28, False),
        ((37, 27), 0, True),
        ((36, 28), 0, False),
        ((0, 64), 0, False),
        ((64, 64, 0), 15, True),
        ((64, 64, 0), 16, False),  # the other one gives as many
        ((5, 5, 5, 5), 0, False),
        ((9,), 0, False),
    ],
)
def test_a_process_has_far_more_than_its_share(numbers: tuple[int, ...], leaving: int, *, expected: bool) -> None:
    with make_counts_file(len(numbers) + 1) as file:  # one has not begun, and is none to share with
        processes = [ConnectionCounts(file.fileno(), place) for place in range(len(numbers))]
        for process, number in zip(processes, numbers, strict=True):
            process.is_accepting = True
            process.set(number)

        assert processes[0].has_far_more_than_its_share(leaving=leaving) == expected
        processes[0].is_accepting = False  # it ends, and so do all its connections
        assert not processes[0].has_far_more_than_its_share(leaving=leaving)
