"""A scoring server written for OpenScale, on loopback: discovery at `/v1/deployments`, scoring at `/v1/deployments/credit/online`.

    with custom_provider(RuleScorer(), "Basic dTpw") as provider:
        ...credentials with provider.url...

It answers 401 to every request without that Authorization header, and repeats in it what it was sent.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.models.serving import Model

TOKENS: dict[str, dict[str, Any]] = {
    "/identity/token": {"access_token": "token-4c1", "expires_in": 3600, "expiration": 4_000_000_000},
    "/icp4d-api/v1/authorize": {"token": "token-4c1", "_messageCode_": "success"},
    "/siusermgr/api/1.0/apikeys/token": {"token": "token-4c1", "token_type": "Bearer", "expires_in": 7200},
}
"""Answers of the services that give a token for a key; the server plays each of them."""


@dataclass
class CustomProvider:
    """What the server serves, and how often it was asked."""

    model: Model
    authorization: str | None
    port: int = 0
    discoveries: int = 0
    scored: int = 0
    refused: int = 0
    asked_for_tokens: list[tuple[str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def resource(self) -> dict[str, Any]:
        """The one deployment that it lists."""
        return {
            "metadata": {"guid": "credit", "created_at": "2026-01-01T00:00:00Z", "modified_at": "2026-01-01T00:00:00Z"},
            "entity": {
                "name": "Credit",
                "scoring_url": f"{self.url}/v1/deployments/credit/online",
                "asset": {"guid": "credit-model", "name": "Credit"},
                "asset_properties": {"problem_type": "binary", "input_data_type": "structured"},
            },
        }


@contextmanager
def custom_provider(model: Model, authorization: str | None) -> Iterator[CustomProvider]:
    """The server, until the block ends."""
    provider = CustomProvider(model, authorization)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self._is_known():
                provider.discoveries += self.path == "/v1/deployments"
                self._answer(200 if self.path == "/v1/deployments" else 404, {"count": 1, "resources": [provider.resource]})

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["content-length"])).decode()
            if self.path in TOKENS:
                provider.asked_for_tokens.append((self.path, sent))
                self._answer(200, TOKENS[self.path])
            elif self._is_known():
                body = json.loads(sent)
                provider.scored += len(body["values"])
                found = [list(prediction) for prediction in provider.model.predict(body["fields"], body["values"])]
                self._answer(200, {"fields": ["prediction", "probability"], "values": found})

        def _is_known(self) -> bool:
            sent = self.headers.get("authorization")
            if sent == provider.authorization:
                return True
            provider.refused += 1
            self._answer(401, {"error": f"not {sent}"})
            return False

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
