"""The live part: applicants are scored and logged one by one, labels follow."""

import heapq
import queue
import threading
import uuid
from collections.abc import Iterable
from datetime import timedelta

import numpy as np

from ..clock import utc_now
from .applicants import applicants
from .client import Evenhand, ModelClient
from .traffic import Label, Visit, labels_of, payload_records

PER_SECOND = 2.0
LATEST_LABEL = timedelta(minutes=3)
"""Max time to a label; far shorter than in reality."""


class Stream:
    def __init__(self, evenhand: Evenhand, model: ModelClient) -> None:
        self._evenhand = evenhand
        self._model = model
        self._random = np.random.default_rng()
        self._expected: queue.SimpleQueue[Label] = queue.SimpleQueue()
        self._due: list[Label] = []
        self.logged = 0
        self.labelled = 0

    def expect(self, labels: Iterable[Label]) -> None:
        """Logs each of these labels when it is due; safe for threads."""
        for label in labels:
            self._expected.put(label)

    def run(self, stop: threading.Event) -> None:
        """Streams until `stop` is set. Raises Unavailable."""
        while not stop.wait(self._random.exponential(1 / PER_SECOND)):
            now = utc_now()
            visits = [Visit(str(uuid.uuid4()), now, one) for one in applicants(1, self._random)]
            self._evenhand.log_payload(payload_records(visits, self._model))
            self.logged += 1
            self.expect(labels_of(visits, LATEST_LABEL, self._random))

            # Other threads may add labels; only this one reads the heap.
            while not self._expected.empty():
                heapq.heappush(self._due, self._expected.get())
            now = utc_now()
            known = []
            while self._due and self._due[0].known_at <= now:
                known.append(heapq.heappop(self._due))
            self._evenhand.log_feedback([label.record() for label in known])
            self.labelled += len(known)
