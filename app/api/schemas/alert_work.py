"""Work on alerts as bodies."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from .alerts import MAX_NOTE, AlertOut
from .base import FollowingCursor, In, Out, Page, example

MAX_COMMENT = 10_000
MAX_ACKNOWLEDGED = 500

_ALERT_ID = "0c3a7a55-1f6b-4f0e-9d0a-6d3a5a0f2c11"
_COMMENT = {
    "id": "7b1f0f3e-58f3-4f3b-9a53-2f6f0f0f7c21",
    "author": "user:ada",
    "text": "The new price list went live at 14:00; pricing is looking at it.",
    "created_at": "2026-11-20T15:31:07Z",
}


class AssignmentIn(In):
    """The person who is to work on an alert."""

    model_config = example({"assignee": "user:ada"})

    assignee: Annotated[str, Field(min_length=1, max_length=200)] | None
    """`user:` and the name of a user who sees the deployment, or your own `actor`; null: nobody."""


class CommentIn(In):
    """A comment on an alert."""

    model_config = example({"text": _COMMENT["text"]})

    text: Annotated[str, Field(min_length=1, max_length=MAX_COMMENT)]
    """The comment, for the other readers."""


class CommentOut(Out):
    """One comment on an alert. It is never changed."""

    model_config = example(_COMMENT)

    id: str
    author: str
    """A key's id, or `user:` and a name."""

    text: str
    created_at: datetime


class CommentPage(Page):
    """Comments, oldest first."""

    comments: list[CommentOut]
    next_cursor: FollowingCursor


class AcknowledgementsIn(In):
    """Alerts to acknowledge together, with one note for all."""

    model_config = example({"alerts": [_ALERT_ID], "note": "The new price list; the model is being retrained."})

    alerts: Annotated[list[str], Field(min_length=1, max_length=MAX_ACKNOWLEDGED)]
    """Ids of alerts."""

    note: Annotated[str | None, Field(max_length=MAX_NOTE)] = Field(
        default=None, description="What is being done about them, for the other readers."
    )


class AcknowledgementsOut(Out):
    """The alerts as they are now, in the order of the request. Those that are `resolved` were over before; no other is `open`."""

    alerts: list[AlertOut]
    acknowledged: int
    """How many of them this request acknowledged."""
