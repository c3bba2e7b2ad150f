"""Activities as bodies: who changed what."""

from datetime import datetime
from typing import Any

from pydantic import Field

from .base import NextPageCursor, Out, Page, example

_ACTIVITY = {
    "at": "2026-07-01T12:00:00Z",
    "actor": "k3v7m2qa",
    "action": "monitor.changed",
    "deployment_id": "credit-risk",
    "subject": None,
    "details": {"version": [1, 2], "attributes.Sex.threshold": [0.8, 0.95]},
}


class ActivityOut(Out):
    """One change, and who made it."""

    model_config = example(_ACTIVITY)

    at: datetime
    actor: str
    """The id of an API key, `user:` and a name, or `unknown` for a log-in that failed."""

    action: str = Field(description="What was done, as a noun and a verb.", examples=["deployment.changed"])
    deployment_id: str | None
    """Stays when the deployment is deleted; null for what belongs to none."""

    subject: str | None = Field(description="What it was done to, where that is not the deployment itself: the id of a check, or of a key.")
    details: dict[str, Any]
    """The fields that changed, each as `[before, after]`. Long values are cut; `more_changes` counts
    fields left out. Never a secret."""


class ActivityPage(Page):
    """A page of changes, newest first."""

    activities: list[ActivityOut]
    next_cursor: NextPageCursor
