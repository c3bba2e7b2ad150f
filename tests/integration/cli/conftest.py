"""Runs a command to its refusal, in this process: a Python for each of them takes minutes."""

import io
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from app.cli import main
from tests.integration.cli.refusals import DATABASE_COMMANDS, PASSWORD, Refusal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The niceness that each command added that gave way. This process keeps its own: the tests after it run in it, too."""
    added: list[int] = []
    monkeypatch.setattr(os, "nice", added.append)
    return added


@pytest.fixture
def refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Refusal]:
    """What a command says on its way out, with status 1, in one line and without the password. It runs in an empty folder."""
    handlers = {number: signal.getsignal(number) for number in SIGNALS}

    def said(command: str, variables: Mapping[str, str]) -> str:
        for name in ("DATABASE_URL", "EVENHAND_DATA_DIR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            monkeypatch.setenv("EVENHAND_PORT", str(listener.getsockname()[1]))
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["evenhand", *DATABASE_COMMANDS[command]])
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\n"))
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        lines = captured.err.splitlines()
        assert ended.value.code == 1
        assert len(lines) == 1, captured.err
        assert lines[0].startswith("evenhand: ")
        assert PASSWORD not in captured.out + captured.err
        return lines[0]

    yield said
    for number, handler in handlers.items():
        signal.signal(number, handler)
