"""`evenhand users`."""

import sys
from typing import Annotated

from typer import Argument, Option, Typer, echo, prompt

from ..access.audit.activity_queries import changes_between, record_activity
from ..access.principals import Role
from ..access.users.user_rules import build_user_facts, create_user, page_users, update_user
from ..domain.paging import Paging
from .database import load_command_settings, open_ready_database, open_ready_session
from .keys import COMMAND_LINE, PAGE_ROWS, get_deployment_no

command = Typer(
    no_args_is_help=True, add_completion=False, help="Create, list and change people who log in to the pages."
)

Name = Annotated[str, Argument(help="Name of the user: lower-case letters, digits, . _ @ and -")]


@command.command()
def create(
    name: Name,
    role: Annotated[
        Role,
        Option(
            help="aggregates (figures, no single records), read, manage (read, log, change) or admin (all, "
            "keys and users)."
        ),
    ],
    deployment: Annotated[str | None, Option(help="Id of the only deployment that the user may see.")] = None,
) -> None:
    """Create a user. Asks for the password, or reads it from standard input if that is not a terminal."""
    with open_ready_database(load_command_settings()) as database:
        password = _ask_password()  # outside the transaction, and not at all where there is no database
        with database.transaction() as session:
            no = None if deployment is None else get_deployment_no(session, deployment)
            user = create_user(session, name, password=password, role=role, deployment_no=no)
            details = changes_between(None, build_user_facts(user))
            record_activity(session, COMMAND_LINE, "user.created", subject=name, details=details)
    echo(f"The user {name} can log in.")


@command.command(name="list")
def list_users() -> None:
    """Print every user's name, role, deployment and state, oldest first."""
    with open_ready_session() as session:
        users = page_users(session, Paging(PAGE_ROWS))
        while users:
            for user in users:
                state = f"disabled {user.disabled_at:%Y-%m-%d %H:%M}" if user.disabled_at else "in use"
                echo(f"{user.name}  {user.role:<6}  {user.deployment_id or 'all deployments'}  {state}")
            users = page_users(session, Paging(PAGE_ROWS, users[-1].no))


@command.command()
def password(name: Name) -> None:
    """Change a user's password, asked for or read from standard input, and end every session of the user."""
    with open_ready_database(load_command_settings()) as database:
        new_password = _ask_password()
        with database.transaction() as session:
            update_user(session, name, by=COMMAND_LINE, password=new_password)
    echo(f"The password of {name} is changed.")


@command.command()
def disable(name: Name) -> None:
    """Lock a user out, and end every session of the user."""
    _set_disabled(name, disabled=True)
    echo(f"The user {name} is disabled.")


@command.command()
def enable(name: Name) -> None:
    """Let a disabled user log in again."""
    _set_disabled(name, disabled=False)
    echo(f"The user {name} can log in again.")


def _set_disabled(name: str, *, disabled: bool) -> None:
    with open_ready_session() as session:
        update_user(session, name, by=COMMAND_LINE, disabled=disabled)


def _ask_password() -> str:
    if sys.stdin.isatty():
        return str(prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")
