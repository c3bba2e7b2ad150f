"""Who did something, as people call them."""

from collections.abc import Iterable

from sqlalchemy.orm import Session

from app.store.api_keys import ApiKeys

_USER = "user:"
_SCHEDULE = "schedule"


def people(session: Session, actors: Iterable[str | None]) -> dict[str, str]:
    """Each actor's name: a user's, what a key is called, the schedule. A key that is no longer stored keeps its id alone."""
    known = {actor for actor in actors if actor is not None}
    keys = ApiKeys(session).names(actor for actor in known if not actor.startswith(_USER) and actor != _SCHEDULE)
    return {actor: _name(actor, keys.get(actor)) for actor in known}


def _name(actor: str, key_name: str | None) -> str:
    if actor == _SCHEDULE:
        return "the schedule"
    if actor.startswith(_USER):
        return actor.removeprefix(_USER)
    return f"key {actor}" if key_name is None else f"{key_name} (key {actor})"
