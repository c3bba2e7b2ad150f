"""Single posts of one head after another, as programs send them: answered and stored as if each were the first."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.security.keys import create_key
from app.security.principals import Role
from app.store.database.engine import Database
from app.store.people.api_keys import ApiKeys
from app.telemetry import metrics
from tests.builders.batches import make_target
from tests.builders.queries import rows
from tests.progress import wait_until

PATH = "/v1/deployments/d/payload-records"
GOOD: dict[str, Any] = {"id": "r-0001", "features": {"x": 1}, "prediction": 1}

BODIES = {
    "good": {"records": [GOOD]},
    "the same again": {"records": [GOOD]},
    "the same id, other content": {"records": [{**GOOD, "features": {"x": 2}}]},
    "a wrong type": {"records": [{**GOOD, "features": {"x": "a"}}]},
    "an unknown column": {"records": [{**GOOD, "features": {"y": 1}}]},
    "two records": {"records": [{**GOOD, "id": "r-0002"}, {**GOOD, "id": "r-0003"}]},
    "no records": {"records": []},
    "a whole number as a float": {"records": [{**GOOD, "id": "r-0004", "probability": 1.0}]},
    "an implausible time": {"records": [{**GOOD, "id": "r-0005", "scored_at": "1999-01-01T00:00:00Z"}]},
    "a text with a colon": {"records": [{**GOOD, "id": "r:0006"}]},
    "a NUL": {"records": [{**GOOD, "id": "r\0 0007"}]},
    "a control character": {"records": [{**GOOD, "id": "r\n0007"}]},
    "a pair": {
        "request": {"fields": ["x"], "values": [[1]]},
        "response": {"fields": ["prediction"], "values": [[1]]},
        "scoring_id": "r-pair",
    },
}
TEXTS = {
    "not JSON": '{"records":[',
    "a member twice": '{"records":[{"id":"r-0008","id":"r-0009","features":{"x":1},"prediction":1}]}',
    "a number that vanishes": '{"records":[{"id":"r-0010","features":{"x":1},"prediction":1e-400}]}',
    "two bodies in one": '{"records":[{"features":{"x":1},"prediction":1}]},{"records":[{"features":{"x":1},"prediction":1}]}',
}


@pytest.fixture
def port(database: Database, tmp_path: Path) -> Iterator[int]:
    """One process of the service with the deployments `d` and `e`."""
    make_target(database)
    make_target(database, "e")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        descriptor = listener.fileno()
        environment = {**os.environ, "DATABASE_URL": database.url, "EVENHAND_DATA_DIR": str(tmp_path), "EVENHAND_LOG_LEVEL": "CRITICAL"}
        environment.pop(metrics.SHARED_FOLDER, None)
        command = [sys.executable, "-m", "app.cli.api_process", str(descriptor)]
        process = subprocess.Popen(command, env=environment, pass_fds=(descriptor,), cwd=Path(__file__).parents[3])
        try:
            yield listener.getsockname()[1]
        finally:
            process.terminate()
            process.wait()


@contextmanager
def _connected(port: int) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        yield connection
    finally:
        connection.close()


def _post(connection: http.client.HTTPConnection, key: str, text: str, path: str = PATH, **headers: str) -> tuple[int, dict[str, Any]]:
    connection.request("POST", path, text.encode(), {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    document = json.loads(answer.read())
    assert len(answer.getheader("x-request-id") or "") >= 1
    assert answer.getheader("date")
    document.pop("request_id", None)
    return answer.status, document


def _key(database: Database, role: Role = Role.INGEST, deployment_no: int | None = None) -> str:
    with database.transaction() as session:
        return create_key(session, role=role, name="e2e", deployment_no=deployment_no)


def _padded(text: str, size: int) -> str:
    return text + " " * (size - len(text))


def test_every_body_gets_the_answer_that_it_gets_in_the_ordinary_way(database: Database, port: int) -> None:
    key = _key(database)
    texts = {name: json.dumps(body) for name, body in BODIES.items()} | TEXTS
    size = max(map(len, texts.values()))
    with _connected(port) as connection:
        # The header is another head each time, so these are parsed.
        ordinary = {
            name: _post(
                connection, key, _padded(text, size).replace("r-", "o-").replace("r:", "o:"), **{"X-Request-Id": name.replace(" ", "-")}
            )
            for name, text in texts.items()
        }
        for _ in range(2):
            fresh = json.dumps({"records": [{"features": {"x": 1}, "prediction": 1}]})
            assert _post(connection, key, _padded(fresh, size))[0] == 200
        repeated = {name: _post(connection, key, _padded(text, size)) for name, text in texts.items()}

    assert json.loads(json.dumps(ordinary).replace("o-", "r-").replace("o:", "r:")) == json.loads(json.dumps(repeated))
    stored = {record_id for (record_id,) in rows(database, "SELECT record_id FROM payload_records")}
    assert {one.replace("o-", "r-").replace("o:", "r:") for one in stored if one.startswith("o")} == {
        one for one in stored if one[0] == "r"
    }
    assert rows(database, "SELECT sum(records)::int FROM arrivals") == [(len(stored),)]
    assert rows(database, "SELECT sum(records)::int FROM record_counts") == [(len(stored),)]


def test_many_connections_at_once_store_each_record_once_and_see_what_is_a_duplicate(database: Database, port: int) -> None:
    key, threads, posts = _key(database), 8, 60
    answers: list[dict[str, Any]] = []

    def send(number: int) -> None:
        with _connected(port) as connection:
            for n in range(posts):
                # Neighbours send the same ids at about the same time.
                status, receipt = _post(connection, key, json.dumps({"records": [{**GOOD, "id": f"{number // 2}-{n:04}"}]}))
                assert status == 200
                answers.append(receipt)

    running = [threading.Thread(target=send, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()

    assert len(answers) == threads * posts
    assert sum(one["accepted"] for one in answers) == sum(one["duplicate"] for one in answers) == threads * posts // 2
    assert rows(database, "SELECT count(*), count(DISTINCT record_id) FROM payload_records") == [(threads * posts // 2,) * 2]


@pytest.mark.nightly
def test_a_revoked_key_and_a_bound_key_are_refused_under_a_known_head(database: Database, port: int) -> None:
    with _connected(port) as connection:
        key = _key(database)
        text = json.dumps({"records": [{"features": {"x": 1}, "prediction": 1}]})
        for _ in range(3):
            assert _post(connection, key, text)[0] == 200
        with database.transaction() as session:
            ApiKeys(session).revoke(key.split("_")[1])
        wait_until(lambda: _post(connection, key, text)[0] == 401, "the key is refused")

        bound = _key(database, deployment_no=rows(database, "SELECT no FROM deployments WHERE id = 'e'")[0][0])
        assert _post(connection, bound, text)[0] == 404
        for _ in range(3):
            assert _post(connection, bound, text, PATH.replace("/d/", "/e/"))[0] == 200


@pytest.mark.nightly
def test_a_changed_deployment_is_noticed_under_a_known_head(database: Database, port: int) -> None:
    with _connected(port) as connection:
        key, admin = _key(database), _key(database, Role.ADMIN)
        text = json.dumps({"records": [{"features": {"x": 1}, "prediction": 1}]})
        for _ in range(3):
            assert _post(connection, key, text)[0] == 200
        change = json.dumps({"features": [{"name": "x", "type": "string"}]})
        headers = {"Authorization": f"Bearer {admin}", "Content-Type": "application/merge-patch+json"}
        connection.request("PATCH", "/v1/deployments/d", change, headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        assert _post(connection, key, text)[0] == 422
        connection.request("DELETE", "/v1/deployments/d", headers={"Authorization": f"Bearer {admin}"})
        connection.getresponse().read()
        assert _post(connection, key, text)[0] == 404
