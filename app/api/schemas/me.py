"""Who is calling, as a body."""

from pydantic import Field

from app.api.schemas.base import Out, example
from app.security.principals import Permission, Role


class MeOut(Out):
    """The caller, and what the caller may do."""

    model_config = example({"actor": "k3v7m2qa", "role": "manage", "permissions": ["log", "manage", "read"], "deployment_id": None})

    actor: str = Field(description="The id of the API key, or `user:` and a name. It stands beside whatever the caller changes.")
    role: Role
    permissions: list[Permission]
    deployment_id: str | None = Field(description="The only deployment the caller knows of; null for all.")
