"""Limits of API keys, and what they use, as bodies."""

from datetime import datetime

from pydantic import Field

from .base import In, Out, example

_LIMITS = {"requests_per_second": 50.0, "records_per_second": 5000.0, "max_bytes": 10_000_000_000}


class KeyLimitsIn(In):
    """The limits of a key. A member that is left out or null: no limit of that kind."""

    model_config = example(_LIMITS)

    requests_per_second: float | None = Field(default=None, gt=0, le=1_000_000)
    """Requests to log records, on average."""

    records_per_second: float | None = Field(default=None, gt=0, le=10_000_000)
    """Records in them, on average."""

    max_bytes: int | None = Field(default=None, ge=0, le=2**60)
    """Bytes of all requests whose records were stored, ever."""


class KeyLimitsOut(Out):
    """The limits of a key."""

    model_config = example(_LIMITS)

    requests_per_second: float | None
    records_per_second: float | None
    max_bytes: int | None


class KeyUseOut(Out):
    """Use of the routes that log records by one key."""

    key_id: str
    name: str
    limits: KeyLimitsOut
    requests: int
    records: int
    """Records that were stored."""

    bytes: int
    """Bytes of the requests whose records were stored. Erasing records does not lower it."""

    refused: int
    """Requests that were refused because of a limit."""

    first_at: datetime | None
    last_at: datetime | None


class KeyUsePage(Out):
    """Use of the keys that have a limit or were used, in the order of their ids."""

    model_config = example(
        {
            "keys": [
                {
                    "key_id": "k3v7m2qa",
                    "name": "scoring service",
                    "limits": _LIMITS,
                    "requests": 1200,
                    "records": 120_000,
                    "bytes": 41_000_000,
                    "refused": 3,
                    "first_at": "2026-11-01T09:00:00Z",
                    "last_at": "2026-11-20T15:20:00Z",
                }
            ]
        }
    )

    keys: list[KeyUseOut]
