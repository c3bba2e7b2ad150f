"""API keys as bodies."""

from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import Field

from ...security.keys import MAX_OVERLAP, USUAL_OVERLAP_HOURS
from ...security.principals import Role
from ...web.texts import ID_PATTERN, Timestamp
from .base import In, NextPageCursor, Out, Page, example

_EXPIRES = "The key is refused from then on. Within 10 years; left out for a key that does not expire."

_KEY: dict[str, Any] = {
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

    model_config = example({"name": "scoring service", "role": "ingest", "deployment_id": None, "expires_at": None})

    name: str = Field(min_length=1, max_length=200)
    role: Annotated[Role, Field(strict=False)]
    """ingest logs; aggregates reads figures; read reads records, too; manage does it all and changes;
    admin manages keys."""

    deployment_id: str | None = Field(default=None, pattern=ID_PATTERN)
    """The only deployment the key is for; left out for all."""

    expires_at: Timestamp | None = Field(default=None, description=_EXPIRES)


class RotationIn(In):
    """A rotation of a key: a new one, and how long the old one stays valid."""

    model_config = example({"overlap_hours": USUAL_OVERLAP_HOURS})

    overlap_hours: int = Field(default=USUAL_OVERLAP_HOURS, ge=0, le=MAX_OVERLAP // timedelta(hours=1))
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


class KeyPage(Page):
    """Some keys, oldest first."""

    keys: list[KeyOut]
    next_cursor: NextPageCursor
