"""Token buckets: a rate on average, a burst after a pause, and debts of large batches."""

from hypothesis import given, settings
from hypothesis import strategies as st

from app.access.keys.limit_keeper import TokenBucket
from app.access.keys.queries import BURST_SECONDS


def test_a_full_bucket_gives_a_burst_and_then_the_rate() -> None:
    bucket = TokenBucket(10, 0.0)
    taken = 0
    while bucket.find_wait_seconds(1, 0.0) == 0:
        bucket.take(1)
        taken += 1

    assert taken == 10 * BURST_SECONDS
    assert bucket.find_wait_seconds(1, 0.0) == 0.1
    assert bucket.find_wait_seconds(1, 0.1) == 0


def test_a_batch_larger_than_the_bucket_is_paid_for_afterwards() -> None:
    bucket = TokenBucket(100, 0.0)
    assert bucket.find_wait_seconds(0, 0.0) == 0
    bucket.take(1000)

    assert bucket.find_wait_seconds(0, 0.0) == 8.0
    assert bucket.find_wait_seconds(0, 8.0) == 0


@settings(max_examples=100)
@given(st.floats(0.1, 1000), st.lists(st.floats(0, 3), min_size=1, max_size=50))
def test_never_more_than_the_rate_and_one_burst_is_admitted(rate: float, pauses: list[float]) -> None:
    bucket, now, taken = TokenBucket(rate, 0.0), 0.0, 0
    for pause in pauses:
        now += pause
        while taken < 5000 and bucket.find_wait_seconds(1, now) == 0:
            bucket.take(1)
            taken += 1

    assert taken <= rate * now + max(rate * BURST_SECONDS, 1.0) + 1e-6


def test_a_clock_that_is_set_back_gives_nothing_away() -> None:
    bucket = TokenBucket(1, 100.0)
    bucket.take(2)
    bucket.find_wait_seconds(1, 50.0)

    assert bucket.find_wait_seconds(1, 50.5) == 0.5
