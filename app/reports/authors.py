"""Names of the people and keys that ask for reports."""

from sqlalchemy.orm import Session

from ..security.principals import USER
from ..store.people.api_keys import ApiKeys
from .document import Made

_SCHEDULE = "schedule"


def name_author(session: Session, actor: str) -> str:
    """Name of a user, a key or the schedule; empty for a key that is not stored."""
    if actor == _SCHEDULE:
        return "the schedule"
    if actor.startswith(USER):
        return actor.removeprefix(USER)
    return ApiKeys(session).names([actor]).get(actor, "")


def say_author(made: Made) -> str:
    is_key = made.name and not made.by.startswith(USER) and made.by != _SCHEDULE
    return f"{made.name}, key {made.by}" if is_key else made.author
