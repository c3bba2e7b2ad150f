"""docs/operations/backups.md from beginning to end, with the real commands: log, check, back up, restore elsewhere, same figures."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.builders.docs_pages import DOCS, blocks
from tests.e2e.embedded.commands import EVENHAND, REPOSITORY, environment
from tests.ports import free_port
from tests.progress import wait_until

LOANS = {
    "id": "loans",
    "name": "Loans",
    "problem_type": "binary",
    "features": [{"name": "sex", "type": "string"}, {"name": "income", "type": "integer"}],
}
MONITOR = {
    "favourable": ["approved"],
    "unfavourable": ["refused"],
    "attributes": [{"feature": "sex", "monitored": ["female"], "reference": ["male"], "threshold": 0.8}],
}
RECORDS = [
    {
        "id": f"application-{number}",
        "features": {"sex": ("female", "male")[number % 2], "income": 1000 * (number % 80)},
        "prediction": "approved" if number % 2 or number % 80 >= 40 else "refused",
    }
    for number in range(400)
]


@pytest.mark.nightly
def test_figures_are_the_same_after_a_backup_and_a_restore_elsewhere(folder: Path) -> None:
    here, there = folder / "here", folder / "there"
    for place in (here, there):
        place.mkdir(mode=0o711)
    back_up, restore = _documented()
    with _client(here, key=None) as client:
        client.post("/v1/deployments", json=LOANS).raise_for_status()
        client.put("/v1/deployments/loans/fairness-monitor", json=MONITOR).raise_for_status()
        client.post("/v1/deployments/loans/payload-records", json={"records": RECORDS}).raise_for_status()
        checked = _evenhand(here, "check", "loans", "--wait")
        figures = _figures(client)
        saved = _evenhand(here, *back_up)
        key = client.headers["Authorization"].removeprefix("Bearer ")

    restored = _evenhand(there, *restore[:-1], str(here / restore[-1]))

    assert "succeeded" in checked
    assert "The database is in evenhand.backup" in saved
    assert "is restored, and the database is up to date." in restored
    assert figures
    with _client(there, key=key) as client:
        found = _figures(client)
        assert [figure for figure in found if figure in figures] == figures  # the worker may have checked another hour meanwhile


def _documented() -> tuple[list[str], list[str]]:
    """The two command lines of the page, without the program's name."""
    lines = [line for block in blocks(DOCS / "operations" / "backups.md") for line in block.body.splitlines()]
    return tuple(next(line.split()[1:] for line in lines if re.match(rf"evenhand {name} ", line)) for name in ("backup", "restore"))  # type: ignore[return-value]


@contextmanager
def _client(folder: Path, *, key: str | None) -> Iterator[httpx.Client]:
    """The service on the data in `folder`, until the block ends; with a new key unless one is given."""
    port = free_port()
    log = folder / "serve.log"
    with (
        log.open("ab") as output,
        subprocess.Popen([*EVENHAND, "serve"], env=environment(folder, port), cwd=REPOSITORY, stdout=output, stderr=output) as serving,
    ):
        try:
            wait_until(lambda: "listens on" in log.read_text(encoding="utf-8"), "the service says where it listens")
            key = key or _evenhand(folder, "keys", "create", "--role", "admin").strip()
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {key}"}) as client:
                yield client
            serving.send_signal(signal.SIGINT)
            assert serving.wait() == 0
        except BaseException:
            sys.stderr.write(log.read_text(encoding="utf-8"))
            raise
        finally:
            serving.kill()


def _evenhand(folder: Path, *arguments: str) -> str:
    variables = {**environment(folder, 8000), "PYTHONPATH": str(REPOSITORY), "PATH": os.environ["PATH"]}
    ended = subprocess.run([*EVENHAND, *arguments], env=variables, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _figures(client: httpx.Client) -> list[Any]:
    return list(client.get("/v1/deployments/loans/measurements").raise_for_status().json()["measurements"])
