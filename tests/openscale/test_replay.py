"""The calls of the real SDK (3.1.11), recorded by `openscale/walk/run --record`, sent again without it.

The SDK cannot be installed next to our own dependencies: it asks for an older python-dateutil than pandas gets here. The script runs the
real one; this test sees to it that what it sends is still answered with all that it was answered with.
"""

import json
import re
from pathlib import Path

import httpx
import pytest

from openscale.walk.shapes import missing_in, read_calls, shape_of
from tests.openscale.replay import Replay
from tests.service import RunningService

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())
CALLS = read_calls(RECORDED)


@pytest.fixture(scope="module")
def answers(service: RunningService, model_url: str) -> list[httpx.Response]:
    """The answers to all recorded calls, in their order."""
    replay = Replay(service.client, {"MODEL": model_url})
    answers = []
    for call in CALLS:
        answer = replay.send(call)
        if answer.status_code == call["status"]:
            replay.learn(call, answer)
        answers.append(answer)
    return answers


@pytest.mark.thorough
def test_every_call_is_answered_with_the_status_that_the_sdk_got(answers: list[httpx.Response]) -> None:
    pairs = zip(CALLS, answers, strict=True)
    other = [
        (call["method"], call["path"], answer.status_code, answer.text) for call, answer in pairs if answer.status_code != call["status"]
    ]

    assert other == []


@pytest.mark.thorough
def test_no_answer_lacks_a_member_that_the_sdk_got(answers: list[httpx.Response]) -> None:
    lacking = {}
    for call, answer in zip(CALLS, answers, strict=True):
        missing = list(missing_in(call["shape"], shape_of(answer.json() if answer.content else None)))
        if missing:
            lacking[f"{call['method']} {call['path']}"] = missing

    assert lacking == {}


def test_the_page_lists_every_method_with_what_the_walk_found() -> None:
    page = Path(__file__).parents[2].joinpath("openscale", "README.md").read_text(encoding="utf-8").partition("## Every method")[2]
    listed = {
        name: state
        for state, names in re.findall(r"^\*([a-z ]+)\*: (.*)\.$", page, re.MULTILINE)
        for part, *methods in (re.findall(r"`([^`]+)`", of_part) for of_part in names.split("; "))
        for name in ([f"{part}.{method}" for method in methods] or [part])
    }

    assert listed == RECORDED["methods"]
