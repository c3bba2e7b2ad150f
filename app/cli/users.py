"""`evenhand users`."""

import sys
from typing import Annotated

from typer import Argument, Option, Typer, echo, prompt

from ..access.audit.activity_queries import changes_between, record_activity
from ..access.principals import Role
from ..access.users.user_rules import build_user_facts, create_user, page, update_user
from ..domain.paging import Paging
from .database import command_settings, ready_database, ready_session
from .keys import COMMAND_LINE, PAGE, deployment_no

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
    with ready_database(command_settings()) as database:
        password = _ask_password()  # outside the transaction, and not at all where there is no database
        with database.transaction() as session:
            no = None if deployment is None else deployment_no(session, deployment)
            user = create_user(session, name, password=password, role=role, deployment_no=no)
            details = changes_between(None, build_user_facts(user))
            record_activity(session, COMMAND_LINE, "user.created", subject=name, details=details)
    echo(f"The user {name} can log in.")


@command.command(name="list")
def list_users() -> None:
    """Print every user's name, role, deployment and state, oldest first."""
    with ready_session() as session:
        listed = page(session, Paging(PAGE))
        while listed:
            for user in listed:
                state = f"disabled {user.disabled_at:%Y-%m-%d %H:%M}" if user.disabled_at else "in use"
                echo(f"{user.name}  {user.role:<6}  {user.deployment_id or 'all deployments'}  {state}")
            listed = page(session, Paging(PAGE, listed[-1].no))


@command.command()
def password(name: Name) -> None:
    """Change a user's password, asked for or read from standard input, and end every session of the user."""
    with ready_database(command_settings()) as database:
        new = _ask_password()
        with database.transaction() as session:
            update_user(session, name, by=COMMAND_LINE, password=new)
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
    with ready_session() as session:
        update_user(session, name, by=COMMAND_LINE, disabled=disabled)


def _ask_password() -> str:
    if sys.stdin.isatty():
        return str(prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")
