"""`evenhand keys`."""

from datetime import datetime, timedelta
from typing import Annotated

from sqlalchemy.orm import Session
from typer import Argument, Option, Typer, echo

from ..access.audit.activity_queries import changes_between, record_activity
from ..access.keys.queries import (
    DEFAULT_OVERLAP_HOURS,
    MAX_LIFE,
    MAX_OVERLAP,
    ApiKey,
    build_key_facts,
    build_rotation_facts,
    create_key,
    get_key,
    page_keys,
    read_key_id,
    revoke_key,
    rotate_key,
)
from ..access.principals import Role
from ..access.users.user_rules import find_deployment_no
from ..base.clock import HOUR, utc_now
from ..base.errors import require_present
from ..domain.paging import Paging
from .database import open_ready_session

PAGE_ROWS = 500
COMMAND_LINE = "command line"

_EXPIRES = "Days after which the key is refused; left out for a key that does not expire."
_EXPIRES_ROTATED = "Days after which the new key is refused; left out for as many as the old one had."

command = Typer(no_args_is_help=True, add_completion=False, help="Create, list, rotate and revoke API keys.")


@command.command()
def create(
    role: Annotated[
        Role,
        Option(
            help="ingest (log), aggregates (figures, no single records), read, manage (log, read, change) "
            "or admin (all, and keys)."
        ),
    ],
    name: Annotated[str, Option(help="Label for people: who or what uses the key.")] = "",
    deployment: Annotated[str | None, Option(help="Id of the only deployment that the key may use.")] = None,
    expires_in_days: Annotated[int | None, Option(min=1, max=MAX_LIFE.days, help=_EXPIRES)] = None,
) -> None:
    """Create a key and print it. Only its hash is stored, so it cannot be shown again."""
    with open_ready_session() as session:
        text = create_key(
            session,
            role=role,
            name=name or role.value,
            deployment_no=None if deployment is None else get_deployment_no(session, deployment),
            expires_at=_find_expiry(expires_in_days),
        )
        stored = get_key(session, str(read_key_id(text)))
        record_activity(
            session,
            COMMAND_LINE,
            "api_key.created",
            subject=stored.id,
            details=changes_between(None, build_key_facts(stored)),
        )
    echo(text)


@command.command(name="list")
def list_keys() -> None:
    """Print every key's id, role, name, deployment, state and last use, oldest first."""
    now = utc_now()
    with open_ready_session() as session:
        keys = page_keys(session, Paging(PAGE_ROWS))
        while keys:
            for key in keys:
                last_use = (
                    f"last used {key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never used"
                )
                echo(
                    f"{key.id}  {key.role:<10}  {key.name}  {key.deployment_id or 'all deployments'}  "
                    f"{_describe_state(key, now)}  {last_use}"
                )
            keys = page_keys(session, Paging(PAGE_ROWS, keys[-1].no))


@command.command()
def rotate(
    key_id: Annotated[str, Argument(help="Id of the key: the 8 characters after evk_.")],
    overlap_hours: Annotated[
        int, Option(min=0, max=MAX_OVERLAP // HOUR, help="Hours for which the old key stays valid.")
    ] = DEFAULT_OVERLAP_HOURS,
    expires_in_days: Annotated[int | None, Option(min=1, max=MAX_LIFE.days, help=_EXPIRES_ROTATED)] = None,
) -> None:
    """Create a key in place of another one and print it. The old one stays valid for the overlap."""
    with open_ready_session() as session:
        rotated = rotate_key(
            session, key_id, overlap=HOUR * overlap_hours, expires_at=_find_expiry(expires_in_days)
        )
        record_activity(
            session, COMMAND_LINE, "api_key.rotated", subject=key_id, details=build_rotation_facts(rotated)
        )
    echo(rotated.text)
    echo(f"The key {key_id} is valid until {rotated.old.expires_at:%Y-%m-%d %H:%M:%S %Z}.", err=True)


@command.command()
def revoke(key_id: Annotated[str, Argument(help="Id of the key: the 8 characters after evk_.")]) -> None:
    """Revoke a key. It is refused from now on."""
    with open_ready_session() as session:
        if revoke_key(session, key_id):
            record_activity(session, COMMAND_LINE, "api_key.revoked", subject=key_id)
    echo(f"The key {key_id} is revoked.")


def _find_expiry(days: int | None) -> datetime | None:
    return None if days is None else utc_now() + timedelta(days=days)


def _describe_state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at:
        return f"revoked {key.revoked_at:%Y-%m-%d %H:%M}"
    if not key.expires_at:
        return "in use"
    return f"{'expired' if key.expires_at <= now else 'in use until'} {key.expires_at:%Y-%m-%d %H:%M}"


def get_deployment_no(session: Session, deployment_id: str) -> int:
    return require_present(find_deployment_no(session, deployment_id), "deployment", deployment_id)
