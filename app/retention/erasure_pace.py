"""Size and pace of erasing: writers of records must not notice it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..base.clock import monotonic_seconds

BATCH_RECORDS = 500

LOOKED_THROUGH = 5000

LONGEST_REST_SECONDS = 1.0


@contextmanager
def paced() -> Iterator[None]:
    """Runs a batch, then rests as long as it took, up to `LONGEST_REST_SECONDS`."""
    began = monotonic_seconds()
    yield
    threading.Event().wait(min(monotonic_seconds() - began, LONGEST_REST_SECONDS))
