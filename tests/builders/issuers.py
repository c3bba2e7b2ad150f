"""A real issuer of OpenID Connect on loopback: discovery, keys, the page to log in (which asks nothing), tokens, log-out."""

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from typing import Any
from urllib.parse import parse_qs, quote, unquote_plus, urlencode, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

CLIENT, SECRET, AUDIENCE = "evenhand", "a secret of tests / + &", "evenhand-api"


def make_key(name: str, kind: str = "EC") -> Any:  # noqa: ANN401 - a private key
    """A private key of that name: the same each time."""
    return _keep_key(name, kind)


@cache
def _keep_key(_name: str, kind: str) -> Any:  # noqa: ANN401 - as above
    return ec.generate_private_key(ec.SECP256R1()) if kind == "EC" else rsa.generate_private_key(65_537, 2048)


def public_jwk(name: str, kind: str = "EC") -> dict[str, Any]:
    """The public part of that key, as issuers publish it."""
    written = (ECAlgorithm if kind == "EC" else RSAAlgorithm).to_jwk(make_key(name, kind).public_key(), as_dict=True)
    return {**written, "kid": name, "use": "sig"}


def sign(claims: Mapping[str, Any], key: str = "first", *, kind: str = "EC", **headers: Any) -> str:  # noqa: ANN401 - of JSON
    """A token, signed with that key."""
    algorithm = "ES256" if kind == "EC" else "RS256"
    return jwt.encode(dict(claims), make_key(key, kind), algorithm=algorithm, headers={"kid": key, **headers})


@dataclass
class LocalIssuer:
    """The issuer, and what tests may change about its answers."""

    url: str
    subject: dict[str, Any] = field(default_factory=lambda: {"sub": "0001", "preferred_username": "ada", "groups": ["readers"]})
    """Claims of the person who logs in next."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Claims of ID tokens that differ from those that are right."""
    signing_key: str = "first"
    published: list[str] = field(default_factory=lambda: ["first"])
    forged: str | None = None
    """ID token to answer with, whatever was asked."""
    sends_back_to: str | None = None
    """Where browsers are sent back to, instead of the public address that the service names."""
    fetches: int = 0
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    """Reasons for which codes were not exchanged."""

    def claims(self, **changes: object) -> dict[str, Any]:
        """Claims of a token that is right for the API, but for the changes."""
        now = int(time())
        return {"iss": self.url, "aud": AUDIENCE, "iat": now, "exp": now + 300, **self.subject, **changes}

    def bearer(self, **changes: object) -> dict[str, str]:
        """Headers with an access token."""
        return {"Authorization": f"Bearer {sign(self.claims(**changes), self.signing_key)}"}

    def settings(self, *rules: Mapping[str, str], **changes: object) -> dict[str, object]:
        """Settings of a service whose people log in here."""
        usual = [
            {"claim": "groups", "value": "readers", "role": "read"},
            {"claim": "groups", "value": "auditors", "role": "aggregates"},
            {"claim": "groups", "value": "managers", "role": "manage"},
            {"claim": "groups", "value": "admins", "role": "admin"},
            {"claim": "realm_access.roles", "value": "scorer", "role": "ingest"},
        ]
        return {
            "oidc_issuer": self.url,
            "oidc_client_id": CLIENT,
            "oidc_client_secret": SECRET,
            "oidc_audience": AUDIENCE,
            "oidc_roles": json.dumps([*usual, *rules]),
            "public_url": "http://localhost:8000",
            **changes,
        }

    def authorise(self, sent: Mapping[str, str]) -> str:
        """The address to which the browser is sent back."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = dict(sent)
        back = sent["redirect_uri"]
        if self.sends_back_to is not None:
            back = f"{self.sends_back_to}{urlsplit(back).path}"
        return f"{back}?{urlencode({'code': code, 'state': sent['state'], 'iss': self.url, 'session_state': 'x'})}"

    def exchange(self, sent: Mapping[str, str], authorization: str) -> dict[str, Any] | None:
        """The answer of the token endpoint; None for a code that is not accepted."""
        asked = self.codes.pop(sent.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(sent.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
        name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        checks = {
            "code": asked is not None,
            "verifier": asked is not None and asked["code_challenge"] == challenge and asked["code_challenge_method"] == "S256",
            "redirect_uri": asked is not None and asked["redirect_uri"] == sent.get("redirect_uri"),
            "client": (unquote_plus(name), unquote_plus(secret)) == (CLIENT, SECRET),
        }
        self.refused += [name for name, is_right in checks.items() if not is_right]
        if asked is None or not all(checks.values()):
            return None
        claims = self.claims(aud=CLIENT, azp=CLIENT, nonce=asked["nonce"]) | self.changes
        return {"access_token": "not read", "token_type": "Bearer", "id_token": self.forged or sign(claims, self.signing_key)}

    def document(self, path: str) -> dict[str, Any] | None:
        """The document at that path."""
        self.fetches += 1
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorise",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "end_session_endpoint": f"{self.url}/logout",
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
                "unknown_to_us": [1],
            }
        return {"keys": [public_jwk(name) for name in self.published]} if path == "/keys" else None


@contextmanager
def running_issuer() -> Iterator[LocalIssuer]:
    """An issuer that answers over HTTP until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorise":
                sent = {name: values[0] for name, values in parse_qs(parts.query).items()}
                self.send_response(302)
                self.send_header("Location", issuer.authorise(sent))
                self.end_headers()
                return
            self._answer(issuer.document(quote(parts.path)))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            sent = {name: values[0] for name, values in parse_qs(body).items()}
            self._answer(issuer.exchange(sent, self.headers.get("Authorization", "")))

        def log_message(self, *_: object) -> None:
            pass

        def _answer(self, content: dict[str, Any] | None) -> None:
            body = json.dumps(content or {"error": "invalid_grant"}).encode()
            self.send_response(200 if content else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer = LocalIssuer(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()


def begin_log_in(browser: httpx.Client, next_path: str = "/settings") -> str:
    """Begins a log-in in a browser; returns the path of the callback, with what the issuer sends back."""
    begun = browser.get("/login/oidc", params={"next": next_path})
    assert begun.status_code == 303, begun.text
    back = httpx.get(begun.headers["location"], trust_env=False)
    assert back.status_code == 302
    parts = urlsplit(back.headers["location"])
    return f"{parts.path}?{parts.query}"


def log_in_at(issuer: LocalIssuer, browser: httpx.Client, next_path: str = "/settings") -> httpx.Response:
    """Logs the person in who is the issuer's next; returns the answer of the callback."""
    assert issuer.url
    return browser.get(begin_log_in(browser, next_path))
