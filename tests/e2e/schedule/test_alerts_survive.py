"""Alerts of a whole service whose receiver, worker and database go down in turn: each is told once, and in order."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.crashes.service import Service, folder
from tests.models.receiving import Receiver, receiving
from tests.progress import wait_until

GROUPS = ("north", "south", "east")
RECORDS = 60
"""Of each group in a batch that is unfair; a batch that mends it has ten times as many."""

NAMES = [f"model-{no}" for no in range(3)]
LAST_SECONDS_OF_AN_HOUR = 60
"""A check looks at the records of its hour, so the test does not begin shortly before the next one."""

OPENED = len(GROUPS)
FIGURE = ("value", "lower", "upper", "n", "verdict", "lower_limit", "upper_limit", "interval_method", "details")
"""What a message says of a figure as the check's own page does."""


class Installation:
    """A running service and what people do with it. Requests are repeated while it is down."""

    def __init__(self, home: Path) -> None:
        self.service = Service(home)
        self.service.start()
        self._http = httpx.Client(base_url=self.service.base_url, timeout=10)
        self._http.headers["Authorization"] = f"Bearer {self.service.new_key()}"

    def close(self) -> None:
        """Ends everything that it started."""
        self._http.close()
        self.service.end()

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """The answer, once there is one."""
        answers: list[httpx.Response] = []

        def is_answered() -> bool:
            with suppress(httpx.TransportError):
                answers.append(self._http.request(method, path, json=body))
            return bool(answers) and answers[-1].status_code != httpx.codes.SERVICE_UNAVAILABLE

        wait_until(is_answered, f"{method} {path} is answered")
        answers[-1].raise_for_status()
        found: dict[str, Any] = answers[-1].json()
        return found

    def watch(self, name: str) -> None:
        """A deployment whose default rule tells the channel."""
        features = [{"name": "region", "type": "string"}]
        definition = {"id": name, "name": name, "problem_type": "binary", "features": features, "outputs": {"prediction": "prediction"}}
        attribute = {"feature": "region", "monitored": list(GROUPS), "reference": ["home"]}
        monitor = {"favourable": [1], "unfavourable": [0], "attributes": [attribute], "min_records": 10, "schedule": "off"}
        rule = {"name": "Unfair outcomes", "condition": {"kind": "verdict"}, "channels": ["on-call"]}
        self.ask("POST", "/v1/deployments", definition)
        self.ask("PUT", f"/v1/deployments/{name}/fairness-monitor", monitor)
        self.ask("PUT", f"/v1/deployments/{name}/alert-rules/unfair", rule)

    def check(self, name: str, *, is_fair: bool) -> None:
        """Logs records that are so, and asks for a check."""
        favourable = {**dict.fromkeys(GROUPS, 0.9 if is_fair else 0.1), "home": 0.9}
        count = RECORDS * (10 if is_fair else 1)
        records = [
            {"id": f"{is_fair}-{group}-{no}", "features": {"region": group}, "prediction": int(no < share * count)}
            for group, share in favourable.items()
            for no in range(count)
        ]
        self.ask("POST", f"/v1/deployments/{name}/payload-records", {"records": records})
        self.ask("POST", f"/v1/deployments/{name}/checks")

    def is_told(self, *, opened: int, resolved: int) -> bool:
        """Whether so many alerts were opened, and so many of them are over."""
        alerts = self.ask("GET", "/v1/alerts")["alerts"]
        return (len(alerts), sum(alert["state"] == "resolved" for alert in alerts)) == (opened, resolved)

    def figure(self, deployment: str, check: str, group: str) -> dict[str, Any]:
        """The check's disparate impact of the group."""
        found = self.ask("GET", f"/v1/deployments/{deployment}/checks/{check}/measurements")["measurements"]
        wanted = ("as_logged", "disparate_impact", "group", group)
        (figure,) = (one for one in found if (one["data"], one["metric"], one["scope"], one["group"]) == wanted)
        return dict(figure)

    def notifications(self) -> list[dict[str, Any]]:
        """All that was and is to be told of alerts, oldest first."""
        found = self.ask("GET", "/v1/alert-channels/on-call/notifications")["notifications"]
        return [sent for sent in found if sent["event"] != "test"][::-1]

    def metric(self, name: str) -> float:
        """The sum of the series of that name, as Prometheus would read them now."""
        lines = self._http.get("/metrics").raise_for_status().text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))

    def kill_worker(self) -> None:
        """Kills the worker in the middle of what it does, as if its leases had run out since; the supervisor starts another."""
        wait_until(lambda: self.service.worker_pid() is not None, "a worker runs")
        self.service.kill({pid for pid in (self.service.worker_pid(),) if pid is not None})
        with self.service.connect() as connection:
            connection.execute("UPDATE checks SET lease_until = now(), claimable_at = now() WHERE state = 'running'")
            connection.execute("UPDATE notifications SET claimable_at = now() WHERE lease_token IS NOT NULL")

    def restart_postgres(self) -> None:
        """Ends the database, as for an upgrade; the supervisor starts it again."""
        postmaster = self.service.postmaster_pid()
        assert postmaster is not None
        os.kill(postmaster, signal.SIGINT)


@pytest.fixture
def installation() -> Iterator[Installation]:
    """A service of this test's own, with its database."""
    to_next_hour = 3600 - time.time() % 3600
    if to_next_hour < LAST_SECONDS_OF_AN_HOUR:
        time.sleep(to_next_hour)
    with folder() as home:
        running = Installation(home)
        try:
            yield running
        finally:
            running.close()


@pytest.mark.nightly
def test_a_receiver_that_was_down_is_told_each_alert_once_and_in_order_whatever_is_killed_meanwhile(installation: Installation) -> None:
    with receiving() as receiver:  # down: nobody listens on its port from now on
        channel = {"name": "On-call", "kind": "webhook", "url": receiver.url}
    installation.ask("PUT", "/v1/alert-channels/on-call", channel)
    for name in NAMES:
        installation.watch(name)

    _open_and_resolve_through_crashes(installation)
    waiting = [notification["id"] for notification in installation.notifications()]
    before = (installation.metric("evenhand_alerts"), installation.metric("evenhand_notifications_waiting"))
    _deliver_through_crashes(installation, receiver)
    after = (installation.metric("evenhand_alerts"), installation.metric("evenhand_notifications_waiting"))

    assert (before, after) == ((2 * OPENED, len(waiting)), (2 * OPENED, 0))
    told = [request for request in receiver.received if request.json["event"] != "test"]
    bodies = {request.id: request.json for request in told}
    assert list(dict.fromkeys(request.id for request in told)) == list(bodies) == waiting
    assert all(request.json == bodies[request.id] for request in told)
    by_group: dict[tuple[str, str], list[str]] = {}
    for body in bodies.values():
        by_group.setdefault((body["alerts"][0]["deployment_id"], body["alerts"][0]["group"]), []).append(body["event"])
        facts = body["alerts"][0]["facts"].get("recovery", body["alerts"][0]["facts"])
        figure = installation.figure(body["alerts"][0]["deployment_id"], facts["check_id"], body["alerts"][0]["group"])
        assert {name: facts[name] for name in FIGURE} == {name: figure[name] for name in FIGURE}
        assert body["sentence"] == facts["sentence"]
        assert facts["sentence"] == f"{figure['sentence']} {figure['gap']} {figure['beyond_limit']}"
    opened = {(name, group): ["opened"] for name in NAMES for group in GROUPS}
    assert by_group == opened | {(NAMES[0], group): ["opened", "resolved"] for group in GROUPS}


def _open_and_resolve_through_crashes(installation: Installation) -> None:
    """The receiver is down; alerts are opened and resolved all the same."""
    installation.check(NAMES[0], is_fair=False)
    wait_until(lambda: installation.is_told(opened=OPENED, resolved=0), "a model is found unfair")
    installation.check(NAMES[0], is_fair=True)
    installation.kill_worker()
    installation.check(NAMES[1], is_fair=False)
    installation.restart_postgres()
    installation.check(NAMES[2], is_fair=False)
    installation.kill_worker()
    wait_until(lambda: installation.is_told(opened=3 * OPENED, resolved=OPENED), "three are, and one is mended")


def _deliver_through_crashes(installation: Installation, receiver: Receiver) -> None:
    """The receiver is back, and people send a test to have it told at once; the worker dies in the middle of its deliveries."""

    def slowly(_: dict[str, Any]) -> int:
        time.sleep(0.1)
        return 200

    receiver.choose = slowly
    with receiving(receiver):
        installation.ask("POST", "/v1/alert-channels/on-call/tests")
        wait_until(lambda: len(receiver.received) > 2, "the first alerts are told")
        installation.kill_worker()
        wait_until(lambda: all(notification["state"] == "sent" for notification in installation.notifications()), "all alerts are told")
