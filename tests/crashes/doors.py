"""Load on the doors other than logging: callers of the gateway, senders of events, and readers of routes and pages."""

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from tests.models.rules import RuleScorer

GATED = "gated"
"""The deployment that is called through its gateway and by events."""

FIELDS = ("sex", "income", "age")
TIMEOUT_SECONDS = 15.0
REST_SECONDS = 0.05

_AWAY = frozenset({httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.BAD_GATEWAY, httpx.codes.GATEWAY_TIMEOUT})
"""Answers that a caller may get while the service or its model is away."""

_OF_MODEL = frozenset({httpx.codes.INTERNAL_SERVER_ERROR, httpx.codes.TOO_MANY_REQUESTS})
"""Answers of a model at fault, which the gateway passes on as they are."""

_RULE = RuleScorer()


@dataclass
class DoorLedger:
    """Ids of calls that were answered by the gateway, and of pairs of events that were both accepted. Safe to share between threads."""

    answered: set[str] = field(default_factory=set)
    accepted: set[str] = field(default_factory=set)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def note(self, door: str, answer: httpx.Response, *, allowed: frozenset[int] = frozenset()) -> bool:
        """Notes an answer; returns whether it is a good one."""
        with self._turn:
            self.statuses[door, answer.status_code] += 1
            if not answer.is_success and answer.status_code not in {httpx.codes.SERVICE_UNAVAILABLE, *allowed}:
                self.wrong.append(f"{door} {answer.request.url.path} answered {answer.status_code}: {answer.text[:300]}")
        return answer.is_success

    def add(self, record_id: str, *, by_event: bool) -> None:
        """Notes a record that must be stored."""
        with self._turn:
            (self.accepted if by_event else self.answered).add(record_id)


class Door(threading.Thread):
    """One connection's worth of load, until it is stopped."""

    def __init__(self, base_url: str, key: str, ledger: DoorLedger, *, seed: int) -> None:
        super().__init__(name=f"{type(self).__name__}-{seed}", daemon=True)
        self.http = httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT_SECONDS)
        self.ledger = ledger
        self.chance = random.Random(seed)
        self._stopping = threading.Event()

    def run(self) -> None:
        """Request after request."""
        with self.http:
            while not self._stopping.is_set():
                try:
                    self.ask()
                except httpx.TransportError:
                    time.sleep(self.chance.uniform(0.02, 0.2))
                self._stopping.wait(self.chance.uniform(0, REST_SECONDS))

    def stop(self) -> None:
        """Begins nothing new."""
        self._stopping.set()

    def ask(self) -> None:
        """Sends one request, or those that belong together."""
        raise NotImplementedError

    def applicant(self) -> list[object]:
        """The features of one."""
        return [self.chance.choice(("male", "female")), self.chance.randrange(10_000, 90_000), self.chance.randrange(18, 80)]

    def record_id(self) -> str:
        """A new id."""
        return f"{self.name}-{self.chance.getrandbits(64):016x}"


class Caller(Door):
    """Calls the model through the gateway."""

    def ask(self) -> None:
        """One call."""
        row, record_id = self.applicant(), self.record_id()
        body = {"fields": FIELDS, "values": [row]}
        answer = self.http.post(f"/v1/deployments/{GATED}/predictions", json=body, headers={"Evenhand-Record-Id": record_id})
        if not self.ledger.note("gateway", answer, allowed=_AWAY | _OF_MODEL):
            return
        # What a model at fault says is passed on as it is, and counted as rejected: only a right answer makes a record.
        with contextlib.suppress(ValueError):
            if answer.json().get("values") == [list(outcome) for outcome in _RULE.predict(FIELDS, [row])]:
                self.ledger.add(record_id, by_event=False)


class Sender(Door):
    """Reports calls by events, the halves in any order, each again until it is accepted."""

    def ask(self) -> None:
        """Two halves of one call."""
        row, record_id = self.applicant(), self.record_id()
        ((prediction, probability),) = _RULE.predict(FIELDS, [row])
        halves = [
            ("request", {"fields": FIELDS, "values": [row]}),
            ("response", {"fields": ("prediction", "probability"), "values": [[prediction, probability]]}),
        ]
        self.chance.shuffle(halves)
        for kind, body in halves:
            headers = {
                "ce-specversion": "1.0",
                "ce-source": "http://localhost/",
                "ce-id": record_id,
                "ce-type": f"org.kubeflow.serving.inference.{kind}",
            }
            while not self._send(headers, body):
                time.sleep(self.chance.uniform(0.02, 0.2))
        self.ledger.add(record_id, by_event=True)

    def _send(self, headers: dict[str, str], body: object) -> bool:
        try:
            answer = self.http.post(f"/v1/deployments/{GATED}/events", json=body, headers=headers)
        except httpx.TransportError:
            return False
        return self.ledger.note("events", answer) and not answer.json().get("ignored")


class Reader(Door):
    """Reads routes and pages; none may ever fail but by saying that the database is away."""

    def __init__(self, base_url: str, key: str, ledger: DoorLedger, deployments: Sequence[str], *, seed: int) -> None:
        super().__init__(base_url, key, ledger, seed=seed)
        of_one = [
            path
            for name in deployments
            for path in (
                f"/deployments/{name}",
                f"/deployments/{name}/checks",
                f"/deployments/{name}/alerts",
                f"/deployments/{name}/transactions",
                f"/deployments/{name}/ingestion",
                f"/deployments/{name}/second-look",
                f"/deployments/{name}/configure",
                f"/v1/deployments/{name}",
                f"/v1/deployments/{name}/checks",
                f"/v1/deployments/{name}/payload-records?limit=50",
                f"/v1/deployments/{name}/evidence",
                f"/v1/deployments/{name}/intake-counts",
            )
        ]
        self._paths = ["/", "/alerts", "/activity", "/v1/overview", "/v1/alerts", "/v1/deployments", "/metrics", *of_one]

    def ask(self) -> None:
        """One path."""
        path = self.chance.choice(self._paths)
        accepts = "application/json" if path.startswith("/v1") else "text/html"
        answer = self.http.get(path, headers={"Accept": accepts})
        self.ledger.note("reading", answer, allowed=frozenset({httpx.codes.CONFLICT}))  # a page that needs a monitor says so
