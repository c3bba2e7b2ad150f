"""Runs the `try.py` of a folder against a service, in this process, with its commands."""

import gc
import importlib
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from tests.builders.check_results import read_measurements
from tests.field.cases import FIELD
from tests.field.commands import evenhand

COMMAND = "evenhand-of-the-tests"
MODULES = ("service", "make")
"""Modules of the field that programs import by these names."""

_run_process = subprocess.run


@dataclass(frozen=True)
class Line:
    """One case of a program: whether what came out is right."""

    case: str
    got: Any
    right: Any
    is_right: bool


def run_program(folder: str, home: Path, url: str, key: str, *arguments: str, makes_files: bool = False) -> list[Line]:
    """Copies a folder to `home`, runs its program there and returns its lines."""
    copy = home / folder
    shutil.copytree(FIELD / folder, copy)
    copy.chmod(0o755)
    shutil.copy(FIELD / "service.py", home)
    printed = io.StringIO()
    with (
        patch.dict(os.environ, {"EVENHAND_URL": url, "EVENHAND_KEY": key, "EVENHAND": COMMAND}),
        patch.object(sys, "path", [str(home), str(copy), *sys.path]),
        patch.object(sys, "argv", ["try.py", *arguments]),
        patch.object(subprocess, "run", _run),
        redirect_stdout(printed),
        redirect_stderr(io.StringIO()),
        warnings.catch_warnings(action="ignore", category=ResourceWarning),
    ):
        calls = importlib.import_module("service")
        try:
            if makes_files:
                runpy.run_path(str(copy / "make.py"))
            # That of the field reads the first page alone, and some programs call it without importing it.
            calls.measurements = partial(_read_measurements, calls.http)
            # None is `__main__`: processes of the service would run it again.
            runpy.run_path(str(copy / "try.py"), {"measurements": calls.measurements})
        finally:
            calls.http.close()
            for module in MODULES:
                sys.modules.pop(module, None)
            gc.collect()  # files that a program leaves open
    lines = [json.loads(text) for text in printed.getvalue().splitlines() if text.startswith('{"case"')]
    return [Line(line["case"], line["got"], line["right"], line["ok"]) for line in lines]


def _read_measurements(client: httpx.Client, check: dict[str, Any]) -> list[dict[str, Any]]:
    return read_measurements(client, f"/v1/deployments/{check['deployment_id']}/checks/{check['id']}")


def _run(command: list[str], **options: Any) -> "subprocess.CompletedProcess[Any]":  # noqa: ANN401 - those of subprocess
    if command[0] != COMMAND:
        return _run_process(command, **options)
    ended = evenhand(*command[1:])
    return subprocess.CompletedProcess(command, ended.status, ended.stdout, ended.stderr)
