"""The pages' scripts parse, and their types fit. Types are checked where TypeScript is installed."""

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

SCRIPTS = sorted(
    (file.name, file.read_text("utf-8")) for file in (files("app.dashboard") / "static").iterdir() if file.name.endswith(".js")
)
HERE = Path(__file__).parent


def test_every_script_of_the_pages_parses() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("parsing scripts needs node")
    # From the standard input, because node takes a .js file without a package.json for a script that cannot import.
    answers = {
        name: subprocess.run([node, "--input-type=module", "--check", "-"], input=text, capture_output=True, text=True, check=False)
        for name, text in SCRIPTS
    }

    assert len(SCRIPTS) > 20
    assert {name: answer.stderr for name, answer in answers.items() if answer.returncode} == {}


def test_the_types_of_the_scripts_fit() -> None:
    tsc = shutil.which("tsc")
    if tsc is None:
        pytest.skip("checking types needs tsc on the path")
    answer = subprocess.run([tsc, "-p", str(HERE), "--pretty", "false"], capture_output=True, text=True, check=False)

    assert (answer.returncode, answer.stdout) == (0, "")
