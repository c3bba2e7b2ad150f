"""The calls of the real SDK (3.1.11), recorded by `scripts/openscale-sdk --record`, sent again without it.

The SDK cannot be installed next to our own dependencies: it asks for an older python-dateutil than pandas gets here. The script runs the
real one; this test sees to it that what it sends is still answered with all that it was answered with.
"""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.checks.check import perform_check
from app.mitigation.window.mitigating import mitigate_window
from app.schedule.worker import Worker
from app.security.secrets import open_secret_box
from app.settings import Settings
from app.store.database.engine import Database
from scripts.openscale_shapes import ids_of, members_of
from tests.builders.workers import running
from tests.databases import Databases
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.progress import wait_until
from tests.service import running_service

CALLS = json.loads((Path(__file__).parent / "recorded.json").read_text())["calls"]


class Replay:
    """Sends recorded calls with the ids that this service gave instead of those that were recorded."""

    def __init__(self, client: httpx.Client, known: dict[str, str]) -> None:
        self._client = client
        self._known = known

    def send(self, call: dict[str, Any]) -> httpx.Response:
        """The answer to one call; to the question for a run, the one after its end."""
        found: list[httpx.Response] = []

        def is_answered() -> bool:
            headers = {"content-type": call["content_type"]} if call["content_type"] else {}
            body = None if call["body"] is None else self._translated(call["body"])
            found.append(self._client.request(call["method"], self._translated(call["path"]), content=body, headers=headers))
            return '"state":"running"' not in found[-1].text or call["method"] != "GET"

        wait_until(is_answered, "the run is over")
        return found[-1]

    def learn(self, call: dict[str, Any], answer: httpx.Response) -> None:
        """Remembers the ids of an answer under those that were recorded."""
        if call["location"]:
            pairs = [(call["location"], answer.headers["location"])]
            self._known |= {old.rpartition("/")[2]: new.rpartition("/")[2] for old, new in pairs}
        if call["method"] == "POST":
            own = list(ids_of(answer.json()))
            self._known |= dict(zip(call["ids"], own, strict=False))
            # Ids of instances and data sets hold the subscription's.
            self._known |= {old.partition(".")[2]: new.partition(".")[2] for old, new in zip(call["ids"], own, strict=False) if "." in old}

    def _translated(self, text: str) -> str:
        for old in sorted(self._known, key=len, reverse=True):
            text = text.replace(old, self._known[old])
        return text


@pytest.fixture(scope="module")
def answers(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[httpx.Response]]:
    """The answers to all recorded calls, in their order."""
    folder = tmp_path_factory.mktemp("replay")
    with databases.lent() as url:
        database = Database(url)
        with running_service(database, folder) as service, serve(RuleScorer()) as model:
            sealer = open_secret_box(Settings(data_dir=folder))
            perform = partial(perform_check, database=database, sealer=sealer, further=mitigate_window)
            with running(Worker(database, perform, concurrency=1)):
                replay = Replay(service.client, {"MODEL": model.url})
                found = []
                for call in CALLS:
                    answer = replay.send(call)
                    if answer.status_code == call["status"]:
                        replay.learn(call, answer)
                    found.append(answer)
                yield found
        database.close()


def test_every_call_is_answered_with_the_status_that_the_sdk_got(answers: list[httpx.Response]) -> None:
    pairs = zip(CALLS, answers, strict=True)
    other = [
        (call["method"], call["path"], answer.status_code, answer.text) for call, answer in pairs if answer.status_code != call["status"]
    ]

    assert other == []


def test_no_answer_lacks_a_member_that_the_sdk_got(answers: list[httpx.Response]) -> None:
    lacking = {}
    for call, answer in zip(CALLS, answers, strict=True):
        missing = set(call["members"]) - members_of(answer.json() if answer.content else None)
        if missing:
            lacking[f"{call['method']} {call['path']}"] = sorted(missing)

    assert lacking == {}


def test_the_page_lists_every_method_with_what_the_walk_found() -> None:
    methods = json.loads((Path(__file__).parent / "recorded.json").read_text())["methods"]
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "move-from-openscale.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w. ()]+)` \| (works|answers an error|not there) \|$", page, re.MULTILINE))

    assert rows == methods
