"""`evenhand keys`: creates, lists and revokes API keys, directly in the database."""

from typing import Annotated

import typer
from sqlalchemy import select
from sqlalchemy.orm import Session

from ..domain.changes import changes_between
from ..errors import NotFound
from ..security.keys import create_key, key_id_of
from ..security.principals import Role
from ..store.people.activities import record_activity
from ..store.people.api_keys import ApiKeys
from ..store.tables import DeploymentRow
from .database import ready_database
from .startup import command_settings

PAGE = 500

command = typer.Typer(no_args_is_help=True, add_completion=False, help="Create, list and revoke API keys.")


@command.command()
def create(
    role: Annotated[Role, typer.Option(help="ingest (log), read, manage (log, read, change) or admin (all, and keys).")],
    name: Annotated[str, typer.Option(help="Label for people: who or what uses the key.")] = "",
    deployment: Annotated[str | None, typer.Option(help="Id of the only deployment that the key may use.")] = None,
) -> None:
    """Create a key and print it. Only its hash is stored, so it cannot be shown again."""
    with ready_database(command_settings()) as database, database.transaction() as session:
        no = None if deployment is None else deployment_no(session, deployment)
        text = create_key(session, role=role, name=name or role.value, deployment_no=no)
        about = {"name": name or role.value, "role": role, "deployment": deployment}
        record_activity(session, "command line", "api_key.created", subject=key_id_of(text), details=changes_between(None, about))
    typer.echo(text)


@command.command(name="list")
def list_keys() -> None:
    """Print every key's id, role, name, deployment and state, oldest first."""
    with ready_database(command_settings()) as database, database.transaction() as session:
        keys = ApiKeys(session).page(after_no=0, limit=PAGE)
        while keys:
            for key in keys:
                state = "in use" if key.revoked_at is None else f"revoked {key.revoked_at:%Y-%m-%d %H:%M}"
                typer.echo(f"{key.id}  {key.role:<7}  {key.name}  {key.deployment_id or 'all deployments'}  {state}")
            keys = ApiKeys(session).page(after_no=keys[-1].no, limit=PAGE)


@command.command()
def revoke(key_id: Annotated[str, typer.Argument(help="Id of the key: the 8 characters after evk_.")]) -> None:
    """Revoke a key. It is refused from now on."""
    with ready_database(command_settings()) as database, database.transaction() as session:
        if ApiKeys(session).revoke(key_id):
            record_activity(session, "command line", "api_key.revoked", subject=key_id)
    typer.echo(f"The key {key_id} is revoked.")


def deployment_no(session: Session, deployment_id: str) -> int:
    """Returns the number of the deployment with that id.

    Raises:
        NotFound: there is none.
    """
    no = session.scalar(select(DeploymentRow.no).where(DeploymentRow.id == deployment_id))
    if no is None:
        raise NotFound("deployment", deployment_id)
    return no
