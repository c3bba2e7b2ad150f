"""The body of the caller's identity."""

from ...security.principals import Permission, Role
from .base import Out, example


class MeOut(Out):
    """The caller, and the caller's permissions."""

    model_config = example(
        {"actor": "k3v7m2qa", "role": "manage", "permissions": ["acknowledge", "log", "manage", "read"], "deployment_id": None}
    )

    actor: str
    """The id of the API key, or `user:` and a name. Activities name it as the author of a change."""

    role: Role
    permissions: list[Permission]
    deployment_id: str | None
    """The only deployment the caller knows of; null for all."""
