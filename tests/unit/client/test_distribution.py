"""The distribution: its own, typed, without dependencies, for Python from 3.9 on."""

import ast
import inspect
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from evenhand_client import Evenhand
from evenhand_client.options import Options

from tests.builders.docs_pages import DOCS, table

CLIENT = Path(__file__).resolve().parents[3] / "client"
FILES = sorted((CLIENT / "evenhand_client").glob("*.py"))
PROJECT = tomllib.loads((CLIENT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

OPTIONAL = {"sklearn"}
"""Imported where the caller has it."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_is_python_3_9_and_imports_the_standard_library_only(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and node.level == 0
            else []
        )
    }

    assert imported - set(sys.stdlib_module_names) - OPTIONAL == set()


def test_it_has_no_dependencies_and_says_which_python_it_needs() -> None:
    assert PROJECT["dependencies"] == []
    assert PROJECT["requires-python"] == ">=3.9"


def test_importing_it_starts_no_thread() -> None:
    program = "import evenhand_client, threading; print(threading.active_count())"
    printed = subprocess.run([sys.executable, "-c", program], cwd=CLIENT, check=True, capture_output=True, text=True).stdout

    assert printed == "1\n"


@pytest.mark.thorough
def test_the_wheel_works_in_an_environment_with_nothing_else(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=CLIENT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("evenhand_client-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "evenhand_client/py.typed" in names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"evenhand_client"}

    venv.create(tmp_path / "venv", with_pip=False)
    program = "import sys; sys.path.insert(0, sys.argv[1]); import evenhand_client; print(evenhand_client.Evenhand().is_enabled)"
    ended = subprocess.run([tmp_path / "venv" / "bin" / "python", "-I", "-c", program, wheel], check=True, capture_output=True, text=True)
    assert ended.stdout == "False\n"


def test_the_options_of_the_page_are_those_of_the_code() -> None:
    nothing = Options.of({})
    parameters = [name for name in inspect.signature(Evenhand).parameters if name not in ("on_error", "http")]
    defaults = {name: "True" if name == "enabled" else str(getattr(nothing, name)) for name in parameters}
    expected = [[name, f"EVENHAND_{name.upper()}", default] for name, default in defaults.items()]

    rows = [row[:3] for row in table(DOCS / "how-to" / "use-the-client.md", "Option")]
    assert rows == [*expected, ["on_error", "", ""], ["http", "", ""]]
