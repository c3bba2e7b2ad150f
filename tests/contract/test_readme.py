"""README and tutorial against the code: their blocks run, in order, and print what the pages show."""

import json
import os
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import httpx
import pytest

from app.cli.example.command import COLUMNS
from app.database.engine import Database
from tests.builders.docs_pages import DOCS, REPOSITORY, TUTORIAL, blocks, steps
from tests.builders.docs_steps import TOOLS, everything, run, run_and_compare

README = REPOSITORY / "README.md"
MAX_WORDS = 600
"""Words of the README before its reference part, code included."""

SCREENSHOT = DOCS / "screenshot.png"
MAX_SCREENSHOT = 150_000
"""Max bytes of the picture, which everybody who clones the repository downloads."""


def test_its_hello_runs_and_prints_what_is_shown(database: Database, tmp_path: Path) -> None:
    hello, _ = steps(README)

    assert len([line for line in hello.run.body.splitlines() if line]) == 5
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"the page that registers its deployment needs {', '.join(missing)}")
    with everything(database, tmp_path) as environment:
        run(steps(DOCS / "how-to" / "register-a-deployment.md")[0], environment, tmp_path)
        own = {"EVENHAND_URL": environment["EVENHAND"], "EVENHAND_KEY": environment["KEY"], "EVENHAND_DEPLOYMENT": "small-loans"}
        run_and_compare(hello, environment | own, tmp_path)


def test_its_example_of_a_frame_runs_and_prints_what_is_shown(tmp_path: Path) -> None:
    _, frame = steps(README)

    run_and_compare(frame, {**os.environ, "PYTHONPATH": str(REPOSITORY)}, tmp_path)


def test_it_is_short_before_its_reference_part() -> None:
    before, _, _ = README.read_text(encoding="utf-8").partition("\n## Reference\n")

    assert len(before.split()) <= MAX_WORDS


def test_every_block_of_the_tutorial_runs_and_prints_what_is_shown(database: Database, tmp_path: Path) -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"the blocks need {', '.join(missing)}")
    with everything(database, tmp_path) as environment:
        for step in steps(TUTORIAL):
            run_and_compare(step, environment, tmp_path)
        headers = {"Authorization": f"Bearer {environment['KEY']}"}
        wanted = {"metric": "disparate_impact", "data": "as_logged", "attribute": "sex", "scope": "group"}
        found = httpx.get(f"{environment['EVENHAND']}/v1/deployments/loans/measurements", params=wanted, headers=headers).json()

    shown = next(json.loads(block.body) for block in blocks(TUTORIAL) if block.language == "json" and not block.word)
    (point,) = found["measurements"]
    for name in ("value", "lower", "upper"):
        assert point[name] == pytest.approx(shown.pop(name), abs=1e-4)
    shown.pop("at")
    assert {name: point[name] for name in shown} == shown


def test_it_begins_with_two_commands_that_exist() -> None:
    commands = re.findall(r"^scripts/\w+", blocks(README)[0].body, re.MULTILINE)

    assert commands == ["scripts/run", "scripts/test"]
    assert all((REPOSITORY / command).is_file() for command in commands)


def test_the_table_of_the_tutorial_has_the_columns_that_the_example_prints() -> None:
    shown = next(block.body for block in blocks(TUTORIAL) if block.language == "text" and "Verdict" in block.body)

    for heading in (word for column, _ in COLUMNS for word in column.split("\n")):
        assert heading in shown


def test_the_screenshot_is_small() -> None:
    assert SCREENSHOT.read_bytes().startswith(b"\x89PNG")
    assert SCREENSHOT.stat().st_size < MAX_SCREENSHOT


def test_the_picture_is_one() -> None:
    picture = ET.parse(DOCS / "picture.svg").getroot()  # noqa: S314 - our own file

    assert picture.tag.endswith("svg")
    assert "prefers-color-scheme: dark" in (DOCS / "picture.svg").read_text(encoding="utf-8")
