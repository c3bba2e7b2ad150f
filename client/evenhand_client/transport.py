"""One HTTP request at a time over one connection that is kept open, by the standard library or by an `httpx.Client`."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Protocol
from urllib.parse import quote, urlsplit


@dataclass(frozen=True)
class Answer:
    """Answer of the service; the names of the headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def members(self) -> dict[str, Any]:
        """Returns the members of the JSON object; none if it is something else, as a proxy's page."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


class NoAnswer(Exception):
    """The service did not answer, for whatever reason."""


class HttpxLike(Protocol):
    def request(self, method: str, url: str, *, content: bytes, headers: dict[str, str]) -> Any:  # noqa: ANN401 - an httpx.Response
        """Sends a request and returns its answer."""


class Transport:
    """The addresses of one deployment. Used by one thread at a time."""

    def __init__(self, url: str, key: str, deployment: str, timeout: float, http: HttpxLike | None = None) -> None:
        self._parts = urlsplit(url)
        self._path = f"{self._parts.path.rstrip('/')}/v1/deployments/{quote(deployment, safe='')}"
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "User-Agent": "evenhand-client"}
        self._headers["Evenhand-Source"] = "client"
        self._timeout = timeout
        self._http = http
        self._connection: HTTPConnection | None = None

    def send(self, method: str, path: str, body: bytes) -> Answer:
        """Sends a request to an address below the deployment.

        Raises:
        NoAnswer: there was none. The request may have been carried out.
        """
        try:
            if self._http is not None:
                return self._send_by_httpx(self._http, method, path, body)
            is_new = self._connection is None
            try:
                return self._send(method, path, body)
            except (HTTPException, ConnectionError):
                if is_new:
                    raise
                # The server closed the idle connection. Sending again is safe: every record has its id.
                self.close()
                return self._send(method, path, body)
        except Exception as error:  # anything may come from a socket, a proxy or another library
            self.close()
            raise NoAnswer(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Closes the connection; the next request opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def forget(self) -> None:
        """Leaves the connection to the process that this one was forked from."""
        self._connection = None

    def _send(self, method: str, path: str, body: bytes) -> Answer:
        if self._connection is None:
            self._connection = self._connect()
        self._connection.request(method, f"{self._path}{path}", body, self._headers)
        response = self._connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())

    def _connect(self) -> HTTPConnection:
        host = self._parts.hostname or ""
        if self._parts.scheme == "https":
            return HTTPSConnection(host, self._parts.port, timeout=self._timeout, context=ssl.create_default_context())
        return HTTPConnection(host, self._parts.port, timeout=self._timeout)

    def _send_by_httpx(self, client: HttpxLike, method: str, path: str, body: bytes) -> Answer:
        address = f"{self._parts.scheme}://{self._parts.netloc}{self._path}{path}"
        response = client.request(method, address, content=body, headers=dict(self._headers))
        return Answer(response.status_code, {name.lower(): value for name, value in response.headers.items()}, response.content)
