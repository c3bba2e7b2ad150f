from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from evenhand_client import Evenhand

from .collector import Collector, collecting


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("URL", "KEY", "DEPLOYMENT", "SPOOL_DIR", "ENABLED"):
        monkeypatch.delenv(f"EVENHAND_{name}", raising=False)


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A stand-in for the service."""
    with collecting() as collector:
        yield collector


@pytest.fixture
def make(collector: Collector) -> Iterator[Callable[..., Evenhand]]:
    """Makes clients of the stand-in, which are closed at the end."""
    with ExitStack() as stack:

        def make_client(**options: object) -> Evenhand:
            client = Evenhand(**{"url": collector.url, "key": "evk_secret", "deployment": "loans", **options})  # type: ignore[arg-type]
            stack.callback(client.close, 0)
            return client

        yield make_client
