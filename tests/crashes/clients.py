"""Clients that log records and labels through HTTP and never rest until each request is acknowledged, or is given up."""

import random
import threading
import time
import uuid
from typing import Any

import httpx

from tests.crashes.ledger import Ledger, Record
from tests.models.rules import RuleScorer

TIMEOUT_SECONDS = 15.0
GIVE_UP = 0.1
"""How often a client does not repeat a failed request: its records may be stored or not, but whole."""

LARGEST_BATCH = 40
LONGEST_REST_SECONDS = 0.06
NOTES = ("", "plain", "tab\tnew line\nend", "back\\slash \\N \\.", "quote \" and '", "Zoë ✓ 漢字", "\\u0041 {json}")

_RULE = RuleScorer()


def applicant(chance: random.Random, *, record_id: str | None = None) -> Record:
    """One scored applicant, with an id of the client's."""
    sex, income, age = chance.choice(("male", "female")), chance.randrange(10_000, 90_000), chance.randrange(18, 80)
    ((prediction, probability),) = _RULE.predict(("sex", "income", "age"), [(sex, income, age)])
    return {
        "id": record_id or uuid.UUID(int=chance.getrandbits(128)).hex,
        "features": {"sex": sex, "income": income, "age": age},
        "meta": {"note": chance.choice(NOTES), "weight": chance.random()},
        "prediction": prediction,
        "probability": probability,
        **({"scored_at": f"2026-01-02T03:04:{chance.randrange(60):02d}.250Z"} if chance.random() < 0.5 else {}),
    }


class Client(threading.Thread):
    """One connection's worth of load on a few deployments, until it is told to stop; then it finishes what it has begun."""

    def __init__(self, base_url: str, key: str, deployments: list[str], ledger: Ledger, *, seed: int) -> None:
        super().__init__(name=f"client-{seed}", daemon=True)
        self._http = httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT_SECONDS)
        self._deployments = deployments
        self._ledger = ledger
        self._chance = random.Random(seed)
        self._stopping = threading.Event()
        self._stopped_at = 0.0
        self._mine: list[tuple[str, Record]] = []
        """Acknowledged records, to be labelled or sent again."""

    def stop(self) -> None:
        """Begin nothing new."""
        self._stopping.set()

    def close(self) -> None:
        """Ends the connection of one that never ran."""
        self._http.close()

    def run(self) -> None:
        """Request after request."""
        rounds = (self._log_one, self._log_batch, self._label, self._label_first, self._send_again)
        with self._http:
            while not self._stopping.is_set():
                self._chance.choices(rounds, weights=(5, 2, 2, 1, 1))[0]()
                self._stopping.wait(self._chance.uniform(0, LONGEST_REST_SECONDS))

    def log(self, deployment: str, records: list[Record], *, may_give_up: bool = True) -> bool:
        """Whether the records were acknowledged."""
        self._ledger.sending_payload(deployment, records)
        if not self._deliver(deployment, "payload", records, may_give_up=may_give_up):
            return False
        self._mine = [*self._mine[-500:], *((deployment, record) for record in records)]
        return True

    def _log_one(self) -> None:
        self.log(self._chance.choice(self._deployments), [applicant(self._chance)])

    def _log_batch(self) -> None:
        size = self._chance.randint(2, LARGEST_BATCH)
        self.log(self._chance.choice(self._deployments), [applicant(self._chance) for _ in range(size)])

    def _label(self) -> None:
        if self._mine:
            deployment, record = self._chance.choice(self._mine)
            self._send_labels(deployment, [record["id"]])

    def _label_first(self) -> None:
        """Labels that arrive before their records."""
        deployment, records = self._chance.choice(self._deployments), [applicant(self._chance) for _ in range(3)]
        self._send_labels(deployment, [record["id"] for record in records])
        self.log(deployment, records)

    def _send_again(self) -> None:
        """Records that were acknowledged before, in another batch: all of them must be duplicates."""
        if not self._mine:
            return
        deployment = self._chance.choice(self._mine)[0]
        again = {record["id"]: record for of, record in self._chance.sample(self._mine, min(20, len(self._mine))) if of == deployment}
        if again:
            self._deliver(deployment, "payload", list(again.values()), all_known=True)

    def _send_labels(self, deployment: str, ids: list[str]) -> None:
        labels = [{"id": record_id, "label": int(record_id[0], 16) % 2} for record_id in ids]
        self._ledger.sending_labels(deployment, labels)
        self._deliver(deployment, "feedback", labels)

    def _deliver(self, deployment: str, kind: str, records: list[Record], *, may_give_up: bool = True, all_known: bool = False) -> bool:
        """Sends the same request until it is acknowledged; whether it was."""
        while True:
            began = time.monotonic()
            receipt = self._post(f"/v1/deployments/{deployment}/{kind}-records", records)
            if receipt is not None:
                if not receipt or not self._is_right(receipt, len(records), all_known=all_known):
                    return False
                self._ledger.acknowledge(deployment, kind, [record["id"] for record in records], (began, time.monotonic()))
                if kind == "payload":
                    self._ledger.found_stored(receipt["duplicate"], on_purpose=all_known)
                return True
            self._ledger.missed()
            if may_give_up and self._chance.random() < GIVE_UP:
                return False
            time.sleep(self._chance.uniform(0.02, 0.2))

    def _post(self, path: str, records: list[Record]) -> dict[str, Any] | None:
        """The receipt; None where the request must be repeated."""
        try:
            answer = self._http.post(path, json={"records": records})
        except httpx.TransportError:
            return None
        if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            return None
        if answer.status_code != httpx.codes.OK:
            self._ledger.complain(f"{path} answered {answer.status_code}: {answer.text[:300]}")
            return {}
        receipt: dict[str, Any] = answer.json()
        return receipt

    def _is_right(self, receipt: dict[str, Any], sent: int, *, all_known: bool) -> bool:
        right = receipt["accepted"] + receipt["duplicate"] == sent and not receipt["rejected"]
        if not right or (all_known and receipt["accepted"]):
            self._ledger.complain(f"of {sent} records (stored before: {all_known}) the receipt says {str(receipt)[:300]}")
            return False
        return True
