"""A signal that ends a process, wherever the main thread is when it arrives."""

import os
import signal
from collections.abc import Iterator

import pytest

from app.cli.database import build_stop_signal
from tests.progress import wait_until

NAMES = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _own_handlers() -> Iterator[None]:
    before = {name: signal.getsignal(name) for name in NAMES}
    yield
    for name, handler in before.items():
        signal.signal(name, handler)


@pytest.mark.parametrize("name", NAMES)
def test_a_signal_sets_the_event_even_while_the_main_thread_holds_its_lock(name: signal.Signals) -> None:
    stop = build_stop_signal()

    # `wait()` and `is_set()` hold it for a moment each time.
    with stop._cond:  # type: ignore[attr-defined]  # noqa: SLF001 - the moment cannot be met otherwise
        os.kill(os.getpid(), name)

    wait_until(stop.is_set)


def test_without_a_signal_nothing_is_set() -> None:
    assert not build_stop_signal().is_set()
