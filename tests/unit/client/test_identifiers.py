"""Ids of records: their order, and the samples that they choose."""

import os
import uuid
from concurrent.futures import ThreadPoolExecutor

from evenhand_client.identifiers import is_in_sample, new_id


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    ids = [f"application-{number}" for number in range(2000)]

    small, large = ({id_ for id_ in ids if is_in_sample(id_, rate)} for rate in (0.1, 0.5))
    assert small < large
    assert 120 <= len(small) <= 280


def test_ids_are_in_the_order_of_their_times() -> None:
    ids = [new_id(1_000_000 * millisecond) for millisecond in range(1_700_000_000_000, 1_700_000_000_100)]

    assert ids == sorted(ids)
    assert {uuid.UUID(id_).variant for id_ in ids} == {uuid.RFC_4122}


def test_ids_differ_over_threads_and_after_a_fork() -> None:
    with ThreadPoolExecutor(4) as pool:
        ids = [one for some in pool.map(lambda _: [new_id(0) for _ in range(10_000)], range(4)) for one in some]
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, new_id(0).encode())
        os._exit(0)
    os.waitpid(child, 0)
    ids += [new_id(0), os.read(reading, 36).decode()]

    assert len(set(ids)) == 40_002
    assert {uuid.UUID(id_).version for id_ in ids} == {7}
