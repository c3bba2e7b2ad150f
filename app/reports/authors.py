"""Names of the people and keys that ask for reports."""

from sqlalchemy.orm import Session

from ..access.keys.queries import name_keys
from ..access.principals import USER_PREFIX
from .document import ReportStamp

_SCHEDULE = "schedule"


def name_author(session: Session, actor: str) -> str:
    if actor == _SCHEDULE:
        return "the schedule"
    if actor.startswith(USER_PREFIX):
        return actor.removeprefix(USER_PREFIX)
    return name_keys(session, [actor]).get(actor, "")


def say_author(stamp: ReportStamp) -> str:
    """Names the author; a key by its name and its id."""
    is_named_key = stamp.name and not stamp.by.startswith(USER_PREFIX) and stamp.by != _SCHEDULE
    return f"{stamp.name}, key {stamp.by}" if is_named_key else stamp.author
