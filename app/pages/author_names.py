"""Names of the people and keys that did something."""

from collections.abc import Iterable

from sqlalchemy.orm import Session

from ..access.keys.queries import name_keys
from ..access.principals import USER, Principal
from ..access.users.user_rules import list_assignees

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


def offer_assignees(session: Session, principal: Principal, deployment_no: int | None) -> dict[str, str]:
    """People who may be assigned, the caller first; without a deployment, those who see all."""
    others = {f"{USER}{name}": name for name in list_assignees(session, deployment_no)}
    return {principal.actor: "me"} | {
        actor: name for actor, name in others.items() if actor != principal.actor
    }
