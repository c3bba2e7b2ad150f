"""API keys as bodies."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from ...security.principals import Role
from ...web.texts import ID_PATTERN
from .base import In, Out, example

_KEY: dict[str, Any] = {
    "id": "k3v7m2qa",
    "name": "scoring service",
    "role": "ingest",
    "deployment_id": None,
    "created_at": "2026-07-01T12:00:00Z",
    "revoked_at": None,
}


class KeyIn(In):
    """A new key."""

    model_config = example({"name": "scoring service", "role": "ingest", "deployment_id": None})

    name: str = Field(min_length=1, max_length=200)
    role: Annotated[Role, Field(strict=False)] = Field(
        description="ingest logs; read reads; manage does both and changes; admin also manages keys."
    )
    deployment_id: str | None = Field(default=None, pattern=ID_PATTERN, description="The only deployment the key is for; left out for all.")


class KeyOut(Out):
    """A stored key, without its text."""

    model_config = example(_KEY)

    id: str = Field(description="The public part of the key's text.")
    name: str
    role: Role
    deployment_id: str | None
    created_at: datetime
    revoked_at: datetime | None


class NewKeyOut(KeyOut):
    """A new key with its text, which is shown this once."""

    model_config = example({**_KEY, "key": "evk_k3v7m2qa_………"})

    key: str = Field(description="Send it as `Authorization: Bearer …`. It cannot be shown again.")


class KeyPage(Out):
    """Some keys, oldest first."""

    keys: list[KeyOut]
    next_cursor: str | None = Field(description="Send it as `cursor` for the next page; null on the last one.")
