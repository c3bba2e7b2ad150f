"""Calls of the OpenScale SDK: whether each method works, and what was sent and answered."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from operator import attrgetter
from typing import Any

import requests
import requests.adapters
from ibm_cloud_sdk_core import ApiException
from ibm_cloud_sdk_core.authenticators import BearerTokenAuthenticator, CloudPakForDataAuthenticator, IAMAuthenticator
from ibm_watson_openscale import APIClient
from ibm_watson_openscale.base_classes.watson_open_scale_v2 import JsonPatchOperation
from shapes import ids_of, shape_of

ZERO = "00000000-0000-0000-0000-000000000000"
WORKS, ERROR, ABSENT = "works", "answers an error", "not in this SDK"

CLEAR = (404, 409, 422)

KINDS = ("bearer", "password", "api_key", "iam")


@dataclass
class Plan:
    """Address, model and log-ins of a walk. A worker must be running.

    `tls_url` is the service behind a proxy that ends TLS, `provider_url` a custom provider that lists its deployments.
    """

    url: str
    model_url: str
    key: str
    user: str
    password: str
    tls_url: str
    provider_url: str

    def client(self, kind: str, url: str = "") -> Any:  # noqa: ANN401 - the SDK's client
        url = url or self.url
        own = {
            "bearer": BearerTokenAuthenticator(self.key),
            "password": CloudPakForDataAuthenticator(url=url, username=self.user, password=self.password),
            "api_key": CloudPakForDataAuthenticator(url=url, username="anybody", apikey=self.key),
            "iam": IAMAuthenticator(apikey=self.key, url=url),
        }[kind]
        return APIClient(service_url=url, service_instance_id=ZERO if kind == "iam" else None, authenticator=own)


@dataclass
class Recorder:
    """The calls that the SDK makes and the answers that it gets, as they go over the wire."""

    plan: Plan
    calls: list[dict[str, Any]] = field(default_factory=list)

    def start(self) -> None:
        send = requests.adapters.HTTPAdapter.send

        def listen(adapter: Any, request: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - those of requests
            body = request.body
            if hasattr(body, "read"):
                body = body.read()
                request.body = io.BytesIO(body)
            answer = send(adapter, request, *args, **options)
            described = self._describe(request, body, answer)
            # Of a question that is asked again and again the last answer is the one that the SDK waited for.
            asked = {"method": "GET", "path": described["path"]}
            if self.calls and request.method == "GET" and asked.items() <= self.calls[-1].items():
                self.calls.pop()
            self.calls.append(described)
            return answer

        requests.adapters.HTTPAdapter.send = listen  # type: ignore[method-assign, assignment]

    def _describe(self, request: Any, body: Any, answer: Any) -> dict[str, Any]:  # noqa: ANN401 - those of requests
        try:
            answered = answer.json()
        except ValueError:
            answered = None
        written = json.dumps(
            {
                "method": request.method,
                "path": request.url.removeprefix(self.plan.url),
                "content_type": request.headers.get("content-type"),
                "body": body.decode() if isinstance(body, bytes) else body,
                "status": answer.status_code,
                "location": answer.headers.get("location"),
                "shape": shape_of(answered),
                "ids": list(ids_of(answered)),
            }
        )
        for secret, name in {self.plan.key: "KEY", self.plan.password: "PASSWORD", self.plan.model_url: "MODEL"}.items():
            written = written.replace(secret, name)
        described: dict[str, Any] = json.loads(written)
        return described


@dataclass
class Walk:
    """Calls methods of the client, or another `call`, and keeps what each did. After a blank, a name says how it is called."""

    client: Any
    states: dict[str, str] = field(default_factory=dict)

    def does(self, name: str, /, *arguments: Any, call: Callable[..., Any] | None = None, **options: Any) -> Any:  # noqa: ANN401 - the SDK's
        """Calls a method that must work, and returns what it returns; None where this SDK has no such method."""
        try:
            method = call or attrgetter(name.partition(" ")[0])(self.client)
            signature(method).bind(*arguments, **options)
        except (AttributeError, TypeError):
            self.states[name] = ABSENT
            return None
        result = method(*arguments, **options)
        self.states[name] = WORKS
        return result

    def refuses(self, name: str, /, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - as above
        try:
            self.does(name, *arguments, **options)
        except ApiException as error:
            # To a question for headers only the reason is in a header, which the SDK shows after its own words.
            is_said = "Unknown error" not in str(error.message) or "not supported by Evenhand" in str(error)
            if error.code not in CLEAR or not error.message or not is_said:
                raise
            self.states[name] = ERROR
        assert self.states[name] != WORKS, f"{name}: no error"


def change(path: str = "/description", value: object = "changed") -> list[JsonPatchOperation]:
    return [JsonPatchOperation(op="replace", path=path, value=value)]
