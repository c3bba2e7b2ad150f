"""The pages' scripts parse, and their types fit. Types are checked where TypeScript is installed."""

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

SCRIPTS = sorted((file.name, file.read_text("utf-8")) for file in (files("app.pages") / "static").iterdir() if file.name.endswith(".js"))
HERE = Path(__file__).parent
PARSE = """
import { readFileSync } from "node:fs";
import { SourceTextModule } from "node:vm";
const bad = [];
for (const [name, text] of JSON.parse(readFileSync(0, "utf8"))) {
    try { new SourceTextModule(text); } catch { bad.push(name); }
}
console.log(JSON.stringify(bad));
"""
"""Parses all scripts in one process and runs none: a process for each takes as long for one as this for all."""


def parse_errors(scripts: list[tuple[str, str]]) -> dict[str, str]:
    """What node says of the scripts that do not parse, by name."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("parsing scripts needs node")
    command = [node, "--no-warnings", "--experimental-vm-modules", "--input-type=module", "--eval", PARSE]
    bad = json.loads(subprocess.run(command, input=json.dumps(scripts), capture_output=True, text=True, check=True).stdout)
    return {name: _check([node, "--input-type=module", "--check", "-"], text) for name, text in scripts if name in bad}


def _check(command: list[str], text: str) -> str:
    """The message of node itself, with line and column."""
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stderr


def test_every_script_of_the_pages_parses() -> None:
    assert len(SCRIPTS) > 20
    assert parse_errors(SCRIPTS) == {}


def test_a_script_that_does_not_parse_is_named_with_its_line() -> None:
    errors = parse_errors([("good.js", 'import { one } from "./other.js";\nexport const two = one;'), ("bad.js", "\nconst = 1;")])

    assert list(errors) == ["bad.js"]
    assert "[stdin]:2" in errors["bad.js"]


def test_the_types_of_the_scripts_fit() -> None:
    tsc = shutil.which("tsc")
    if tsc is None:
        pytest.skip("checking types needs tsc on the path")
    answer = subprocess.run([tsc, "-p", str(HERE), "--pretty", "false"], capture_output=True, text=True, check=False)

    assert (answer.returncode, answer.stdout) == (0, "")
