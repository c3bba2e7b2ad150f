"""The gateway without its database, and killed: callers get answers, and what was answered is stored once."""

import pytest

from tests.builders.gateway_kills import kill_under_load, kill_with_full_disk, killed_gateway, stop_database_under_load

KILLS = 2


@pytest.mark.nightly
def test_callers_get_answers_without_the_database_and_the_records_survive_a_kill() -> None:
    with killed_gateway() as scene, scene.client() as client:
        with scene.service() as process:
            while not scene.call(client, "before"):
                pass
            scene.server.stop()
            for n in range(30):
                assert scene.call(client, f"without-{n}"), scene.statuses
            process.kill()
            process.wait()
        scene.server.start()
        with scene.service():
            scene.await_all_stored()
        assert len(scene.answered) == 31


@pytest.mark.nightly
def test_nothing_answered_is_lost_or_doubled_when_the_service_is_killed_under_load() -> None:
    assert kill_under_load(KILLS, callers=8, calls=30) >= KILLS * 30


@pytest.mark.nightly
def test_callers_are_answered_while_postgres_stops_and_each_record_is_stored_once_or_counted() -> None:
    assert stop_database_under_load(1, callers=4, calls=20) >= 60


@pytest.mark.nightly
def test_every_call_that_a_full_disk_did_not_keep_is_counted_when_the_service_is_killed() -> None:
    calls = kill_with_full_disk(6, callers=8, calls=60)

    assert calls.answered >= 6 * 60
    assert 300 <= calls.not_stored == calls.counted
