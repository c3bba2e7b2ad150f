"""What the clients know: everything they sent, and what of it was acknowledged. Lives in the harness, so no kill touches it."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str]
"""Deployment and record id."""


@dataclass
class Ledger:
    """Payload records and labels by key. Safe to share between threads."""

    payload: dict[Key, Record] = field(default_factory=dict)
    labels: dict[Key, int] = field(default_factory=dict)
    acknowledged_payload: set[Key] = field(default_factory=set)
    acknowledged_labels: set[Key] = field(default_factory=set)
    answers: list[tuple[float, float]] = field(default_factory=list)
    """When each acknowledged attempt was begun and answered."""
    unanswered: int = 0
    """Attempts that got no acknowledgement and were tried again, or given up."""
    duplicates: int = 0
    """Records sent again on purpose that were rightly found stored already."""
    answers_lost: int = 0
    """Records that a repeated request found stored by the attempt before, whose answer never came."""
    wrong: list[str] = field(default_factory=list)
    """Answers that should never come."""
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def sending_payload(self, deployment: str, records: Sequence[Record]) -> None:
        """Notes records before they leave."""
        with self._turn:
            self.payload.update({(deployment, record["id"]): record for record in records})

    def sending_labels(self, deployment: str, labels: Sequence[Record]) -> None:
        """Notes labels before they leave."""
        with self._turn:
            self.labels.update({(deployment, label["id"]): label["label"] for label in labels})

    def acknowledge(self, deployment: str, kind: str, ids: Iterable[str], times: tuple[float, float]) -> None:
        """Notes that the service said of all these ids that they are stored, to an attempt begun and answered at these times."""
        with self._turn:
            known = self.acknowledged_payload if kind == "payload" else self.acknowledged_labels
            known.update((deployment, record_id) for record_id in ids)
            self.answers.append(times)

    def found_stored(self, records: int, *, on_purpose: bool) -> None:
        """Notes duplicates."""
        with self._turn:
            if on_purpose:
                self.duplicates += records
            else:
                self.answers_lost += records

    def missed(self) -> None:
        """Notes an attempt without an acknowledgement."""
        with self._turn:
            self.unanswered += 1

    def complain(self, text: str) -> None:
        """Notes an answer that should never come."""
        with self._turn:
            self.wrong.append(text)

    def first_answer_after(self, moment: float) -> float | None:
        """When the first attempt that was begun after the moment was acknowledged; None: not yet."""
        with self._turn:
            # Newest last by the time of the answer, and each answer is at most seconds late: no need to look at all.
            return min((answered for began, answered in self.answers[-20_000:] if began >= moment), default=None)
