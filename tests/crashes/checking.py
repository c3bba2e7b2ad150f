"""Keeps checks coming: logs new records to a deployment, asks for a check, and does so again once it is over."""

import random
import threading
import time
from typing import Any

import httpx

from tests.crashes.clients import Client, applicant
from tests.crashes.ledger import Ledger

RECORDS = 40
"""New ones before each check; each has one copy to be scored."""

PAGE = 5
MODEL_SECONDS = 0.2
"""A page; so that a check takes a second and a half."""

_OPEN = ("queued", "running")


def deployment(name: str, url: str | None, *, page_size: int = PAGE, timeout_seconds: float = 20.0) -> dict[str, Any]:
    """A deployment of applicants."""
    endpoint = {"url": url, "page_size": page_size, "concurrency": 1, "timeout_seconds": timeout_seconds}
    return {
        "id": name,
        "name": name,
        "problem_type": "binary",
        "features": [{"name": "sex", "type": "string"}, {"name": "income", "type": "integer"}, {"name": "age", "type": "integer"}],
        "meta": [{"name": "note", "type": "string"}, {"name": "weight", "type": "number"}],
        "outputs": {"prediction": "prediction", "probability": "probability"},
        **({"endpoint": endpoint} if url else {}),
    }


def monitor(**changes: object) -> dict[str, Any]:
    """Watches women beside men, when asked."""
    attribute = {"feature": "sex", "monitored": ["female"], "reference": ["male"]}
    return {"favourable": [1], "unfavourable": [0], "attributes": [attribute], "min_records": 10, "schedule": "off", **changes}


def create(http: httpx.Client, document: dict[str, Any], watched: dict[str, Any] | None = None) -> None:
    """The deployment is there, with its monitor if it has one."""
    http.post("/v1/deployments", json=document).raise_for_status()
    if watched:
        http.put(f"/v1/deployments/{document['id']}/fairness-monitor", json=watched).raise_for_status()


class Asker(threading.Thread):
    """Has at most `open_at_once` checks waiting or running, on deployments that take turns, until it is stopped."""

    def __init__(self, base_url: str, key: str, deployments: list[str], ledger: Ledger, *, open_at_once: int = 4) -> None:
        super().__init__(name="asker", daemon=True)
        self._http = httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=15)
        self._hands = Client(base_url, key, deployments, ledger, seed=999)
        self._ledger = ledger
        self._chance = random.Random(7)
        self._open: dict[str, str] = {}
        self._waiting: set[str] = set()
        self._deployments = deployments
        self._wanted = open_at_once
        self._stopping = threading.Event()
        self.asked = 0

    def run(self) -> None:
        """Asks and asks."""
        with self._http:
            while not self._stopping.is_set():
                self._forget_ended()
                free = [name for name in self._deployments if name not in self._open]
                for name in free[: max(0, self._wanted - len(self._open.keys() - self._waiting))]:
                    self._ask(name)
                    self._deployments = [*(other for other in self._deployments if other != name), name]
                self._stopping.wait(0.2)

    def stop(self) -> None:
        """Asks for no more."""
        self._stopping.set()
        self._hands.stop()
        self.join()
        self._hands.close()

    def forget_interrupted(self) -> None:
        """The open checks were interrupted and wait for their lease to run out: others are asked for meanwhile."""
        self._waiting = set(self._open)

    def _ask(self, name: str) -> None:
        if not self._hands.log(name, [applicant(self._chance) for _ in range(RECORDS)], may_give_up=False):
            return
        try:
            answer = self._http.post(f"/v1/deployments/{name}/checks")
        except httpx.TransportError:
            time.sleep(0.1)
            return
        if answer.status_code == httpx.codes.ACCEPTED:
            self._open[name] = answer.json()["id"]
            self.asked += 1
        elif answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            self._ledger.complain(f"asking for a check of {name} answered {answer.status_code}: {answer.text[:300]}")

    def _forget_ended(self) -> None:
        for name, check_id in list(self._open.items()):
            try:
                answer = self._http.get(f"/v1/deployments/{name}/checks/{check_id}")
            except httpx.TransportError:
                return
            if answer.status_code == httpx.codes.OK and answer.json()["state"] not in _OPEN:
                del self._open[name]
                self._waiting.discard(name)
            elif answer.status_code not in (httpx.codes.OK, httpx.codes.SERVICE_UNAVAILABLE):
                self._ledger.complain(f"reading check {check_id} of {name} answered {answer.status_code}: {answer.text[:300]}")
