"""From the queue to the service: by one thread or, with a spool, by two, of which one only writes to disk."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Union

from .counting import Counters, Losses, Report, Stats
from .delivery import Delivery, OnError, Pauses, Postponed
from .entries import ABOUT_RECORDS, Entries, Logged, encode
from .options import Options
from .spool import Segment, Spool
from .transport import HttpxLike, NoAnswer, Transport

WRITE_SECONDS = 0.1
"""Pause between two writes to the spool: a process that is killed loses what it logged since."""

TELL_SECONDS = 10.0

STORE_SECONDS = 5.0

ADOPT_SECONDS = 60.0

log = logging.getLogger("evenhand_client")


class Mark:
    """A place in the queue. `is_stored`: everything before it is on disk or was sent; `is_sent`: it was sent.

    `segments` have left the spool once everything before it was sent.
    """

    def __init__(self) -> None:
        self.segments: int | None = None
        self.is_stored = threading.Event()
        self.is_sent = threading.Event()


Waiting = Union["tuple[Any, ...]", Mark]
"""The members of a `Logged` as a plain tuple, or a mark."""

Work = Union[Mark, Segment, Entries]


class Outbox:
    """Everything of one client in one process that is not the call itself. Its threads start with the first record."""

    def __init__(self, options: Options, *, on_error: OnError | None, http: HttpxLike | None) -> None:
        self.queue: deque[Waiting] = deque()
        self.is_awake = False
        self.bell = threading.Event()
        self.counters = Counters()
        self.losses = Losses(options.sample_rate)
        self._options = options
        self._transport = Transport(options.url, options.key, options.deployment, options.timeout, http)
        self._delivery = Delivery(self._transport, self.counters, flush_at=options.flush_at, on_error=on_error)
        folder = options.spool_folder
        self._spool = None if folder is None else Spool(folder, options.max_spool_bytes)
        self._adopted: dict[str, Losses] = {}
        self._ready: deque[Work] = deque()  # for the sender, where another thread writes: marks, and records that the disk did not take
        self._ready_bell = threading.Event()
        self._in_hand: deque[Entries] = deque()
        self._pauses = Pauses()
        self._hurry = threading.Event()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._starting = threading.RLock()  # a signal may interrupt its holder, and flush
        self._taking = threading.Lock()
        self._marks: set[Mark] = set()
        self._kept: object = None
        self._problem: str | None = None
        self._next_tell = self._next_adoption = 0.0
        self._reported = dict(self.counters.totals)

    def wake(self) -> None:
        self.is_awake = True
        if not self._threads:
            self._start()
        self.bell.set()

    def drop(self, hour: int, count: int = 1) -> None:
        self.counters.add("dropped", count)
        self.losses.add(hour, not_received=count)

    def refuse(self, hour: int, records: int, reason: str) -> None:
        """Counts records of a call that cannot be read; 0 for a label."""
        self._delivery.count_rejected(max(records, 1), reason)
        self.losses.add(hour, not_received=records)

    def write_now(self) -> None:
        if self._spool is not None:
            self._persist(self._spool)

    def has_left_over(self) -> bool:
        try:
            return self._spool is not None and any(self._spool.folder.glob("*.lock"))
        except OSError:
            return False

    def flush(self, timeout: float) -> Report:
        """Sends what was logged so far, for at most that time; with a spool it is on disk in any case."""
        mark = Mark()
        self._marks.add(mark)
        self.queue.append(mark)
        began = time.monotonic()
        self._hurry.set()
        self.wake()
        if self._spool is not None:
            # A flush of 0 seconds means `to disk`, which is not the service's business.
            self._wait(mark.is_stored, began + max(timeout, STORE_SECONDS))
        self._wait(mark.is_sent, began + timeout)
        self._marks.discard(mark)
        return self._report()

    def close(self, timeout: float) -> Report:
        """Flushes, ends the threads, and counts what is still in memory as dropped."""
        report = self.flush(timeout) if self._has_work() else self._report()
        self._stopping.set()
        for bell in (self._hurry, self.bell, self._ready_bell):
            bell.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(0.5)
        lost = self._give_up()
        if lost:
            log.warning("The program ended before Evenhand took every record. Lost: %d. The last problem: %s", lost, self._problem)
            report = replace(report, dropped=report.dropped + lost, waiting=0)
        return report

    def stats(self) -> Stats:
        """Returns the counts so far."""
        records, size = (0, 0) if self._spool is None else self._spool.totals()
        return Stats(**self.counters.totals, spooled=records, spooled_bytes=size, waiting=self._waiting(), last_problem=self._problem)

    def forget(self) -> None:
        """Leaves files and connection to the process that this one was forked from."""
        self._transport.forget()
        if self._spool is not None:
            self._spool.forget()

    def _write(self, spool: Spool) -> None:
        opened = 0.0
        while not self._stopping.is_set():
            if spool.open_records == 0:
                opened = time.monotonic()
            marks = self._persist(spool)
            now = time.monotonic()
            if marks or spool.open_records >= self._options.flush_at or now - opened >= self._options.flush_interval:
                self._rotate(spool)
                opened = now
            for mark in marks:
                mark.is_stored.set()
                self._ready.append(mark)
            self._keep_losses(spool)
            if spool.open_records == 0:
                self._ready_bell.set()
                self._rest(None)
            else:
                self._rest(WRITE_SECONDS)
        self._rotate(spool)

    def _persist(self, spool: Spool) -> list[Mark]:
        marks: list[Mark] = []
        with self._taking:
            entries = self._take(len(self.queue), marks)
            try:
                spool.append(entries)
            except OSError as error:
                self._note(f"the spool {spool.folder} cannot be written ({error}); records wait in memory instead")
                self._ready.append(entries)
                self._drop_unspooled()
            for entry in spool.drop_beyond_cap():
                self.drop(entry.hour)
        return marks

    def _drop_unspooled(self) -> None:
        held = [work for work in self._ready if isinstance(work, list)]
        while held and sum(map(len, held)) > self._options.max_queue:
            for entry in held[0]:
                self.drop(entry.hour)
            self._ready.remove(held.pop(0))

    def _rotate(self, spool: Spool) -> None:
        try:
            spool.rotate()
        except OSError as error:
            self._note(f"the spool {spool.folder} cannot be made durable: {error}")

    def _keep_losses(self, spool: Spool) -> None:
        document = self.losses.document()
        if document == self._kept or not document["hours"]:
            return
        try:
            spool.keep_losses(self.losses)
            self._kept = document
        except OSError as error:
            self._note(f"the spool {spool.folder} cannot be written: {error}")

    def _send(self) -> None:
        while not self._stopping.is_set():
            if self._spool is not None:
                self._adopt(self._spool)
            work = self._next_work()
            if work is None:
                self._tell_when_due()
            elif isinstance(work, Mark):
                self._tell_all()
                work.is_stored.set()
                work.is_sent.set()
            else:
                self._in_hand = self._delivery.batches(work.entries() if isinstance(work, Segment) else work)
                self._try_until_done(lambda: self._delivery.deliver(self._in_hand))
                if isinstance(work, Segment) and self._spool is not None and not self._in_hand:
                    self._spool.done()
                self._tell_when_due()
        self._transport.close()

    def _next_work(self) -> Work | None:
        """Returns a batch, a segment or a mark; None after a while without any."""
        if self._spool is None:
            return self._next_of_queue()
        head = self._ready[0] if self._ready else None
        if isinstance(head, Mark):
            if head.segments is None:
                # Here and not where it was made: what this thread has taken over from dead processes counts, too.
                head.segments = self._spool.closed
            if self._spool.removed >= head.segments:
                return self._ready.popleft()
        segment = self._spool.next()
        if segment is None and isinstance(head, list):
            return self._ready.popleft()
        if segment is None:
            self._ready_bell.wait(TELL_SECONDS)
            self._ready_bell.clear()
        return segment

    def _next_of_queue(self) -> Work | None:
        if not self.queue:
            # Totals of the sample are sent from time to time without any record.
            self._rest(None, longest=TELL_SECONDS if self.losses.changed() else None)
        deadline = time.monotonic() + self._options.flush_interval
        while 0 < len(self.queue) < self._options.flush_at and not self._marks and not self._stopping.is_set():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self.bell.wait(left)
            self.bell.clear()
        marks: list[Mark] = []
        entries = self._take(self._options.flush_at, marks)
        return entries or (marks[0] if marks else None)

    def _try_until_done(self, attempt: Callable[[], None]) -> None:
        while not self._stopping.is_set():
            try:
                attempt()
            except (Postponed, NoAnswer) as error:  # noqa: PERF203 - each attempt waits for a network
                pause = self._pauses.next(getattr(error, "seconds", None))
                self._note(f"{error}")
                self._hurry.wait(pause)
                self._hurry.clear()
            else:
                self._pauses.reset()
                if self._problem is not None:
                    log.info("Evenhand takes records again")
                self._problem = None
                return

    def _tell_when_due(self) -> None:
        if time.monotonic() >= self._next_tell:
            self._tell_all()

    def _tell_all(self) -> None:
        self._next_tell = time.monotonic() + TELL_SECONDS
        for owner, losses in [(None, self.losses), *self._adopted.items()]:
            if not losses.changed():
                continue
            try:
                self._delivery.tell(losses)
                if self._spool is not None:
                    self._spool.keep_losses(losses, owner)
                if owner is not None:
                    del self._adopted[owner]
            except (Postponed, NoAnswer, OSError) as error:
                log.debug("Evenhand does not know yet how many records it did not receive: %s", error)

    def _adopt(self, spool: Spool) -> None:
        if time.monotonic() < self._next_adoption:
            return
        self._next_adoption = time.monotonic() + ADOPT_SECONDS
        try:
            spool.start()
            self._adopted.update(spool.adopt())
        except OSError as error:
            self._note(f"the spool {spool.folder} cannot be read: {error}")

    def _take(self, most: int, marks: list[Mark]) -> Entries:
        """Takes records out of the queue and encodes them; without a spool only up to a mark, which is taken if it is the first."""
        entries: Entries = []
        while self.queue and len(entries) < most:
            waiting = self.queue[0]
            if isinstance(waiting, Mark) and self._spool is None and entries:
                break
            self.queue.popleft()
            if isinstance(waiting, Mark):
                marks.append(waiting)
                if self._spool is None:
                    break
                continue
            logged = Logged(*waiting)
            try:
                entries.append(encode(logged))
            except Exception as error:  # noqa: BLE001 - values of the program may raise anything; the others of its batch must go on
                self._delivery.reject({"id": logged.id, **logged.members}, f"it cannot be written as JSON: {error}")
                self.losses.add(logged.hour, not_received=int(logged.kind not in ABOUT_RECORDS))
        return entries

    def _rest(self, seconds: float | None, *, longest: float | None = None) -> None:
        """Waits for the bell: for some seconds or, where nothing is left to do, until the next record rings."""
        if seconds is None:
            self.is_awake = False
            # A record that came before that is seen here; each one after it rings.
            if self.queue:
                self.is_awake = True
                return
        self.bell.wait(longest if seconds is None else seconds)
        self.bell.clear()

    def _wait(self, event: threading.Event, deadline: float) -> None:
        while not event.is_set() and self._is_running():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            event.wait(min(left, 0.5))

    def _note(self, problem: str) -> None:
        if self._problem is None:
            log.warning("Evenhand does not take records now; they wait. %s", problem)
        self._problem = problem

    def _start(self) -> None:
        with self._starting:
            if self._threads:
                return
            threads = [threading.Thread(target=self._send, name="evenhand-send", daemon=True)]
            if self._spool is not None:
                threads.append(threading.Thread(target=self._write, args=(self._spool,), name="evenhand-spool", daemon=True))
            try:
                for thread in threads:
                    thread.start()
                self._threads = threads
            except RuntimeError:  # the interpreter is about to end
                self._threads = []

    def _is_running(self) -> bool:
        return bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    def _has_work(self) -> bool:
        return bool(self._waiting() or self.losses.changed() or (self._spool is not None and self._spool.totals()[0]))

    def _waiting(self) -> int:
        held = sum(len(work) for work in list(self._ready) if isinstance(work, list))
        in_hand = 0 if self._spool is not None else sum(map(len, list(self._in_hand)))
        return sum(not isinstance(entry, Mark) for entry in list(self.queue)) + held + in_hand

    def _report(self) -> Report:
        totals, before = dict(self.counters.totals), self._reported
        self._reported = totals
        new = {name: totals[name] - before[name] for name in ("sent", "duplicate", "rejected", "dropped")}
        spooled = 0 if self._spool is None else self._spool.totals()[0]
        return Report(**new, spooled=spooled, waiting=self._waiting())

    def _give_up(self) -> int:
        """Counts everything in memory as dropped, releases the spool, and returns the count."""
        self.write_now()
        left = [Logged(*entry) for entry in list(self.queue) if not isinstance(entry, Mark)]
        held = [entry for work in self._ready if isinstance(work, list) for entry in work]
        in_hand = [] if self._spool is not None else [entry for batch in self._in_hand for entry in batch]
        self.queue.clear()
        for hour in [*(unsent.hour for unsent in left), *(entry.hour for entry in [*held, *in_hand])]:
            self.drop(hour)
        if self._spool is not None:
            self._keep_losses(self._spool)
            try:
                self._spool.close()
            except OSError as error:
                log.warning("the spool cannot be closed: %s", error)
        return len(left) + len(held) + len(in_hand)
