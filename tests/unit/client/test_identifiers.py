"""Ids of records: their order, and the samples that they choose."""

import uuid

from evenhand_client.identifiers import is_in_sample, new_id


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    ids = [f"application-{number}" for number in range(2000)]

    small, large = ({one for one in ids if is_in_sample(one, rate)} for rate in (0.1, 0.5))
    assert small < large
    assert 120 <= len(small) <= 280


def test_ids_are_in_the_order_of_their_times() -> None:
    ids = [new_id(1_000_000 * millisecond) for millisecond in range(1_700_000_000_000, 1_700_000_000_100)]

    assert ids == sorted(ids)
    assert {uuid.UUID(one).variant for one in ids} == {uuid.RFC_4122}
