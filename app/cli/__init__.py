"""The command line. One file per command, loaded when it is asked for: `keys` need not wait for what `example` imports."""

import importlib
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from app.errors import EvenhandError

COMMANDS = ("serve", "worker", "migrate", "check", "metrics", "keys", "users", "example")


class _Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer's signature, of a class it keeps private
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - as above
        if cmd_name not in COMMANDS:
            return None
        return typer.main.get_command(importlib.import_module(f"app.cli.{cmd_name}").command)


evenhand = typer.Typer(cls=_Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@evenhand.callback()
def _evenhand() -> None:
    """Watch deployed models for unfairness."""


def main() -> None:
    """Run one command; an error of ours ends it with a sentence and status 1, not with a traceback."""
    try:
        evenhand(prog_name="evenhand")
    except EvenhandError as error:
        sys.stderr.write(f"evenhand: {error}\n")
        sys.exit(1)
