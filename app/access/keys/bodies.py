"""API keys, their limits and use, a log-in, and the caller as bodies."""

from datetime import datetime, timedelta

from pydantic import Field

from ...web.body import FromText, In, NextPageCursor, Out, PageOut, example
from ...web.route_declarations import ID_PATTERN, Timestamp
from ..principals import Permission, Role
from .queries import DEFAULT_OVERLAP_HOURS, MAX_OVERLAP

_EXPIRES = "The key is refused from then on. Within 10 years; left out for a key that does not expire."

_KEY = {
    "id": "k3v7m2qa",
    "name": "scoring service",
    "role": "ingest",
    "deployment_id": None,
    "created_at": "2026-07-01T12:00:00Z",
    "revoked_at": None,
    "expires_at": "2027-07-01T12:00:00Z",
    "last_used_at": "2026-07-28T09:30:00Z",
    "replaces": None,
}


class KeyIn(In):
    """A new key."""

    model_config = example(
        {"name": "scoring service", "role": "ingest", "deployment_id": None, "expires_at": None}
    )

    name: str = Field(min_length=1, max_length=200)
    role: FromText[Role]
    """ingest logs; aggregates reads figures; read reads records, too; manage does it all and changes;
    admin manages keys."""

    deployment_id: str | None = Field(default=None, pattern=ID_PATTERN)
    """The only deployment the key is for; left out for all."""

    expires_at: Timestamp | None = Field(default=None, description=_EXPIRES)


class RotationIn(In):
    """A rotation of a key: a new one, and how long the old one stays valid."""

    model_config = example({"overlap_hours": DEFAULT_OVERLAP_HOURS})

    overlap_hours: int = Field(default=DEFAULT_OVERLAP_HOURS, ge=0, le=MAX_OVERLAP // timedelta(hours=1))
    """Hours for which the old key stays valid."""

    expires_at: Timestamp | None = None
    """End of the new key. Left out: it lives as long as the old one was to live when it was made."""


class KeyOut(Out):
    """A stored key, without its text."""

    model_config = example(_KEY)

    id: str
    """The public part of the key's text."""

    name: str
    role: Role
    deployment_id: str | None
    created_at: datetime
    revoked_at: datetime | None
    expires_at: datetime | None
    """The key is refused from then on; null if it does not expire."""

    last_used_at: datetime | None
    """Last use, up to a minute old; null before the first one."""

    replaces: str | None
    """The id of the key that this one was made for by a rotation."""


class NewKeyOut(KeyOut):
    """A new key with its text, which is shown this once."""

    model_config = example({**_KEY, "key": "evk_k3v7m2qa_………"})

    key: str
    """Send it as `Authorization: Bearer …`. It cannot be shown again."""


class RotationOut(Out):
    """The keys after a rotation."""

    model_config = example(
        {
            "old": {**_KEY, "id": "aa2bb3cc", "expires_at": "2026-07-02T12:00:00Z"},
            "new": {**_KEY, "last_used_at": None, "replaces": "aa2bb3cc", "key": "evk_k3v7m2qa_………"},
        }
    )

    old: KeyOut
    """The key that was rotated. It expires at the end of the overlap, or earlier if it was to."""

    new: NewKeyOut


class KeyPage(PageOut):
    """Some keys, oldest first."""

    keys: list[KeyOut]
    next_cursor: NextPageCursor


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


class LogInIn(In):
    """A user's name and password."""

    model_config = example({"name": "ada", "password": "correct horse battery staple"})

    name: str = Field(max_length=500, pattern=r"^[^\x00]*$")
    password: str = Field(max_length=500)


class LogInOut(Out):
    """A session."""

    model_config = example(
        {"token": "5f0c7a52Kd0e4a529a530d1f3c2b7e11XyZabcdefgh", "expires_at": "2026-03-01T21:00:00Z"}
    )

    token: str
    """To be sent as `Authorization: Bearer …`."""

    expires_at: datetime


class MeOut(Out):
    """The caller, and the caller's permissions."""

    model_config = example(
        {
            "actor": "k3v7m2qa",
            "role": "manage",
            "permissions": ["acknowledge", "log", "manage", "read"],
            "deployment_id": None,
        }
    )

    actor: str
    """The id of the API key, or `user:` and a name. Activities name it as the author of a change."""

    role: Role
    permissions: list[Permission]
    deployment_id: str | None
    """The only deployment the caller knows of; null for all."""
