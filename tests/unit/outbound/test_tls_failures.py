"""The words for a server's alert about a client certificate."""

import ssl

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.calls.call_failures import build_error_failure


def broken_by(reason: str) -> httpx.ReadError:
    alert = ssl.SSLError(1, reason)
    alert.reason = reason
    error = httpx.ReadError("broken")
    error.__cause__ = alert
    return error


@pytest.mark.parametrize("reason", ["TLSV13_ALERT_CERTIFICATE_REQUIRED", "TLSV1_ALERT_UNKNOWN_CA", "SSLV3_ALERT_BAD_CERTIFICATE"])
def test_an_alert_about_the_certificate_is_not_tried_again(reason: str, snapshot: SnapshotAssertion) -> None:
    failure = build_error_failure(broken_by(reason), by_tls=True)

    assert not failure.may_pass
    assert failure.what == snapshot
    assert "endpoint.tls" in failure.advice


def test_another_alert_is_a_broken_connection_that_may_pass(snapshot: SnapshotAssertion) -> None:
    failure = build_error_failure(broken_by("TLSV1_ALERT_INTERNAL_ERROR"), by_tls=True)

    assert failure.may_pass
    assert failure.advice == snapshot


def test_without_tls_no_certificate_is_named() -> None:
    assert "certificate" not in build_error_failure(httpx.ReadError("broken")).advice
