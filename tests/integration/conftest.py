"""Snapshots of what services say, which run at the present time on ports and in folders of their own, and small processes."""

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.builders.page_words import hide_varying


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """The stored words of the state that the test makes, without what another run has otherwise."""
    return snapshot.with_defaults(matcher=hide_varying)


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that read get 64 MiB each."""
    monkeypatch.setenv("EVENHAND_UPLOAD_MEMORY_BYTES", str(2**26))
