"""Open alerts are sent to a channel that was added, or named in a rule, after they were opened."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, text

from app.access.principals import Role
from app.alerts.channels import notifier as catching_up
from app.database.tables import AlertChannelRow
from tests.builders.alert_history import CHANNEL, History
from tests.builders.notifying import notifying
from tests.builders.page_words import says, words
from tests.models.receiving import receiving
from tests.progress import wait_until
from tests.service import RunningService

RULE = "/v1/deployments/a-model/alert-rules/unfair"
NEW = "/v1/alert-channels/new"
SEND = f"{NEW}/notifications"


@pytest.fixture
def history(service: RunningService) -> History:
    """Two alerts are open, which were sent to the rule's only channel."""
    history = History(service.database)
    history.ends(0, {"female": "unfair", "other": "unfair"})
    history.evaluate()
    return history


def add_channel(service: RunningService, url: str = "https://alerts.example.com/evenhand") -> dict[str, Any]:
    stored: dict[str, Any] = service.client.put(NEW, json={"name": "New", "kind": "webhook", "url": url}).raise_for_status().json()
    return stored


def name(service: RunningService, *channels: str) -> None:
    rule = service.client.get(RULE).raise_for_status().json()
    body = {part: rule[part] for part in ("name", "condition", "remind_after_hours", "enabled")} | {"channels": list(channels)}
    service.client.put(RULE, json=body).raise_for_status()


def sent(service: RunningService, path: str = SEND) -> list[tuple[str, str]]:
    """The events that were queued for the channel, each with the group of its alert."""
    with service.database.transaction() as session:
        rows = session.execute(
            text(
                "SELECT n.event, a->>'group' FROM notifications n JOIN alert_channels c ON c.no = n.channel_no,"
                " LATERAL jsonb_array_elements(n.body->'alerts') AS a WHERE c.id = :id ORDER BY n.no"
            ),
            {"id": path.split("/")[3]},
        )
        return [(event, group) for event, group in rows]


def activities(service: RunningService) -> list[tuple[str, str, Any]]:
    with service.database.transaction() as session:
        found = session.execute(text("SELECT action, subject, details FROM activities WHERE action LIKE '%open_alerts_sent' ORDER BY no"))
        return [(action, subject, details) for action, subject, details in found]


@pytest.mark.usefixtures("history")
def test_a_channel_that_a_rule_names_late_is_sent_what_is_open_and_nothing_twice(service: RunningService) -> None:
    before = add_channel(service)["open_alerts_not_sent"]
    name(service, CHANNEL, "new")
    offered = add_channel(service)["open_alerts_not_sent"]
    first, second = service.client.post(SEND), service.client.post(SEND)

    assert (before, offered) == (0, 2)
    assert (first.status_code, first.json(), second.json()) == (
        202,
        {"queued": 2, "sent_before": 0, "left": 0},
        {"queued": 0, "sent_before": 2, "left": 0},
    )
    assert sent(service) == [("opened", "female"), ("opened", "other")]
    assert sent(service, f"/v1/alert-channels/{CHANNEL}") == [("opened", "female"), ("opened", "other")]
    assert activities(service) == [("alert_channel.open_alerts_sent", "new", {"alerts": 2})]


@pytest.mark.usefixtures("history")
def test_asked_again_it_is_sent_again(service: RunningService) -> None:
    add_channel(service)
    name(service, "new")
    service.client.post(SEND)

    assert service.client.post(SEND, json={"again": True}).json() == {"queued": 2, "sent_before": 0, "left": 0}
    assert len(sent(service)) == 4


@pytest.mark.usefixtures("history")
def test_a_channel_that_no_rule_names_is_sent_nothing(service: RunningService) -> None:
    add_channel(service)

    assert service.client.post(SEND).json() == {"queued": 0, "sent_before": 0, "left": 0}
    assert sent(service) == []
    assert activities(service) == []


def test_an_alert_that_is_over_is_not_sent_and_an_acknowledged_one_is(service: RunningService, history: History) -> None:
    history.ends(1, {"female": "fair", "other": "unfair"})
    history.evaluate()
    add_channel(service)
    name(service, "new")
    (open_one,) = service.client.get("/v1/alerts", params={"state": "open"}).json()["alerts"]
    with service.database.transaction() as session:
        session.execute(
            text("UPDATE alerts SET acknowledged_at = now(), acknowledged_by = 'user:ada' WHERE id = :id"), {"id": open_one["id"]}
        )

    assert service.client.post(SEND).json()["queued"] == 1
    assert sent(service) == [("opened", "other")]


@pytest.mark.usefixtures("history")
def test_what_was_given_up_counts_as_not_sent(service: RunningService) -> None:
    with service.database.transaction() as session:
        session.execute(text("UPDATE notifications SET state = 'given_up', claimable_at = NULL"))

    again = service.client.post(f"/v1/alert-channels/{CHANNEL}/notifications").json()

    assert again == {"queued": 2, "sent_before": 0, "left": 0}


@pytest.mark.usefixtures("history")
def test_the_rule_sends_to_each_of_its_channels_that_lacks_them(service: RunningService) -> None:
    add_channel(service)
    name(service, CHANNEL, "new")

    answer = service.client.post(f"{RULE}/notifications")

    assert (answer.status_code, answer.json()) == (202, {"queued": 2, "sent_before": 2, "left": 0})
    assert sent(service) == [("opened", "female"), ("opened", "other")]
    assert activities(service) == [("alert_rule.open_alerts_sent", "unfair", {"alerts": {"new": 2}})]


@pytest.mark.usefixtures("history")
def test_many_who_ask_at_once_send_each_alert_once(service: RunningService) -> None:
    add_channel(service)
    name(service, "new")

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: service.client.post(SEND).json()["queued"], range(6)))

    assert sorted(answers) == [0, 0, 0, 0, 0, 2]
    assert len(sent(service)) == 2


def test_an_alert_that_is_resolved_in_this_moment_is_not_sent_as_open_afterwards(service: RunningService, history: History) -> None:
    """The request waits until the alerts are evaluated: no channel gets `opened` after `resolved`."""
    add_channel(service)
    name(service, "new")
    answers: list[int] = []
    with service.database.transaction() as session:
        session.execute(text("SELECT pg_advisory_xact_lock(:lock, :no)"), {"lock": 0x616C7274, "no": history.no})
        session.execute(text("UPDATE alerts SET resolved_at = now(), resolution = 'recovered' WHERE \"group\" = 'female'"))
        asking = threading.Thread(target=lambda: answers.append(service.client.post(SEND).json()["queued"]))
        asking.start()
        wait_until(lambda: history.scene.count("pg_locks WHERE NOT granted") > 0)
    asking.join()

    assert answers == [1]
    assert sent(service) == [("opened", "other")]


@pytest.mark.usefixtures("history")
def test_more_than_one_request_queues_are_left_for_the_next(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    add_channel(service)
    name(service, "new")
    monkeypatch.setattr(catching_up, "MAX_QUEUED_ALERTS", 1)

    answers = [service.client.post(SEND).json() for _ in range(3)]

    assert [(answer["queued"], answer["left"]) for answer in answers] == [(1, 1), (1, 0), (0, 0)]
    assert sent(service) == [("opened", "female"), ("opened", "other")]


@pytest.mark.usefixtures("history")
@pytest.mark.nightly
def test_what_is_sent_arrives_with_the_alert_as_it_is_now(service: RunningService, tmp_path: Path) -> None:
    with receiving() as receiver:
        add_channel(service, receiver.url)
        name(service, "new")
        with notifying(service.database, tmp_path):
            service.client.post(SEND)
            wait_until(lambda: len(receiver.received) == 1)

    bodies = [one.json for one in receiver.received]
    assert {(body["type"], body["alerts"][0]["state"]) for body in bodies} == {("alert.opened", "open")}


def test_only_who_may_change_the_installation_or_the_deployment_sends(service: RunningService, history: History) -> None:
    with service.database.transaction() as session:
        session.execute(insert(AlertChannelRow).values(id="new", name="New", kind="webhook", config={}))
    name(service, CHANNEL, "new")
    bound, reader = service.as_(Role.MANAGE, history.no), service.as_(Role.READ)

    assert [service.client.post(SEND, headers=caller).status_code for caller in (bound, reader)] == [403, 403]
    assert [service.client.post(f"{RULE}/notifications", headers=caller).status_code for caller in (reader, bound)] == [403, 202]
    assert service.client.post("/v1/alert-channels/none/notifications").status_code == 404
    assert service.client.post(f"{RULE}x/notifications").status_code == 404
    assert service.client.post(SEND, json={"all": True}).status_code == 422


def test_the_pages_offer_what_is_open_and_stop_when_it_is_sent(service: RunningService, history: History) -> None:
    page = {"Accept": "text/html"}
    add_channel(service)
    unnamed = service.client.get("/alerts/channels", headers=page).text
    name(service, CHANNEL, "new")
    named = service.client.get("/alerts/channels", headers=page).text
    of_rule = service.client.get("/deployments/a-model/alerts", headers=page).text
    service.client.post(SEND).raise_for_status()
    sent_all = service.client.get("/alerts/channels", headers=page).text

    assert says(words(unnamed), "No rule names this channel", "2 alerts are open")
    assert 'data-offer="new"' in unnamed
    assert f'value="{RULE}" checked' in unnamed
    assert "2 open alerts were not sent" in named
    assert "2 not to new." in of_rule
    assert 'class="note offer"' not in sent_all
    assert 'class="note offer"' not in service.client.get("/deployments/a-model/alerts", headers=page).text
    assert history.no


def test_a_channel_that_no_rule_names_says_so_where_no_alert_is_open(service: RunningService) -> None:
    add_channel(service)

    text_of_page = service.client.get("/alerts/channels", headers={"Accept": "text/html"}).text
    assert "No rule names this channel yet" in text_of_page
    assert "data-offer" not in text_of_page
