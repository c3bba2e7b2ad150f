import re

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.access.principals import Role
from tests.builders.bodies import deployment, monitor
from tests.builders.page_words import words
from tests.service import RunningService


def test_activity_shows_who_changed_what_and_filters(service: RunningService, reader: httpx.Client) -> None:
    service.client.post("/v1/users", json={"name": "ada", "password": "four plain words here", "role": "read"})
    service.client.post("/v1/api-keys", json={"name": "<b>scoring</b>", "role": "ingest"})

    all_of_it = reader.get("/activity").text
    filtered = reader.get("/activity", params={"action": "user.created"}).text

    assert "user.created" in all_of_it
    assert "api_key.created" in all_of_it
    assert "&lt;b&gt;scoring" in all_of_it.replace("\\u003cb\\u003e", "&lt;b&gt;")
    assert "<b>scoring" not in all_of_it
    assert "api_key.created" not in filtered


def test_requests_for_checks_are_left_out_until_they_are_asked_for(service: RunningService, reader: httpx.Client) -> None:
    service.client.post("/v1/deployments", json=deployment(id="asked")).raise_for_status()
    service.client.put("/v1/deployments/asked/fairness-monitor", json=monitor()).raise_for_status()
    service.client.post("/v1/deployments/asked/checks", json={}).raise_for_status()

    assert "check.requested" not in reader.get("/activity").text
    assert "check.requested" in reader.get("/activity?checks=shown").text
    assert "check.requested" in reader.get("/activity?action=check.requested").text


@pytest.mark.nightly
def test_activity_goes_on_to_older_changes(service: RunningService, reader: httpx.Client) -> None:
    for no in range(60):
        service.client.post("/v1/api-keys", json={"name": f"key {no}", "role": "ingest"})

    first = reader.get("/activity").text
    older = first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    second = reader.get("/activity" + older).text

    assert "key 59" in first
    assert "key 5&#34;" in second or "key 5\\u0022" in second or '"key 5"' in second or "&#34;key 5&#34;" in second
    assert "Show older ones" not in second


@pytest.mark.parametrize("query", ["cursor=!!", "actor=%00", "action=" + "x" * 400])
def test_a_filter_that_cannot_be_is_told_on_a_page(reader: httpx.Client, query: str, snapshot: SnapshotAssertion) -> None:
    answer = reader.get(f"/activity?{query}")

    assert answer.status_code == 422
    assert '<a href="/activity">' in answer.text
    assert words(answer.text) == snapshot


def test_settings_shows_users_and_keys_to_admins_only(service: RunningService, browser: httpx.Client, snapshot: SnapshotAssertion) -> None:
    reader_key = service.key(Role.READ)
    browser.post("/login", data={"key": reader_key})
    reader_sees = browser.get("/settings").text
    browser.post("/login", data={"key": service.admin_key})
    admin_sees = browser.get("/settings").text

    assert ["Create a key" in page for page in (reader_sees, admin_sees)] == [False, True]
    ids = "|".join(key.split("_")[1] for key in (reader_key, service.admin_key))
    assert re.sub(ids, "<key>", words(reader_sees)) == snapshot(name="reader")
    assert re.sub(ids, "<key>", words(admin_sees)) == snapshot(name="admin")
    assert service.admin_key not in admin_sees


def test_settings_shows_the_end_and_the_last_use_of_keys_and_a_form_to_rotate_each(service: RunningService, browser: httpx.Client) -> None:
    sent = {"name": "scorer", "role": "read", "expires_at": "2030-01-31T23:59:59Z"}
    made = service.client.post("/v1/api-keys", json=sent).json()
    browser.post("/login", data={"key": service.admin_key})

    shown = browser.get("/settings").text

    assert "in use until" in shown
    assert f"POST /v1/api-keys/{made['id']}/rotations" in shown
    assert '<td data-label="Last used">never</td>' in shown
