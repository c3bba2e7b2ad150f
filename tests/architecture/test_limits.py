"""No test has a limit in seconds, because a machine with other work misses it. What ends a test is in `tests/progress.py`."""

import ast
import re
from pathlib import Path

import pytest
from hypothesis import settings

from tests.builders.sources import nodes_of

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = {path.relative_to(REPOSITORY).as_posix(): path for path in sorted((REPOSITORY / "tests").rglob("*.py"))}

LIMITS = {"timeout", "connect_timeout", "deadline"}
"""Arguments that end a call. None, as Hypothesis has it for a `deadline`, ends nothing."""

WAITS = {"wait", "join", "result", "wait_for"}
CLOCKS = {"monotonic", "perf_counter", "time"}

MAY_LIMIT = re.compile(r"timeout|deadline|monotonic|perf_counter|\.time\b|sleep|\.(?:wait|join|result|wait_for)\((?:[^()]|\([^()]*\))*\d")
"""Found in every module that has a limit. To parse those without it as well takes seconds."""

EXCEPTIONS = {
    "tests/builders/gateway_kills.py": "a client that is cut off by a kill calls again",
    "tests/browsing.py": "Playwright has no word for `without limit`: 24 days",
    "tests/crashes/chaos.py": "the plan says for how long there is load and harm; nothing is asserted about it",
    "tests/crashes/checking.py": "a client that is cut off by a kill asks again",
    "tests/crashes/clients.py": "the same",
    "tests/crashes/doors.py": "the same",
    "tests/crashes/history.py": "the same",
    "tests/crashes/service.py": "whether it is ready is asked again and again, also while it is being killed",
    "tests/e2e/ingest/test_kills.py": "a client that is cut off by a kill asks again",
    "tests/e2e/schedule/test_alerts_survive.py": "the same",
    "tests/integration/outbound/test_answers_of_models.py": "the limit is a client's, missed on purpose: nobody answers",
    "tests/integration/scoring/test_client.py": "a model holds a page until others come, or a moment; alone it proves less",
    "tests/integration/scoring/test_live.py": "the deadline is the product's: missed on purpose, or ten minutes away",
}


def limits(source: str) -> list[int]:
    """The lines that have one."""
    if MAY_LIMIT.search(source) is None:
        return []
    nodes = nodes_of(source)
    bounded = [node.lineno for node in nodes if isinstance(node, ast.For) and _asks_so_often(node)]
    return bounded + [node.lineno for node in nodes if isinstance(node, ast.expr) and _is_limit(node)]


def _asks_so_often(loop: ast.For) -> bool:
    """Whether the loop sleeps between a bounded number of tries, which is a limit in seconds."""
    is_counted = isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name) and loop.iter.func.id == "range"
    calls = [node.func for node in ast.walk(loop) if isinstance(node, ast.Call)]
    sleeps = any(isinstance(called, ast.Attribute) and called.attr == "sleep" for called in calls)
    # One that runs to its end in any case only works slowly, as a model of a test does.
    return is_counted and sleeps and any(isinstance(node, ast.Return | ast.Break) for node in ast.walk(loop))


def _is_limit(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=function, args=arguments, keywords=named):
            waits = isinstance(function, ast.Attribute) and function.attr in WAITS
            return (waits and any(map(_is_second_or_more, arguments))) or any(
                argument.arg in LIMITS and not _is_none(argument.value) for argument in named
            )
        case ast.Compare():
            return any(_is_clock(inner) for inner in ast.walk(node))
        case ast.Attribute(attr="timeout", value=ast.Attribute(attr="mark") | ast.Name(id="asyncio")):
            return True
    return False


def _is_second_or_more(node: ast.expr) -> bool:
    # Less is a pause: `stop.wait(0.2)`.
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value >= 1


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS


def test_a_test_waits_without_limit_or_says_why_not() -> None:
    lines = {name: limits(path.read_text(encoding="utf-8")) for name, path in FILES.items()}

    unexplained = {name: found for name, found in lines.items() if found and name not in EXCEPTIONS}
    needless = [name for name in EXCEPTIONS if not lines.get(name)]
    assert (unexplained, needless) == ({}, [])


@pytest.mark.parametrize(
    "line",
    [
        "httpx.get(address, timeout=5)",
        "subprocess.run(command, timeout=SECONDS)",
        "assert time.monotonic() < deadline",
        "while not holds() and time.time() - began < 3: pass",
        "process.wait(10)",
        "thread.join(20)",
        "future.result(timeout=1)",
        "pytestmark = pytest.mark.timeout(300)",
        "asyncio.timeout(1)",
        "settings(deadline=200)",
        "for _ in range(600): time.sleep(0.1); break",
    ],
)
def test_a_limit_is_seen(line: str) -> None:
    assert limits(line) == [1]


@pytest.mark.parametrize(
    "line", ["process.wait()", "stop.wait(0.2)", "', '.join(words)", "settings(deadline=None)", "began = time.monotonic()"]
)
def test_what_is_no_limit_is_not_seen(line: str) -> None:
    assert limits(line) == []


def test_hypothesis_has_no_limit_by_itself() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
