import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.access.principals import Role
from tests.builders.bodies import deployment, monitor
from tests.service import RunningService

ADDRESS = "/v1/deployments/credit-risk"

HOSTILE = 'it\'s "q" $HOME `id` $(id) \\n %s {x} é漢🙂\u2028\u202e <b>&'
"""Quotes, expansions, escapes and characters that cannot be seen, of every language that a name is put into."""

HOSTILE_DEPLOYMENT = deployment(
    features=[{"name": HOSTILE, "type": "string"}, {"name": "JSON", "type": "number"}, {"name": "'''", "type": "boolean"}],
    meta=[{"name": f"meta {HOSTILE}", "type": "integer"}],
    outputs={"prediction": f"p {HOSTILE}", "probability": "\\", "label": "'"},
)
HOSTILE_MONITOR = monitor(
    favourable=[f"yes {HOSTILE}"],
    unfavourable=["no"],
    attributes=[{"feature": HOSTILE, "monitored": [f"v {HOSTILE}"]}, {"feature": "JSON", "monitored": [[0.5, 1.5]], "reference": [[2, 3]]}],
    intersections=[],
)


def snippets(service: RunningService) -> list[dict[str, Any]]:
    answer = httpx.get(f"{service.base_url}{ADDRESS}/logging-snippets", headers=service.client.headers)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["snippets"]
    return found


def is_asking(snippet: dict[str, Any]) -> bool:
    """Whether the code asks the model first."""
    return "answer = httpx.post(" in snippet["code"] and "evenhand_client" in snippet["code"]


def run_code(snippet: dict[str, Any], key: str, folder: Path) -> str:
    """What it prints, started as a person would."""
    command = [sys.executable, "-c"] if snippet["language"] == "python" else ["bash", "-euo", "pipefail", "-c"]
    environment = {**os.environ, "EVENHAND_KEY": key}
    ended = subprocess.run([*command, snippet["code"]], env=environment, cwd=folder, check=False, capture_output=True, text=True)
    assert ended.returncode == 0, f"{snippet['code']}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


@pytest.mark.parametrize(
    ("sent", "watched"),
    [
        (deployment(), monitor()),
        (deployment(), None),
        (deployment(outputs={"prediction": "prediction"}, meta=[]), None),
        (
            deployment(problem_type="regression", outputs={"prediction": "score"}),
            monitor(favourable=[[0.5, 1]], unfavourable=[[0, 0.4]]),
        ),
        (HOSTILE_DEPLOYMENT, HOSTILE_MONITOR),
    ],
    ids=["usual", "without monitor", "bare", "regression", "hostile names"],
)
def test_every_snippet_logs_its_record_as_it_stands(
    service: RunningService, tmp_path: Path, sent: dict[str, Any], watched: dict[str, Any] | None
) -> None:
    if shutil.which("curl") is None or shutil.which("bash") is None:
        pytest.skip("the snippets for the shell need curl and bash")
    service.client.post("/v1/deployments", json=sent).raise_for_status()
    if watched is not None:
        service.client.put(f"{ADDRESS}/fairness-monitor", json=watched).raise_for_status()
    key = service.key(Role.INGEST)
    found = snippets(service)
    client, *others = (snippet for snippet in found if not is_asking(snippet))
    assert "sent=1, duplicate=0, rejected=0" in run_code(client, key, tmp_path)
    receipts = [json.loads(run_code(snippet, key, tmp_path)) for snippet in others]
    with service.database.transaction() as session:
        connection = session.connection()
        payload = connection.exec_driver_sql("SELECT record_id, features, label, prediction FROM payload_records ORDER BY record_id").all()
        feedback = connection.exec_driver_sql("SELECT feedback_id, usable_at IS NOT NULL FROM feedback_records ORDER BY 1").all()

    assert (client["logs"], client["form"], client["language"]) == ("payload", "client", "python")
    assert [(snippet["logs"], snippet["form"], snippet["language"]) for snippet in others] == [
        ("payload", "records", "sh"),
        ("payload", "fields_values", "sh"),
        ("payload", "records", "python"),
        ("payload", "fields_values", "python"),
        ("feedback", "records", "sh"),
        ("feedback", "records", "python"),
    ]
    assert [(receipt["accepted"], receipt["rejected"], receipt["conflicts"]) for receipt in receipts] == [(1, 0, [])] * 6
    made = ["example-call-1", "example-client-1", "example-curl-1", "example-python-1", "example-python-call-1"]
    assert [row[0] for row in payload] == made
    assert len({json.dumps([*row][1:]) for row in payload}) == 1
    assert [tuple(row) for row in feedback] == [("example-curl-1", True), ("example-python-1", True)]
    if watched is HOSTILE_MONITOR:
        assert payload[0][1][0] == f"v {HOSTILE}"
        assert payload[0][2] == f"yes {HOSTILE}"


def test_the_code_holds_no_key_and_the_address_that_was_asked(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    answer = service.client.get(f"{ADDRESS}/logging-snippets")

    assert service.admin_key not in answer.text
    assert answer.json()["key_variable"] == "EVENHAND_KEY"
    for snippet in answer.json()["snippets"]:
        of_client = f"Evenhand({service.base_url!r}, os.environ['EVENHAND_KEY'], 'credit-risk')"
        assert f"{service.base_url}{ADDRESS}/" in snippet["code"] or of_client in snippet["code"]
    assert all("EVENHAND_KEY" in snippet["code"] for snippet in answer.json()["snippets"])


@pytest.mark.nightly
def test_a_host_that_is_no_host_does_not_become_a_command(service: RunningService, tmp_path: Path) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    host = "x';touch${IFS}made;'\"$(touch${IFS}made)\";open('made','w');'"
    answer = service.client.get(f"{ADDRESS}/logging-snippets", headers={"Host": host})
    unsafe = answer.json()["snippets"]
    # All at once: each waits seconds for a host that there is not.
    with ThreadPoolExecutor(len(unsafe)) as pool:
        list(pool.map(run_anyway, unsafe, repeat(tmp_path)))

    assert answer.status_code == 200
    assert list(tmp_path.glob("made*")) == []


def run_anyway(snippet: dict[str, Any], folder: Path) -> None:
    command = [sys.executable, "-c"] if snippet["language"] == "python" else ["bash", "-c"]
    environment = {**os.environ, "EVENHAND_KEY": "none"}
    ended = subprocess.run([*command, snippet["code"]], env=environment, cwd=folder, check=False, capture_output=True)
    # The client never makes a program fail; it says that nothing was sent.
    assert ended.returncode != 0 or b"Lost: 1" in ended.stderr


def test_readers_may_see_the_code_and_others_may_not(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    address = f"{ADDRESS}/logging-snippets"

    assert service.client.get(address, headers=service.as_(Role.READ)).status_code == 200
    assert service.client.get(address, headers=service.as_(Role.INGEST)).status_code == 403
    assert service.client.get("/v1/deployments/other/logging-snippets").status_code == 404
