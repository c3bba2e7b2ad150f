"""Failed requests to models and receivers of alerts."""

import os
import re
import socket
import ssl
from collections.abc import Iterator
from http.client import responses

import httpx

from ..base.values import frozen_by_name

_TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_RECORD_STATUSES = frozenset({400, 422})

_ADVICE = {
    401: "Check the deployment's credentials.",
    403: "Check the deployment's credentials.",
    404: "Check the path of the deployment's endpoint.",
    405: "Check the path of the deployment's endpoint.",
    400: "Check that the deployment's features and payload format are what the model takes.",
    415: "Check the deployment's payload format.",
    422: "Check that the deployment's features and payload format are what the model takes.",
    408: "Give the endpoint a longer time-out or a smaller page size.",
    413: "Give the endpoint a smaller page size.",
    429: "Give the endpoint a lower rate limit or concurrency.",
    504: "Give the endpoint a longer time-out or a smaller page size.",
}
_USUAL_ADVICE = "Look at the model server and its log, then check again."

_MAX_EXCERPT_CHARACTERS = 200

_CERTIFICATE_ALERT = re.compile("CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED")


@frozen_by_name
class CallFailure:
    """`what` continues "The model's endpoint HOST …". `is_of_records`: only its records were refused."""

    what: str
    advice: str = _USUAL_ADVICE
    may_pass: bool = False
    is_of_records: bool = False
    retry_after: str | None = None
    answer: bytes = b""
    status: int | None = None


def build_status_failure(response: httpx.Response, answer: bytes, *, quotes: bool = True) -> CallFailure:
    status = response.status_code
    what = f"answered {status} {responses.get(status, '')}".rstrip()
    if response.has_redirect_location:
        what += (
            f", a redirect to {response.headers['location'][:_MAX_EXCERPT_CHARACTERS]}"
            if quotes
            else ", a redirect"
        )
        return CallFailure(
            what=what,
            advice="Redirects are not followed: give the deployment the final address.",
            answer=answer,
        )
    return CallFailure(
        what=what,
        advice=_ADVICE.get(status, _USUAL_ADVICE),
        may_pass=status in _TRANSIENT_STATUSES,
        is_of_records=status in _RECORD_STATUSES,
        retry_after=response.headers.get("retry-after"),
        answer=answer,
        status=status,
    )


def build_error_failure(error: httpx.RequestError, *, by_tls: bool = False) -> CallFailure:
    reason = str(error) or type(error).__name__
    causes = list(_list_causes(error))
    alerts = (
        cause.reason
        for cause in causes
        if isinstance(cause, ssl.SSLError) and cause.reason and "ALERT" in cause.reason
    )
    # By TLS 1.3 a server says so after the handshake, with the first answer.
    if complaint := next(filter(_CERTIFICATE_ALERT.search, alerts), None):
        words = complaint.lower().replace("_", " ")
        return CallFailure(
            what=f"did not accept the client certificate, or was shown none and requires one: {words}",
            advice="Give the deployment a certificate that the endpoint trusts (endpoint.tls); the present "
            "one may have expired.",
        )
    if isinstance(error, httpx.ConnectError):
        if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
            return CallFailure(
                what=f"has a certificate that is not trusted: {reason}",
                advice="Give its authority in PEM (endpoint.tls.authority of a deployment, SSL_CERT_FILE "
                "for all), or fix the certificate.",
            )
        for cause in causes:
            if isinstance(cause, OSError) and cause.strerror and not isinstance(cause, socket.gaierror):
                # asyncio writes words of its own over the system's.
                reason = cause.strerror if isinstance(cause, ssl.SSLError) else os.strerror(cause.errno or 0)
        return CallFailure(
            what=f"could not be reached: {reason}",
            advice="Check its address, and that the model server runs.",
            may_pass=True,
        )
    if isinstance(error, (httpx.LocalProtocolError, httpx.UnsupportedProtocol)):
        return CallFailure(
            what="could not be asked: its address or credentials cannot be put into a request",
            advice="Set them again.",
        )
    if isinstance(error, httpx.TransportError):
        # The alert that says so may be lost with the connection.
        advice = (
            f"{_USUAL_ADVICE} It may also require a client certificate (endpoint.tls)."
            if by_tls
            else _USUAL_ADVICE
        )
        return CallFailure(what=f"broke off the connection: {reason}", advice=advice, may_pass=True)
    return CallFailure(what=f"gave an answer that could not be read: {reason}")


def build_timeout_failure(timeout_seconds: float) -> CallFailure:
    return CallFailure(
        what=f"did not answer within {round(timeout_seconds, 3):g} seconds",
        advice="Give the endpoint a longer time-out or a smaller page size, or look at the model server.",
        may_pass=True,
    )


def build_deadline_failure(seconds: float) -> CallFailure:
    return CallFailure(
        what=f"did not answer within the {round(seconds, 3):g} seconds that were left",
        advice="Allow the request more time, or look at the model server.",
        may_pass=True,
    )


def build_crowded_failure() -> CallFailure:
    return CallFailure(
        what="was not asked: by its rate limit, or because it asked for a rest, its turn would have come "
        "too late",
        advice="Give the endpoint a higher rate limit, or the request more time.",
    )


def build_oversized_failure(limit: int) -> CallFailure:
    return CallFailure(
        what=f"answered more than {limit // 2**20} MiB for one page",
        advice="Give the endpoint a smaller page size.",
    )


def excerpt(text: str) -> str:
    line = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return f"{line[:_MAX_EXCERPT_CHARACTERS]}…" if len(line) > _MAX_EXCERPT_CHARACTERS else line


def _list_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error:
        yield error
        error = error.__cause__ or error.__context__
