"""The how-to pages as a newcomer follows them: one page after the other, in one database, with `scripts/run` running."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders.docs_pages import DOCS, REPOSITORY, blocks, how_to_pages, pages_before, steps
from tests.builders.docs_steps import TOOLS, run_and_compare
from tests.example_run import Example, running_example

README = DOCS / "how-to" / "README.md"
IN_ORDER = how_to_pages()
FIRST = IN_ORDER[:6]
"""The pages that build on each other."""

BASH = ("bash", "-euo", "pipefail", "-c")

PASSING = ("version", "_at", "request_id")
"""Ends of the names of members that tell one answer from the next where nothing else does."""

MODEL_COMMAND, SETUP, CLEAN_UP = (block.body for block in blocks(README))


@contextmanager
def newcomer(example: Example, folder: Path) -> Iterator[dict[str, str]]:
    """The variables of a newcomer's terminal, after the page's own commands and with the model that it names."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    bare = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    own = {
        "$PWD/.venv/bin": str(Path(sys.executable).parent),
        "$PWD/data": str(example.data_dir),
        "http://127.0.0.1:8000": example.base_url,
        "http://127.0.0.1:9000": f"http://127.0.0.1:{port}",
    }
    setup = SETUP
    for shown, here in own.items():
        assert shown in setup
        setup = setup.replace(shown, here)
    assert MODEL_COMMAND == ".venv/bin/evenhand example-model --port 9000\n"
    command = [sys.executable, "-m", "app.cli", "example-model", "--port", str(port)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as model:
        try:
            assert model.stdout is not None
            assert model.stdout.readline().startswith("The model listens")
            ended = subprocess.run(
                [*BASH, f"{setup}\nenv --null"],
                env={**bare, "TMPDIR": str(folder), "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{REPOSITORY / 'client'}"},
                cwd=REPOSITORY,
                check=True,
                capture_output=True,
                text=True,
            )
            yield dict(line.split("=", 1) for line in ended.stdout.split("\0") if line)
        finally:
            model.terminate()


@pytest.mark.nightly
def test_every_page_prints_what_it_shows_and_puts_back_what_it_changes(tmp_path: Path) -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"the pages' blocks need {', '.join(missing)}")
    failed = []
    with running_example(hours=4) as example, newcomer(example, tmp_path) as terminal:
        before = _installation(example)
        start: dict[str, object] = {}
        for place, page in enumerate(IN_ORDER):
            failed += [f"{page.name} needs {first.name}, which comes later" for first in pages_before(page) if first in IN_ORDER[place:]]
            for number, step in enumerate(steps(page), 1):
                try:
                    run_and_compare(step, terminal, Path(terminal["PWD"]))
                except AssertionError as error:
                    failed.append(f"{page.name}, block {number}: {error}")
            now = _deployment(example) | _installation(example)
            if page == FIRST[-1]:
                start = now
            elif page not in FIRST:
                failed += [f"{page.name} leaves {name} as {now[name]}, not as {start[name]}" for name in start if now[name] != start[name]]
        subprocess.run([*BASH, CLEAN_UP], env=terminal, check=True)
        assert not failed, "\n\n".join(failed)
        assert _installation(example) == before


def _deployment(example: Example) -> dict[str, object]:
    """What the pages find of their deployment, and may change."""
    address = "/v1/deployments/small-loans"
    parts = ("", "/fairness-monitor", "/mitigation", "/alert-rules", "/training-data")
    return {part or "deployment": _content(example.client.get(f"{address}{part}").json()) for part in parts}


def _installation(example: Example) -> dict[str, object]:
    """What is there besides: deployments, channels, and the keys and people who may do something."""
    channels = example.client.get("/v1/alert-channels").json()["channels"]
    deployments = example.client.get("/v1/deployments").json()["deployments"]
    keys = example.client.get("/v1/api-keys").json()["keys"]
    users = example.client.get("/v1/users").json()["users"]
    return {
        "channels": [channel["id"] for channel in channels],
        "deployments": [deployment["id"] for deployment in deployments],
        "keys": [key["name"] for key in keys if key["revoked_at"] is None],
        "users": [user["name"] for user in users if user["disabled_at"] is None],
    }


def _content(answer: object) -> object:
    """An answer without what counts or times changes, or names the request."""
    if isinstance(answer, list):
        return [_content(one) for one in answer]
    if isinstance(answer, dict):
        return {name: _content(value) for name, value in answer.items() if not name.endswith(PASSING)}
    return answer
