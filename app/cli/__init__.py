"""The command line: one file per command, loaded on demand."""

import gc
import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import VERSION
from ..errors import EvenhandError

GARBAGE_THRESHOLD = 20_000

# Before a command is loaded: with Python's own 700, collections take a fifth of the time of the imports.
gc.set_threshold(GARBAGE_THRESHOLD)

COMMANDS = (
    "serve",
    "worker",
    "migrate",
    "check",
    "metrics",
    "evidence",
    "groups",
    "plan",
    "import",
    "export",
    "report",
    "keys",
    "users",
    "audit",
    "retention",
    "doctor",
    "backup",
    "restore",
    "rotate-secret-key",
    "example",
    "example-model",
)


class _Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer's signature, of a class it keeps private
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - as above
        if cmd_name not in COMMANDS:
            return None
        module = "imports" if cmd_name == "import" else cmd_name.replace("-", "_")
        command = typer.main.get_command(importlib.import_module(f".{module}", __package__).command)
        command.name = cmd_name
        return command


evenhand = typer.Typer(cls=_Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _say_version(is_asked: bool) -> None:  # noqa: FBT001 - typer's way to call it
    if is_asked:
        typer.echo(f"evenhand {VERSION}")
        raise typer.Exit


@evenhand.callback()
def _evenhand(
    version: Annotated[bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")] = False,  # noqa: FBT002 - typer's way to declare a flag
) -> None:
    """Watch deployed models for unfairness."""


def main() -> None:
    """Run one command; one of our errors ends it with its message and status 1, not with a traceback."""
    try:
        evenhand(prog_name="evenhand")
    except EvenhandError as error:
        sys.stderr.write(f"evenhand: {error}\n")
        sys.exit(1)
