"""Clients of Evenhand's REST API and of the model, around httpx."""

import threading
from collections.abc import Sequence
from typing import Any

import httpx

from ...base.errors import SetupError, Unavailable
from .applicants import FEATURES, Applicant

TIMEOUT_SECONDS = 30
PAUSES = (0.2, 0.5, 1, 2, 4, 8, 8, 8)


class Stopped(Exception):
    pass


class Http:
    def __init__(
        self, base_url: str, stop: threading.Event, *, headers: dict[str, str] | None = None
    ) -> None:
        self._stop = stop
        # Loopback must not go through a proxy.
        self._client = httpx.Client(
            base_url=base_url, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False
        )

    def request(self, method: str, path: str, content: Any = None, **query: str) -> httpx.Response:  # noqa: ANN401 - any JSON
        """Sends text as CSV, else JSON. Raises Unavailable after nine attempts of at most 30 seconds, and
        Stopped.
        """
        body = (
            {"content": content, "headers": {"Content-Type": "text/csv"}}
            if isinstance(content, str)
            else {"json": content}
        )
        for pause in (0, *PAUSES):
            if self._stop.wait(pause):
                raise Stopped
            try:
                response = self._client.request(method, path, **body, params=query)
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {error}".removesuffix(": ")
            else:
                # The service starts or its database is away: both pass.
                if response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                    return response
                problem = response.text
        address = f"{str(self._client.base_url).rstrip('/')}/{path.lstrip('/')}"
        raise Unavailable(
            f"{address} did not answer in {1 + len(PAUSES)} attempts (the last one: {problem}). Nothing that "
            "was logged is lost; if the machine is busy, run the command again."
        )

    def ask(self, method: str, path: str, content: Any = None, **query: str) -> Any:  # noqa: ANN401 - any JSON
        """Raises SetupError of a refusal, with its message; Unavailable and Stopped as `request`."""
        return _read_content(self.request(method, path, content, **query))

    def find(self, path: str) -> Any | None:  # noqa: ANN401 - as above
        response = self.request("GET", path)
        return None if response.status_code == httpx.codes.NOT_FOUND else _read_content(response)


def _read_content(response: httpx.Response) -> Any:  # noqa: ANN401 - any JSON
    if response.is_error:
        raise SetupError(
            f"{response.request.method} {response.request.url} was answered {response.status_code}: "
            f"{response.text}"
        )
    return response.json()


class Evenhand:
    def __init__(self, http: Http, deployment_id: str) -> None:
        self.http = http
        self.address = f"/v1/deployments/{deployment_id}"

    def log(self, kind: str, records: Sequence[dict[str, Any]], **query: str) -> None:
        if not records:
            return
        receipt = self.http.ask("POST", f"{self.address}/{kind}", {"records": list(records)}, **query)
        if receipt["rejected"]:
            raise SetupError(
                f"{receipt['rejected']} of {receipt['sent']} {kind} were rejected: "
                f"{receipt['rejections'] or receipt['conflicts']}"
            )


def score(model: Http, people: Sequence[Applicant]) -> list[dict[str, Any]]:
    answer = model.ask(
        "POST",
        "/score",
        {"fields": list(FEATURES), "values": [list(applicant.values()) for applicant in people]},
    )
    return [dict(zip(answer["fields"], row, strict=True)) for row in answer["values"]]
