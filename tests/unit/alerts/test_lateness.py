"""How long may nothing come before it is late."""

from datetime import UTC, datetime, timedelta

import pytest

from app.alerts.lateness import LabelShares, find_usual_gap, find_wait

START = datetime(2026, 3, 2, tzinfo=UTC)


def hours_with(gaps: list[int]) -> list[datetime]:
    """Hours with records, with these gaps between them."""
    hours = [START]
    for gap in gaps:
        hours.append(hours[-1] + timedelta(hours=gap))
    return hours


@pytest.mark.parametrize(
    ("gaps", "usual", "wait"),
    [
        ([], None, 72),
        ([1] * 400, 1, 2),
        ([1] * 399 + [100], 1, 2),
        ([1] * 100 + [60], 1, 72),
        (([1] * 9 + [15]) * 20, 15, 30),
        (([24] * 4 + [72]) * 4, 72, 144),
        ([720, 744], 744, 1488),
        ([1] * 8, 1, 72),
    ],
)
def test_the_wait_is_twice_the_usual_gap_which_one_outage_does_not_change(gaps: list[int], usual: int | None, wait: int) -> None:
    assert (find_usual_gap(hours_with(gaps)), find_wait(hours_with(gaps))) == (usual, wait)


@pytest.mark.parametrize(
    ("labelled", "usual", "is_late"),
    [(0, 184, True), (91, 184, True), (92, 184, False), (0, 19, False), (9, 20, True), (10, 20, False)],
)
def test_labels_are_late_where_fewer_than_half_of_the_usual_came_and_twenty_were_expected(
    labelled: int, usual: int, *, is_late: bool
) -> None:
    shares = LabelShares(
        delay=timedelta(days=5),
        records=200,
        labelled=labelled,
        oldest=START,
        usual_records=200,
        usual_labelled=usual,
        usual_until=START,
    )

    assert shares.is_late is is_late
