"""The operator's receiver of the audit: a syslog server over TCP or TLS, or a collector of OpenTelemetry over HTTP. Stores nothing."""

import json
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from ..domain.audit import AuditEvent, AuditOutcome, event_document
from ..errors import SetupError, Unavailable
from ..settings import Settings
from .transport import load_tls_context

ANSWER_SECONDS: Final = 10.0
"""Seconds for each step of sending: to connect, to pass on, to be answered."""

_PORTS: Final = {"syslog+tcp": 601, "syslog+tls": 6514}
_FACILITY: Final = 13
"""Log audit (RFC 5424)."""

_SYSLOG_SEVERITY: Final = {AuditOutcome.DONE: 6, AuditOutcome.REFUSED: 4, AuditOutcome.FAILED: 3}
_OTLP_SEVERITY: Final = {AuditOutcome.DONE: (9, "INFO"), AuditOutcome.REFUSED: (13, "WARN"), AuditOutcome.FAILED: (17, "ERROR")}


class SinkAway(Unavailable):
    """The sink did not take the events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSink:
    """Address of a sink, without a password. `token` is sent to a collector as a bearer token."""

    address: str
    token: str | None = field(default=None, repr=False)

    def send(self, events: Sequence[AuditEvent]) -> None:
        """Returns when the sink has taken the sealed events: a collector answered, a syslog server read up to the end.

        Raises:
            SinkAway: it did not, or nobody knows whether it did.
        """
        try:
            if urlsplit(self.address).scheme in _PORTS:
                self._send_to_syslog(events)
            else:
                self._send_to_collector(events)
        except (OSError, ssl.SSLError, httpx.HTTPError) as error:
            raise SinkAway(f"The audit sink {self.address} did not take events: {error or type(error).__name__}.") from error

    def _send_to_syslog(self, events: Sequence[AuditEvent]) -> None:
        parts = urlsplit(self.address)
        host = parts.hostname or ""
        with socket.create_connection((host, parts.port or _PORTS[parts.scheme]), timeout=ANSWER_SECONDS) as plain:
            stream = load_tls_context(None).wrap_socket(plain, server_hostname=host) if parts.scheme == "syslog+tls" else plain
            with stream:
                # Octet counting (RFC 6587, RFC 5425): a text may hold a line break.
                stream.sendall(b"".join(b"%d %b" % (len(message), message) for message in map(syslog_message, events)))
                _await_end(stream)

    def _send_to_collector(self, events: Sequence[AuditEvent]) -> None:
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        with httpx.Client(verify=load_tls_context(None), trust_env=False, timeout=ANSWER_SECONDS) as http:
            answer = http.post(self.address, json=otlp_logs(events), headers=headers)
        if not answer.is_success:
            raise SinkAway(f"The audit sink {self.address} answered {answer.status_code}.")


def audit_sink_of(settings: Settings) -> AuditSink | None:
    """Returns the sink of the settings; None where none is named.

    Raises:
        SetupError: its address cannot be used.
    """
    address = settings.audit_sink.strip()
    if not address:
        return None
    try:
        parts = urlsplit(address)
        is_usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_usable = False
    else:
        is_syslog, is_http = parts.scheme in _PORTS, parts.scheme in {"http", "https"}
        is_usable &= (is_syslog and not parts.path.strip("/")) or (is_http and bool(parts.path.strip("/")))
        is_usable &= parts.username is None and not parts.query and not parts.fragment
    if not is_usable:
        raise SetupError(
            "EVENHAND_AUDIT_SINK cannot be used: write it as syslog+tls://host:6514, syslog+tcp://host:601 or, for a collector of"
            " OpenTelemetry, https://host:4318/v1/logs, without a user. A token belongs into EVENHAND_AUDIT_SINK_TOKEN."
        )
    token = settings.audit_sink_token
    return AuditSink(address=address, token=None if token is None else token.get_secret_value() or None)


def audit_line(event: AuditEvent) -> str:
    """Returns a sealed event as a line of an export: JSON in ASCII, with its hash."""
    return json.dumps({**event_document(event), "hash": event.hash.hex() if event.hash else None}, allow_nan=False)


def syslog_message(event: AuditEvent) -> bytes:
    """Returns the event as a message of RFC 5424, whose text is the line of an export. Its id is the action."""
    priority = 8 * _FACILITY + _SYSLOG_SEVERITY[AuditOutcome(event.outcome)]
    at = event.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    action = "".join(letter for letter in event.action if "!" <= letter <= "~")[:32] or "-"
    return f"<{priority}>1 {at} {_host_name()} evenhand - {action} - {audit_line(event)}".encode("ascii")


def otlp_logs(events: Sequence[AuditEvent]) -> dict[str, Any]:
    """Returns the events as a request of OTLP in JSON: one log record each, whose body is the line of an export."""
    own = [_attribute("service.name", "evenhand"), _attribute("host.name", _host_name())]
    records = [_log_record(event) for event in events]
    scope = {"scope": {"name": "evenhand.audit"}, "logRecords": records}
    return {"resourceLogs": [{"resource": {"attributes": own}, "scopeLogs": [scope]}]}


def _log_record(event: AuditEvent) -> Mapping[str, Any]:
    number, text = _OTLP_SEVERITY[AuditOutcome(event.outcome)]
    at = event.at.astimezone(UTC)
    nanoseconds = (int(at.timestamp()) * 10**6 + at.microsecond) * 1000
    known = {"action": event.action, "actor": event.actor, "outcome": event.outcome, "deployment": event.deployment_id}
    return {
        "timeUnixNano": str(nanoseconds),
        "severityNumber": number,
        "severityText": text,
        "body": {"stringValue": audit_line(event)},
        "attributes": [_attribute(f"evenhand.{name}", value) for name, value in known.items() if value is not None],
    }


def _attribute(name: str, value: str) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value}}


def _host_name() -> str:
    name = socket.gethostname()
    return name if name.isascii() and name.isprintable() and " " not in name else "-"


def _await_end(stream: socket.socket) -> None:
    """Returns when the server has closed its side after ours, which it does once it has read everything, or keeps it open."""
    if isinstance(stream, ssl.SSLSocket):
        # `unwrap` waits for the server's own end of TLS; a server that closes without one has read ours all the same.
        with suppress(ssl.SSLError, TimeoutError):
            stream.unwrap()
        return
    stream.shutdown(socket.SHUT_WR)
    with suppress(TimeoutError):
        while stream.recv(4096):
            pass
