"""The README against the code: what it tells a reader to run works, in order, and prints what it shows."""

import json
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import httpx
import pytest

from app.example.results import COLUMNS
from app.store.engine import Database
from tests.contract.docs_pages import DOCS, REPOSITORY, blocks, steps
from tests.contract.test_docs import TOOLS, everything, run

README = REPOSITORY / "README.md"


def test_every_block_for_readers_runs_and_prints_what_is_shown(database: Database, tmp_path: Path) -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"the blocks need {', '.join(missing)}")
    with everything(database, tmp_path) as environment:
        for step in steps(README):
            printed = run(step, environment, tmp_path)

            if step.output is not None and step.output.language == "json":
                assert json.loads(printed) == json.loads(step.output.body)
            elif step.output is not None:
                assert printed == step.output.body
        headers = {"Authorization": f"Bearer {environment['KEY']}"}
        wanted = {"metric": "disparate_impact", "data": "payload", "attribute": "sex", "scope": "group"}
        found = httpx.get(f"{environment['EVENHAND']}/v1/deployments/loans/measurements", params=wanted, headers=headers).json()

    shown = next(json.loads(block.body) for block in blocks(README) if block.language == "json" and not block.word)
    (point,) = found["measurements"]
    for name in ("value", "lower", "upper"):
        assert point[name] == pytest.approx(shown.pop(name), abs=1e-4)
    shown.pop("at")
    assert {name: point[name] for name in shown} == shown


def test_it_begins_with_two_commands_that_exist() -> None:
    commands = re.findall(r"^scripts/\w+", blocks(README)[0].body, re.MULTILINE)

    assert commands == ["scripts/run", "scripts/test"]
    assert all((REPOSITORY / command).is_file() for command in commands)


def test_the_table_it_shows_has_the_columns_that_the_example_prints() -> None:
    shown = next(block.body for block in blocks(README) if block.language == "text")

    for heading in (word for column, _ in COLUMNS for word in column.split("\n")):
        assert heading in shown


def test_the_picture_is_one() -> None:
    picture = ET.parse(DOCS / "picture.svg").getroot()  # noqa: S314 - our own file

    assert picture.tag.endswith("svg")
    assert "prefers-color-scheme: dark" in (DOCS / "picture.svg").read_text(encoding="utf-8")
