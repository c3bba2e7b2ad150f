"""Names of the people and keys that did something."""

from collections.abc import Iterable

from sqlalchemy.orm import Session

from ..access.keys.queries import name_keys
from ..access.principals import USER

_SCHEDULE = "schedule"


def people(session: Session, actors: Iterable[str | None]) -> dict[str, str]:
    """Each actor's name. A key that is no longer stored keeps its id alone."""
    named = {actor for actor in actors if actor is not None}
    key_ids = [actor for actor in named if not actor.startswith(USER) and actor != _SCHEDULE]
    keys = name_keys(session, key_ids) if key_ids else {}
    names = {}
    for actor in named:
        if actor == _SCHEDULE:
            names[actor] = "the schedule"
        elif actor.startswith(USER):
            names[actor] = actor.removeprefix(USER)
        else:
            names[actor] = f"{keys[actor]} (key {actor})" if actor in keys else f"key {actor}"
    return names
