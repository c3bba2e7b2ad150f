"""The command line: one file for each command, loaded on demand."""

import gc
import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import VERSION
from ..base.errors import EvenhandError

GARBAGE_THRESHOLD = 20_000
"""Objects between collections: with Python's own 700, they take a fifth of the time of the imports."""

gc.set_threshold(GARBAGE_THRESHOLD)

COMMANDS = {
    "serve": "service.serve",
    "worker": "service.worker",
    "migrate": "migrate",
    "check": "check",
    "metrics": "library.metrics",
    "evidence": "library.evidence",
    "groups": "library.groups",
    "plan": "library.plan",
    "import": "imports",
    "export": "export",
    "report": "reports.report",
    "keys": "keys",
    "users": "users",
    "audit": "audit",
    "retention": "retention",
    "doctor": "doctor",
    "backup": "backup",
    "restore": "restore",
    "rotate-secret-key": "rotate_secret_key",
    "example": "example.command",
    "example-model": "example.model_command",
}


class _Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer's signature, of a class it keeps private
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - as above
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(
            importlib.import_module(f".{COMMANDS[cmd_name]}", __package__).command
        )
        command.name = cmd_name
        return command


evenhand = typer.Typer(
    cls=_Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


def _say_version(is_asked: bool) -> None:  # noqa: FBT001 - typer's way to call it
    if is_asked:
        typer.echo(f"evenhand {VERSION}")
        raise typer.Exit


@evenhand.callback()
def _evenhand(
    version: Annotated[  # noqa: FBT002 - typer's way to declare a flag
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Watch deployed models for unfairness."""


def main() -> None:
    try:
        evenhand(prog_name="evenhand")
    except EvenhandError as error:
        sys.stderr.write(f"evenhand: {error}\n")
        sys.exit(1)
