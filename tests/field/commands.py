"""The command `evenhand` in this process: a Python for each call takes two seconds."""

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.testing import CliRunner

from app.base import clock
from app.cli import main

LATEST = datetime(2026, 11, 29, 12, tzinfo=UTC)
"""The moment that a command takes for now where it reads a file alone: after all times of the cases."""


@dataclass(frozen=True)
class Ended:
    """What a command printed, and its exit status."""

    status: int
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        """Both streams, with one blank where lines break."""
        return " ".join((self.stdout + self.stderr).split())


class _Clock(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return LATEST.astimezone(tz)


def evenhand(*arguments: str | Path, **environment: str | None) -> Ended:
    """Runs the command."""
    status = 0
    with CliRunner().isolation(env=environment) as streams, patch.object(sys, "argv", ["evenhand", *map(str, arguments)]):
        try:
            main()
        except SystemExit as ended:
            status = int(ended.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        return Ended(status, streams[0].getvalue().decode(), streams[1].getvalue().decode())


def evenhand_at_latest(*arguments: str | Path) -> Ended:
    """Runs a command that reads a file alone, at the fixed moment."""
    with patch.object(clock, "datetime", _Clock):
        return evenhand(*arguments)


def measure(folder: Path, *arguments: str | Path) -> tuple[dict[str, Any], Ended]:
    """Runs `evenhand metrics` and returns what it wrote."""
    output = folder / "measured.json"
    ended = evenhand_at_latest("metrics", *arguments, "--output", output)
    assert ended.status == 0, ended.text
    return json.loads(output.read_text(encoding="utf-8")), ended
