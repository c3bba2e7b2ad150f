import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from app.alerts.channels.webhook import sign_message
from app.database.engine import Database
from tests.builders.bodies import deployment
from tests.builders.notifying import notifying
from tests.builders.page_words import says
from tests.models.receiving import receiving
from tests.progress import wait_until
from tests.service import RunningService, running_service

PATH = "/v1/alert-channels/on-call"
WEBHOOK = {"name": "On-call", "kind": "webhook", "url": "https://alerts.example.com/evenhand"}
SLACK_URL = "https://hooks.slack.com/services/T0AAAAAAA/B0BBBBBBB/sEcReTsEcReT"
SLACK = {"name": "Risk", "kind": "slack", "url": SLACK_URL}
SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def ended(client: httpx.Client, location: str) -> dict[str, Any]:
    wait_until(lambda: client.get(location).json()["state"] in {"sent", "given_up"})
    found: dict[str, Any] = client.get(location).json()
    return found


def activities(database: Database) -> list[tuple[str, str, dict[str, Any]]]:
    with database.transaction() as session:
        found = session.execute(text("SELECT action, subject, details FROM activities WHERE action LIKE 'alert_channel.%' ORDER BY no"))
        return [(action, subject, details) for action, subject, details in found]


def test_a_channel_is_set_read_listed_and_deleted(service: RunningService) -> None:
    created = service.client.put(PATH, json=WEBHOOK)
    read = service.client.get(PATH)
    listed = service.client.get("/v1/alert-channels").json()
    deleted = service.client.delete(PATH)

    assert (created.status_code, read.status_code, deleted.status_code) == (201, 200, 204)
    assert created.json() == {**read.json(), "secret": created.json()["secret"], "open_alerts_not_sent": 0}
    assert read.json() | WEBHOOK == read.json()
    assert (read.json()["host"], read.json()["to"], read.json()["secret_set"]) == ("alerts.example.com", None, True)
    assert listed == {"channels": [read.json()], "next_cursor": None}
    assert service.client.get(PATH).status_code == 404
    assert service.client.delete(PATH).status_code == 404


def test_the_same_again_changes_nothing_and_shows_no_secret(service: RunningService) -> None:
    first = service.client.put(PATH, json=WEBHOOK)
    again = service.client.put(PATH, json=WEBHOOK)

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["secret"].startswith("whsec_")
    assert again.json() == {**first.json(), "secret": None}
    assert [action for action, *_ in activities(service.database)] == ["alert_channel.created"]


def test_a_secret_that_was_sent_is_never_returned(service: RunningService) -> None:
    created = service.client.put(PATH, json={**WEBHOOK, "secret": SECRET})
    slack = service.client.put("/v1/alert-channels/risk", json=SLACK)
    renamed = service.client.put("/v1/alert-channels/risk", json={"name": "Risk officers", "kind": "slack"})
    listed = service.client.get("/v1/alert-channels")

    assert (created.json()["secret"], slack.json()["secret"]) == (None, None)
    assert (slack.json()["url"], slack.json()["host"]) == (None, "hooks.slack.com")
    assert (renamed.status_code, renamed.json()["name"], renamed.json()["host"]) == (200, "Risk officers", "hooks.slack.com")
    everything = created.text + slack.text + renamed.text + listed.text + str(activities(service.database))
    assert SECRET not in everything
    assert "sEcReT" not in everything
    with service.database.transaction() as session:
        stored = str(session.execute(text("SELECT config, secret FROM alert_channels")).all())
    assert "sEcReT" not in stored


def test_every_change_is_in_the_activity(service: RunningService) -> None:
    service.client.put(PATH, json=WEBHOOK)
    service.client.put(PATH, json={**WEBHOOK, "name": "Nights"})
    service.client.post(f"{PATH}/tests")
    service.client.delete(PATH)

    found = activities(service.database)
    assert [action for action, *_ in found] == [f"alert_channel.{deed}" for deed in ("created", "changed", "tested", "deleted")]
    assert {subject for _, subject, _ in found} == {"on-call"}
    assert found[1][2]["name"] == "Nights"


def test_an_address_that_is_never_called_is_refused(service: RunningService, subtests: pytest.Subtests) -> None:
    for url, words in (
        ("http://169.254.169.254/latest/meta-data", "cloud metadata"),
        ("http://[::ffff:169.254.169.254]/", "cloud metadata"),
        ("http://metadata.google.internal/", "never called"),
        ("http://0x7f.1/", "unusual spelling"),
        ("ftp://example.com/", "http"),
        ("https://user:hush@example.com/", "user or password"),
        ("not a url", "http"),
        ("", "http"),
    ):
        with subtests.test(url=url, words=words):
            for body in ({**WEBHOOK, "url": url}, {**SLACK, "url": url}):
                answer = service.client.put(PATH, json=body)

                assert answer.status_code == 422
                assert answer.json()["errors"][0]["field"] == "url"
                assert words in answer.json()["errors"][0]["message"]


def test_the_operators_allow_list_holds_for_receivers_too(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path, endpoint_allowlist="alerts.example.com") as service:
        allowed = service.client.put(PATH, json=WEBHOOK)
        refused = service.client.put("/v1/alert-channels/risk", json=SLACK)

    assert allowed.status_code == 201
    assert (refused.status_code, "allow-list" in refused.text) == (422, True)


def test_a_body_that_contradicts_itself_is_refused_with_the_field(service: RunningService, subtests: pytest.Subtests) -> None:
    for body, field in (
        ({**WEBHOOK, "secret": "hush"}, "secret"),
        ({**WEBHOOK, "to": ["risk@example.com"]}, "to"),
        ({"name": "On-call", "kind": "webhook"}, "url"),
        ({"name": "Risk", "kind": "slack"}, "url"),
        ({**WEBHOOK, "kind": "pigeon"}, "kind"),
        ({**WEBHOOK, "unknown": 1}, "unknown"),
        ({**WEBHOOK, "name": " "}, "name"),
    ):
        with subtests.test(body=body, field=field):
            answer = service.client.put(PATH, json=body)

            assert answer.status_code == 422
            assert [problem["field"] for problem in answer.json()["errors"]] == [field]


def test_e_mail_needs_a_mail_server(service: RunningService, database: Database, tmp_path: Path) -> None:
    body = {"name": "Risk", "kind": "email", "to": ["risk@example.com"]}
    refused = service.client.put(PATH, json=body)
    with running_service(database, tmp_path, smtp_url="smtp://u:hush@localhost", smtp_sender="evenhand@example.com") as with_mail:
        taken = with_mail.client.put(PATH, json=body)

    assert (refused.status_code, "EVENHAND_SMTP_URL" in refused.text) == (422, True)
    assert (taken.status_code, taken.json()["to"], taken.json()["secret_set"]) == (201, ["risk@example.com"], False)


def test_a_channel_cannot_become_one_of_another_kind(service: RunningService) -> None:
    service.client.put(PATH, json=WEBHOOK)

    assert service.client.put(PATH, json=SLACK).status_code == 409


def test_only_who_may_change_the_whole_installation_sees_or_changes_channels(service: RunningService) -> None:
    service.client.put(PATH, json=WEBHOOK).raise_for_status()
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    with service.database.transaction() as session:
        bound_to = session.scalar(text("SELECT no FROM deployments"))
    requests = [("GET", PATH), ("GET", "/v1/alert-channels"), ("PUT", PATH), ("DELETE", PATH), ("POST", f"{PATH}/tests")]
    requests.append(("GET", f"{PATH}/notifications"))
    for headers in (service.as_(Role.READ), service.as_(Role.INGEST), service.as_(Role.MANAGE, bound_to)):
        for method, path in requests:
            answer = service.client.request(method, path, headers=headers, json=WEBHOOK if method == "PUT" else None)

            assert answer.status_code == 403, (method, path)
    assert service.client.get(PATH, headers=service.as_(Role.MANAGE)).status_code == 200


@pytest.mark.nightly
def test_a_test_arrives_signed_with_the_secret_that_was_shown(service: RunningService, tmp_path: Path) -> None:
    with receiving() as receiver, notifying(service.database, tmp_path):
        secret = service.client.put(PATH, json={**WEBHOOK, "url": receiver.url}).json()["secret"]
        queued = service.client.post(f"{PATH}/tests")
        found = ended(service.client, queued.headers["Location"])

    assert (queued.status_code, queued.json()["state"], queued.json()["event"]) == (202, "waiting", "test")
    assert (found["state"], found["attempts"], found["alerts"], found["last_error"]) == ("sent", 1, [], None)
    (request,) = receiver.received
    assert request.json["type"] == "alert.test"
    assert request.id == found["id"]
    timestamp = int(request.headers["webhook-timestamp"])
    assert request.headers["webhook-signature"] == sign_message(found["id"], timestamp, request.body, secret=secret)


@pytest.mark.nightly
def test_a_test_that_cannot_be_sent_says_why_at_once(service: RunningService, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with notifying(service.database, tmp_path):
        service.client.put(PATH, json={**WEBHOOK, "url": "http://127.0.0.1:9/"}).raise_for_status()
        queued = service.client.post(f"{PATH}/tests")
        found = ended(service.client, queued.headers["Location"])

    assert (found["state"], found["next_attempt_at"]) == ("given_up", None)
    assert says(found["last_error"], "127.0.0.1", "9")
    assert found["last_error"] == snapshot


def test_what_was_sent_is_listed_newest_first_in_pages(service: RunningService) -> None:
    service.client.put(PATH, json=WEBHOOK)
    ids = [service.client.post(f"{PATH}/tests").json()["id"] for _ in range(3)]

    first = service.client.get(f"{PATH}/notifications", params={"limit": 2}).json()
    second = service.client.get(f"{PATH}/notifications", params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [sent["id"] for sent in first["notifications"] + second["notifications"]] == ids[::-1]
    assert second["next_cursor"] is None


def test_the_gauges_say_what_waits(service: RunningService) -> None:
    before = service.client.get("/metrics").text
    service.client.put(PATH, json=WEBHOOK)
    service.client.post(f"{PATH}/tests")
    after = service.client.get("/metrics").text

    assert "evenhand_notifications_waiting 0.0" in before
    assert "evenhand_notification_age_seconds 0.0" in before
    assert "evenhand_notifications_waiting 1.0" in after


def test_another_channels_notification_is_not_found(service: RunningService) -> None:
    service.client.put(PATH, json=WEBHOOK)
    service.client.put("/v1/alert-channels/other", json=WEBHOOK)
    queued = service.client.post(f"{PATH}/tests").json()["id"]

    assert service.client.get(f"/v1/alert-channels/other/notifications/{queued}").status_code == 404
    assert service.client.get("/v1/alert-channels/none/notifications").status_code == 404
    assert service.client.post("/v1/alert-channels/none/tests").status_code == 404


def test_many_who_make_the_same_channel_at_once_make_one(service: RunningService) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: service.client.put(PATH, json=WEBHOOK), range(8)))

    statuses = [answer.status_code for answer in answers]
    assert set(statuses) <= {200, 201, 409}
    assert statuses.count(201) == 1
    assert len([answer for answer in answers if answer.status_code == 201 and answer.json()["secret"]]) == 1
    assert len(service.client.get("/v1/alert-channels").json()["channels"]) == 1


def test_a_cursor_beyond_every_channel_gives_an_empty_page(service: RunningService) -> None:
    service.client.put(PATH, json=WEBHOOK)
    beyond = base64.urlsafe_b64encode((2**31 - 1).to_bytes(8)).decode()

    found = service.client.get("/v1/alert-channels", params={"cursor": beyond})

    assert (found.status_code, found.json()["channels"]) == (200, [])
