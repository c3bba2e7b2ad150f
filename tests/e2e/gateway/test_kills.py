"""The gateway without its database, and killed: callers get answers, and what was answered is stored once."""

from tests.builders.gateway_kills import killed_gateway

KILLS = 3


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


def test_nothing_answered_is_lost_or_doubled_when_the_service_is_killed_under_load() -> None:
    with killed_gateway() as scene:
        with scene.load(8):
            for _ in range(KILLS):
                with scene.service() as process:
                    scene.await_more(60)
                    process.kill()
        with scene.service():
            scene.await_all_stored()
        assert scene.statuses <= {200, 503}
