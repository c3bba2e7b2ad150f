"""Calls of the OpenScale SDK: whether each method works, and what was sent and answered."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import requests
import requests.adapters
from ibm_cloud_sdk_core import ApiException
from ibm_cloud_sdk_core.authenticators import BearerTokenAuthenticator, CloudPakForDataAuthenticator, IAMAuthenticator
from ibm_watson_openscale import APIClient
from ibm_watson_openscale.base_classes.watson_open_scale_v2 import (
    SparkStruct,
)
from shapes import ids_of, shape_of

ZERO = "00000000-0000-0000-0000-000000000000"
WORKS, ERROR, BROKEN, ABSENT = "works", "answers an error", "broken", "not in this SDK"

FEATURES = ["sex", "income", "age"]
RICH = 50_000

CLEAR = (404, 409, 422)


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
    tls_url: str = ""
    provider_url: str = ""

    def client(self, kind: str, url: str = "") -> Any:  # noqa: ANN401 - the SDK's client
        """Returns a client with that authenticator."""
        url = url or self.url
        if kind == "bearer":
            return APIClient(service_url=url, authenticator=BearerTokenAuthenticator(self.key))
        if kind == "password":
            own = CloudPakForDataAuthenticator(url=url, username=self.user, password=self.password)
            return APIClient(service_url=url, authenticator=own)
        if kind == "api_key":
            own = CloudPakForDataAuthenticator(url=url, username="anybody", apikey=self.key)
            return APIClient(service_url=url, authenticator=own)
        own = IAMAuthenticator(apikey=self.key, url=url)
        return APIClient(service_url=url, service_instance_id=ZERO, authenticator=own)


KINDS = ("bearer", "password", "api_key", "iam")


@dataclass
class Recorder:
    """The calls that the SDK makes and the answers that it gets, as they go over the wire."""

    plan: Plan
    calls: list[dict[str, Any]] = field(default_factory=list)

    def start(self) -> None:
        """Listens to every call from now on."""
        send = requests.adapters.HTTPAdapter.send

        def listen(adapter: Any, request: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - those of requests
            body = request.body
            if hasattr(body, "read"):
                body = body.read()
                request.body = io.BytesIO(body)
            answer = send(adapter, request, *args, **options)
            described = self._describe(request, body, answer)
            if (
                described["method"] == "GET"
                and self.calls
                and (self.calls[-1]["method"], self.calls[-1]["path"]) == (described["method"], described["path"])
            ):
                self.calls.pop()
            self.calls.append(described)
            return answer

        requests.adapters.HTTPAdapter.send = listen  # type: ignore[method-assign, assignment]

    def _describe(self, request: Any, body: Any, answer: Any) -> dict[str, Any]:  # noqa: ANN401 - those of requests
        text = body.decode() if isinstance(body, bytes) else body if isinstance(body, str) else None
        try:
            answered = answer.json()
        except ValueError:
            answered = None
        described = {
            "method": request.method,
            "path": request.url.removeprefix(self.plan.url),
            "content_type": request.headers.get("content-type"),
            "body": text,
            "status": answer.status_code,
            "location": answer.headers.get("location"),
            "shape": shape_of(answered),
            "ids": list(ids_of(answered)),
        }
        hidden = {self.plan.key: "KEY", self.plan.password: "PASSWORD", self.plan.model_url: "MODEL"}
        written = json.dumps(described)
        for secret, name in hidden.items():
            written = written.replace(secret, name)
        found: dict[str, Any] = json.loads(written)
        return found


@dataclass
class Walk:
    """Calls methods of the client, or another `call`, and keeps what each did. After a blank, a name says how it is called."""

    client: Any
    found: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    def does(self, name: str, /, *arguments: Any, call: Callable[..., Any] | None = None, **options: Any) -> Any:  # noqa: ANN401 - the SDK's
        """Calls a method that must work, and returns what it returns."""
        try:
            result = (call or self._find(name))(*arguments, **options)
        except AttributeError as error:
            if "object has no attribute" not in str(error):
                raise
            self.found[name] = ABSENT
            return None
        except Exception as error:
            self.found[name], self.said[name] = BROKEN, f"{type(error).__name__}: {error}"
            raise
        self.found[name] = WORKS
        return result

    def refuses(self, name: str, /, *arguments: Any, call: Callable[..., Any] | None = None, **options: Any) -> None:  # noqa: ANN401 - as above
        """Calls a method that must answer a clear error."""
        try:
            (call or self._find(name))(*arguments, **options)
        except ApiException as error:
            # To a question for headers only the reason is in a header, which the SDK shows after its own words.
            is_said = "Unknown error" not in str(error.message) or "not supported by Evenhand" in str(error)
            clear = error.code in CLEAR and bool(error.message) and is_said
            self.found[name], self.said[name] = (ERROR if clear else BROKEN), f"{error.code}: {error.message}"
        except AttributeError:
            self.found[name] = ABSENT
        except Exception as error:  # noqa: BLE001 - a refusal of the SDK itself shows nothing of ours
            self.found[name], self.said[name] = BROKEN, f"{type(error).__name__}: {error}"
        else:
            self.found[name], self.said[name] = BROKEN, "no error"

    def _find(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = attrgetter(name.partition(" ")[0])(self.client)
        return method


def rows() -> list[list[Any]]:
    """Returns 40 applicants: 20 men, 20 women, every other one rich."""
    return [["male" if n % 2 else "female", 60_000 if n % 4 in (0, 1) else 20_000, 20 + n] for n in range(40)]


def answers(table: list[list[Any]]) -> list[list[Any]]:
    """Returns the answers of a model that approves men, and women only if rich."""
    return [[1, 0.9] if sex == "male" or income >= RICH else [0, 0.1] for sex, income, _ in table]


def schema(*, with_label: bool = False) -> SparkStruct:
    """Returns the schema of the applicants."""
    types = {"sex": "string", "income": "double", "age": "integer"}
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {"modeling_role": "feature"}} for name, kind in types.items()]
    if with_label:
        fields.append({"name": "approved", "type": "integer", "nullable": True, "metadata": {"modeling_role": "target"}})
    return SparkStruct(type="struct", fields=fields)
