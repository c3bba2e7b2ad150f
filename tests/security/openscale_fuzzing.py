"""Made-up requests to every route of the OpenScale face, by schemathesis: bodies that fit its document and bodies that do not.

Ids are those of a subscription that exists, of another one that the key is not for, and of none.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from app.openscale import create_face
from app.security.principals import Role
from app.store.deployments.deployments import Deployments
from tests.builders.openscale import ZERO, added, fairness, subscription
from tests.scenes import PlainSealer
from tests.service import RunningService

FOREIGN_STATUSES = (403, 404)
"""Answers to a key of another deployment."""


@dataclass
class OpenScaleFuzzing:
    """Requests made so far, and the faults that they found."""

    service: RunningService
    mine: str
    foreign: Mapping[str, str]
    requests: int = 0
    faults: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, service: RunningService) -> "OpenScaleFuzzing":
        """Adds two subscriptions with monitors, and a key that is for the second only."""
        ids = [added(service.client, "subscriptions", subscription(name))["metadata"]["id"] for name in ("Mine", "Other")]
        for one in ids:
            added(service.client, "monitor_instances", fairness(one))
        with service.database.transaction() as session:
            number = Deployments(session, PlainSealer()).get(ids[1]).no
        return cls(service, ids[0], service.as_(Role.MANAGE, number))

    def run(self, examples: int) -> None:
        """Tries that many examples of each operation that fit its document, and as many that do not."""
        # Python objects, not an address: the face answers no document of its own.
        for found in schemathesis.openapi.from_dict(create_face().openapi()).get_all_operations():
            operation = found.ok()
            for mode in GenerationMode:
                self._try(operation, mode, examples)

    def _try(self, operation: Any, mode: GenerationMode, examples: int) -> None:  # noqa: ANN401 - schemathesis's
        @settings(
            max_examples=examples,
            phases=[Phase.generate],
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode), whose=st.sampled_from(["mine", "foreign", "none"]))
        def attempt(case: Any, whose: str) -> None:  # noqa: ANN401 - schemathesis's
            self._send(operation, case, whose)

        try:
            attempt()
        except Unsatisfiable:
            # An operation without any input has nothing that does not fit.
            if mode is GenerationMode.POSITIVE:
                self.faults.append(f"{operation.label}: nothing fits its document")

    def _send(self, operation: Any, case: Any, whose: str) -> None:  # noqa: ANN401 - schemathesis's
        ids = {name: self._id(name, whose, made_up) for name, made_up in (case.path_parameters or {}).items()}
        # What deletes may not take away the subscription that the other requests are about.
        if case.method == "DELETE" and whose == "mine":
            return
        sent = case.as_transport_kwargs()
        headers = {"content-type": sent["headers"].get("Content-Type", "application/json"), **(self.foreign if whose == "foreign" else {})}
        address = operation.path.format(**ids)
        try:
            answer = self.service.client.request(case.method, address, content=_content(sent), params=sent.get("params"), headers=headers)
        except (httpx.InvalidURL, UnicodeEncodeError):
            return
        self.requests += 1
        self.faults += [f"{case.method} {address} {_content(sent)!r:.300}: {fault}" for fault in find_faults(answer)]
        if whose == "foreign" and self.mine in address and answer.status_code not in FOREIGN_STATUSES and answer.is_success:
            self.faults.append(f"{case.method} {address}: answered {answer.status_code} to a key of another deployment")

    def _id(self, name: str, whose: str, made_up: object) -> str:
        known = {
            "subscription_id": self.mine,
            "data_set_id": f"payload_logging.{self.mine}",
            "monitor_instance_id": f"fairness.{self.mine}",
            "data_mart_id": ZERO,
            "monitor_definition_id": "fairness",
            "dataset_type": "feedback",
        }
        return (
            str(httpx.URL(path="/" + str(made_up).encode("utf-8", "replace").decode()).raw_path.decode())[1:]
            if whose == "none"
            else (known.get(name, "none"))
        )


def _content(sent: Mapping[str, Any]) -> bytes:
    if "json" in sent:
        return json.dumps(sent["json"]).encode()
    data = sent.get("data")
    return data if isinstance(data, bytes) else b"" if data is None else json.dumps(data, default=str).encode()


def find_faults(answer: httpx.Response) -> Iterator[str]:
    """Yields what is wrong with an answer: a fault of the service, or an error that the SDK cannot show."""
    if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
        yield f"answered {answer.status_code}: {answer.text:.300}"
    elif answer.is_error:
        try:
            found = answer.json()
            is_shown = bool(found["errors"][0]["code"] and found["errors"][0]["message"]) and "trace" in found
        except (ValueError, KeyError, TypeError, IndexError):
            is_shown = False
        if not is_shown:
            yield f"answered {answer.status_code} without IBM's envelope: {answer.text:.300}"
