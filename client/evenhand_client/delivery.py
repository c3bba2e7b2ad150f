"""Batches out, receipts in: what is settled, what is sent again, and when."""

from __future__ import annotations

import json
import logging
import random
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from .counting import Counters, Losses, losses_body
from .entries import CORRECTION, FEEDBACK, KINDS, PAIR, Entries, Entry
from .transport import Answer, Transport
from .values import JsonObject

MAX_BATCH_BYTES = 16 * 1024 * 1024
"""Max bytes of a request's body; the service takes 64 MiB."""

WARN_SECONDS = 60.0

MAX_PAUSE_SECONDS = 30.0
MAX_RETRY_AFTER_SECONDS = 600.0
_FIRST_PAUSE_SECONDS = 0.5

_TO_RETRY = frozenset({408, 425, 429})
_TO_HOLD = frozenset({401, 402, 403, 404, 405, 407})
"""A wrong key, address or deployment: no record is at fault, and somebody can correct it."""

_FORBIDDEN = 403
_TOO_LARGE = 413
_SERVER_ERRORS = 500

OnError = Callable[[JsonObject, str], object]

log = logging.getLogger("evenhand_client")


class Postponed(Exception):
    """The service does not take the records now. `seconds` is the time it asked to wait, if it did."""

    def __init__(self, reason: str, seconds: float | None = None) -> None:
        super().__init__(reason)
        self.seconds = seconds


class Delivery:
    def __init__(self, transport: Transport, counters: Counters, *, flush_at: int, on_error: OnError | None) -> None:
        self._transport = transport
        self._counters = counters
        self._flush_at = flush_at
        self._on_error = on_error
        self._next_warning = 0.0

    def batches(self, entries: Iterable[Entry]) -> deque[Entries]:
        found: deque[Entries] = deque()
        size = 0
        for entry in sorted(entries, key=lambda entry: KINDS.index(entry.kind)):
            size += len(entry.body)
            if not found or found[-1][0].kind != entry.kind or len(found[-1]) >= self._flush_at or size > MAX_BATCH_BYTES:
                found.append([])
                size = len(entry.body)
            found[-1].append(entry)
        return found

    def deliver(self, batches: deque[Entries]) -> None:
        """Sends batches until none is left; those that are settled are taken out.

        Raises:
        Postponed: the service takes no more now.
        NoAnswer: it does not answer.
        """
        while batches:
            batch = batches[0]
            answer = self._transport.send("POST", _path_of(batch), _body_of(batch))
            if self._is_settled(batch, answer):
                batches.popleft()
            elif len(batch) == 1:
                batches.popleft()
                self.reject(_record(batch[0]), _reason(answer))
            else:
                # Too large, or unreadable because of one record: the others must not be lost with it.
                middle = len(batch) // 2
                batches[0] = batch[middle:]
                batches.appendleft(batch[:middle])

    def tell(self, losses: Losses) -> None:
        """Sends the totals of records that the service did not get, if they have changed. Raises Postponed, NoAnswer."""
        changed = losses.changed()
        if not changed:
            return
        body = json.dumps(losses_body(losses.sample_rate, changed)).encode("ascii")
        answer = self._transport.send("PUT", f"/missing-records/{losses.source}", body)
        if answer.status not in (200, 204):
            raise Postponed(_reason(answer), retry_after(answer))
        losses.settle(changed)

    def reject(self, record: JsonObject, reason: str) -> None:
        self.count_rejected(1, reason)
        if self._on_error is None:
            return
        try:
            self._on_error(record, reason)
        except Exception:
            log.exception("on_error raised")

    def count_rejected(self, records: int, reason: str) -> None:
        """Counts records that are refused for good; a line of the log says why, at most once in a minute."""
        self._counters.add("rejected", records)
        # Where every record is refused for the same reason, a line each would fill the log.
        if time.monotonic() >= self._next_warning:
            self._next_warning = time.monotonic() + WARN_SECONDS
            log.warning("Evenhand refuses records; %d so far. The last reason: %s", self._counters.totals["rejected"], reason[:500])

    def _is_settled(self, batch: Entries, answer: Answer) -> bool:
        """Returns whether the receipt says what became of each record; False if the batch is to be split."""
        status = answer.status
        members = answer.members()
        if status == _FORBIDDEN and batch[0].kind == CORRECTION:
            # Held back, they would keep all records waiting that this key may log.
            for entry in batch:
                self.reject(_record(entry), _reason(answer))
            return True
        if members.keys() & {"accepted", "corrected"} and status in (200, 409, 422):
            self._count(batch, members)
            return True
        if status == _TOO_LARGE:
            return False
        if status in _TO_RETRY or status >= _SERVER_ERRORS:
            raise Postponed(_reason(answer), retry_after(answer))
        if status < 400 or status in _TO_HOLD:  # noqa: PLR2004 - a success without receipt, or a redirect, is not Evenhand's
            raise Postponed(f"check the address, the key and the deployment; {_reason(answer)}", retry_after(answer))
        return False

    def _count(self, batch: Entries, receipt: JsonObject) -> None:
        self._counters.add("sent", int(receipt.get("accepted") or receipt.get("corrected") or 0))
        self._counters.add("duplicate", int(receipt.get("duplicate", 0)))
        for rejection in [*receipt.get("rejections", ()), *receipt.get("conflicts", ())]:
            index, reason = int(rejection.get("index", 0)), f"{rejection.get('field', 'id')}: {rejection.get('reason', 'refused')}"
            # The receipt counts rows, of which a pair may have many.
            if batch[0].kind != PAIR:
                record = _record(batch[index])
            elif len(batch) == 1:
                record = _record(batch[0])
            else:
                record = {"scoring_ids": [entry.id for entry in batch], "row": index}
            self.reject(record, reason)


class Pauses:
    def __init__(self) -> None:
        self._attempts = 0

    def next(self, asked: float | None) -> float:
        """Returns the seconds until the next attempt: at least those that the service asked for."""
        longest = min(MAX_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**self._attempts)
        self._attempts = min(self._attempts + 1, 16)
        return min(asked or 0.0, MAX_RETRY_AFTER_SECONDS) + random.uniform(0, longest)  # noqa: S311 - no secret

    def reset(self) -> None:
        self._attempts = 0


def _path_of(batch: Entries) -> str:
    return {FEEDBACK: "/feedback-records", CORRECTION: "/corrections"}.get(batch[0].kind, "/payload-records")


def _body_of(batch: Entries) -> bytes:
    joined = b",".join(entry.body for entry in batch)
    return b"[%s]" % joined if batch[0].kind in (PAIR, CORRECTION) else b'{"records":[%s]}' % joined


def _record(entry: Entry) -> JsonObject:
    found: JsonObject = json.loads(entry.body)
    return found


def _reason(answer: Answer) -> str:
    detail = answer.members().get("detail") or answer.body[:200].decode("utf-8", "replace")
    return f"status {answer.status}: {detail}"


def retry_after(answer: Answer) -> float | None:
    sent = answer.headers.get("retry-after", "").strip()
    if not sent:
        return None
    if sent.isdecimal():
        return float(sent)
    try:
        return max(0.0, (parsedate_to_datetime(sent) - datetime.now(timezone.utc)).total_seconds())
    except (ValueError, TypeError):  # 3.9 raises TypeError for a text that is no date
        return None
