"""The client: a call that takes microseconds and never raises; everything else happens in the background."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from .counting import HOUR_NANOSECONDS, Report, Stats
from .delivery import OnError
from .entries import ABOUT_RECORDS, CORRECTION, FEEDBACK, PAIR, PAYLOAD, Logged
from .identifiers import id_text, is_in_sample, new_id
from .options import Options
from .outbox import Outbox
from .rows import Answers, answers_of, features_of, number_of, one_a_row
from .spool import CAN_SPOOL
from .transport import HttpxLike
from .values import JsonObject, plain_parts

EXIT_SECONDS = 5.0
"""Max seconds by which the end of the program is delayed."""

log = logging.getLogger("evenhand_client")


class Evenhand:
    """Logs records of one deployment. Make one per process, or one before forking; threads may share it.

    Each option that is left out is looked up in the environment as `EVENHAND_` and its name in capitals. Without address, key or
    deployment the client is disabled: it says so once, and every call does nothing.

    Args:
        url: address of the service.
        key: an API key of the role `ingest`.
        deployment: id of the deployment.
        flush_at: records in one request, at most 10,000.
        flush_interval: seconds after which fewer are sent.
        max_queue: records that may wait in memory.
        on_full: what happens to a record beyond them: `drop_new` counts it as dropped; `block` waits for at most `timeout` before that;
            `spool` writes to the disk in the caller's thread.
        spool_dir: folder in which records are kept until the service has them. Processes may share it.
        max_spool_bytes: size of one process' files in it; beyond, the oldest records are dropped and counted.
        sample_rate: share of the ids that are logged, from 0 to 1.
        timeout: seconds to wait for an answer of the service.
        enabled: False does nothing at all.
        on_error: called in the background with each record that is refused for good, and the reason.
        http: an `httpx.Client`, for a proxy, an own certificate authority or client certificates.

    Raises:
        ValueError: an option cannot be used.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        deployment: str | None = None,
        *,
        flush_at: int | None = None,
        flush_interval: float | None = None,
        max_queue: int | None = None,
        on_full: str | None = None,
        spool_dir: str | os.PathLike[str] | None = None,
        max_spool_bytes: int | None = None,
        sample_rate: float | None = None,
        timeout: float | None = None,
        enabled: bool | None = None,
        on_error: OnError | None = None,
        http: HttpxLike | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "on_error", "http")}
        self._options = Options.of(given)
        if self._options.spool_dir and not CAN_SPOOL:
            raise ValueError("spool_dir needs file locks of POSIX, which this system does not have")
        self._on_error = on_error
        self._http = http
        self._is_enabled = self._options.why_disabled is None
        self._is_closed = False
        # A record needs no more than a place in the queue while fewer than `_room` wait, and not `_rings_at`, after which the bell rings.
        self._room = self._options.max_queue if self._is_enabled and self._options.sample_rate >= 1.0 else 0
        self._rings_at = self._options.flush_at - 1
        self._make_outbox()
        if not self._is_enabled:
            log.warning("Evenhand logs nothing: %s", self._options.why_disabled)
            return
        _clients.add(self)
        _handle_sigterm()
        if self._outbox.has_left_over():
            self._outbox.wake()

    @property
    def is_enabled(self) -> bool:
        return self._is_enabled

    @property
    def is_full(self) -> bool:
        """Returns whether the queue in memory is full, so that the next call may take longer."""
        return len(self._outbox.queue) >= self._options.max_queue

    def log(
        self,
        features: Mapping[str, Any],
        prediction: Any,  # noqa: ANN401 - a text, a number, a boolean, of any library
        probability: Any = None,  # noqa: ANN401 - a number or several
        id: str | None = None,  # noqa: A002 - the member's name
        meta: Mapping[str, Any] | None = None,
        scored_at: Any = None,  # noqa: ANN401 - a datetime, or a text in ISO 8601
        label: Any = None,  # noqa: ANN401 - as prediction
    ) -> str:
        """Takes a record and returns its id. Never raises, and does not wait for the service.

        Id and time are fixed here, so a record that is sent again is stored once. `label` is the decoded form of the prediction; the
        observed outcome goes to `log_label`.
        """
        now = time.time_ns()
        record_id = id if id.__class__ is str and id else new_id(now)
        try:
            if id is not None and id.__class__ is not str:
                record_id = id_text(id) or record_id
            copied = features.copy() if features.__class__ is dict else _copy_mapping(features)
            if probability is not None and probability.__class__ is not float:
                probability = plain_parts(probability, "probability")  # a model may use its array again
            others = None
            if meta is not None or scored_at is not None or label is not None:
                others = {"meta": None if meta is None else dict(meta), "scored_at": scored_at, "label": label}
                others = {name: value for name, value in others.items() if value is not None}
            # A `Logged` without the call of a function of Python: most of a call's time are emptied caches, and the collector of garbage,
            # which comes the more often, the more containers a call makes.
            logged = (PAYLOAD, record_id, now, copied, prediction, probability, others)
            outbox = self._outbox
            queue = outbox.queue
            waiting = len(queue)
            if waiting < self._room and waiting != self._rings_at and outbox.is_awake:
                queue.append(logged)
            else:
                self._put(Logged(*logged))
        except Exception as error:  # noqa: BLE001 - the model's own code must go on
            self._refuse(error)
        return record_id

    def log_label(self, id: str, label: Any) -> None:  # noqa: A002, ANN401 - as above
        """Takes the observed outcome of the record of that id. Never raises."""
        try:
            self._put(Logged(FEEDBACK, id_text(id) or "", time.time_ns(), others={"label": label}))
        except Exception as error:  # noqa: BLE001 - as above
            self._refuse(error, 0)

    def correct(
        self,
        record_id: str,
        what: str,
        new: Any,  # noqa: ANN401 - as label
        reason: str,
        old: Any = None,  # noqa: ANN401 - as label
        id: str | None = None,  # noqa: A002 - as above
    ) -> None:
        """Takes a correction of the `label` or `prediction` of a stored record, for a key of the role `manage`. Never raises.

        `None` takes the value away. With `old`, it is corrected only if it is still that one. A correction that is sent again is made once;
        name each by an `id` if a value may go back and forth.
        """
        try:
            others = {"what": what, "new": new, "reason": reason, "old": old, "id": id}
            self._put(Logged(CORRECTION, id_text(record_id) or "", time.time_ns(), others=others))
        except Exception as error:  # noqa: BLE001 - as above
            self._refuse(error, 0)

    def log_pair(self, request: Any, response: Any, id: str | None = None) -> str:  # noqa: A002, ANN401 - JSON of a model server
        """Takes a request to a model server and its answer, decoded, in a form that the service reads; never raises.

        Both are encoded later, so do not change them afterwards. Returns the id of the pair: its rows become records with the ids
        `<id>-1`, `<id>-2` and so on.
        """
        now = time.time_ns()
        pair_id = id if id.__class__ is str and id else new_id(now)
        try:
            pair_id = id_text(id) or pair_id
            self._put(Logged(PAIR, pair_id, now, others={"request": request, "response": response}))
        except Exception as error:  # noqa: BLE001 - as above
            self._refuse(error)
        return pair_id

    def log_frame(
        self,
        frame: Any,  # noqa: ANN401 - a DataFrame of pandas, or of a library like it
        prediction: Any,  # noqa: ANN401 - the name of a column, or what a model answers
        probability: str | Sequence[Any] | None = None,
        id: str | None = None,  # noqa: A002 - as above
        meta: Sequence[str] = (),
        features: Sequence[str] | None = None,
    ) -> list[str]:
        """Takes each row of a DataFrame as a record, and returns their ids. Never raises.

        `prediction` is the name of a column, or one value per row in any form that `monitored` reads; `probability` the name of a column,
        or one value per row; `id` and `meta` are names of columns. The features are the columns left, unless they are named. A frame of
        which a part cannot be read, or has another length, is refused as a whole.
        """
        try:
            rows = features_of(frame, None)
            special = {name for name in (prediction, probability, id) if isinstance(name, str)} | set(meta)
            names = rows[0] if rows else special
            chosen = [name for name in names if name not in special] if features is None else features
            absent = [name for name in (*special, *chosen) if name not in names]
            if absent:
                raise ValueError(f"there is no column {', '.join(absent)}; the frame has {', '.join(names)}")  # noqa: TRY301 - as all others
            answers = Answers([row[prediction] for row in rows]) if isinstance(prediction, str) else answers_of(prediction)
            if isinstance(probability, str):
                probability = [row[probability] for row in rows]
            if probability is not None:
                answers = answers._replace(probabilities=one_a_row(probability))
            return self._log_rows(
                [{name: row[name] for name in chosen} for row in rows],
                answers,
                ids=None if id is None else [row[id] for row in rows],
                metas=[{name: row[name] for name in meta} for row in rows] if meta else None,
            )
        except Exception as error:  # noqa: BLE001 - as above
            self._refuse(error, number_of(frame))
            return []

    def flush(self, timeout: float = 30.0) -> Report:
        """Sends what was logged so far, for at most that many seconds, and returns the counts since the last flush. Never raises.

        With a spool everything is on disk afterwards, whether it was sent or not: `flush(0)` is enough for that.
        """
        if not self._is_enabled or self._is_closed:
            return Report()
        return self._outbox.flush(timeout)

    def stats(self) -> Stats:
        """Returns the counts so far."""
        return self._outbox.stats()

    def close(self, timeout: float = EXIT_SECONDS) -> Report:
        """Flushes and stops. Without a spool, the records that are not sent by then are lost, and a warning gives their number."""
        if not self._is_enabled or self._is_closed:
            return Report()
        self._is_closed = True
        self._room = 0
        _clients.discard(self)
        return self._outbox.close(timeout)

    def count_dropped(self) -> None:
        """Counts one record that the program could not log."""
        if self._is_enabled:
            self._outbox.drop(time.time_ns() // HOUR_NANOSECONDS)

    def __enter__(self) -> Evenhand:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, _memo: object) -> Evenhand:
        return self

    def __reduce__(self) -> tuple[type[Evenhand], tuple[str, None, str]]:
        return type(self), (self._options.url, None, self._options.deployment)

    def _log_rows(
        self,
        features: Sequence[Mapping[str, Any]],
        answers: Answers,
        ids: Sequence[Any] | None = None,
        metas: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[str]:
        """Takes a record a row, and returns their ids.

        Raises:
            ValueError: something is not one a row.
        """
        parts = {"predictions": answers.predictions, "probabilities": answers.probabilities, "ids": ids, "meta fields": metas}
        for name, values in parts.items():
            if values is not None and len(values) != len(features):
                raise ValueError(f"{len(values)} {name} for {len(features)} rows; give one a row, or call log() for each record")
        columns = [values or [None] * len(features) for values in parts.values()]
        return [self.log(row, *values) for row, *values in zip(features, *columns)]

    def _put(self, logged: Logged) -> None:
        if not self._is_enabled:
            return
        outbox, options = self._outbox, self._options
        if options.sample_rate < 1.0 and not is_in_sample(logged.id, options.sample_rate):
            if logged.kind not in ABOUT_RECORDS:
                outbox.counters.add("left_out")
                outbox.losses.add(logged.hour, left_out=1)
                if not outbox.is_awake:
                    outbox.wake()
            return
        if options.sample_rate < 1.0 and logged.kind not in ABOUT_RECORDS:
            # The record represents those that were left out, too.
            logged = logged._replace(others={**(logged.others or {}), "sample_rate": options.sample_rate})
        queue = outbox.queue
        if self._is_closed or (len(queue) >= options.max_queue and not self._make_room(outbox)):
            outbox.drop(logged.hour)
            return
        queue.append(tuple(logged))
        if not outbox.is_awake:
            outbox.wake()
        elif len(queue) == options.flush_at:
            outbox.bell.set()

    def _make_room(self, outbox: Outbox) -> bool:
        if self._options.on_full == "spool":
            outbox.write_now()
        elif self._options.on_full == "block":
            deadline = time.monotonic() + self._options.timeout
            while len(outbox.queue) >= self._options.max_queue and time.monotonic() < deadline:
                time.sleep(0.005)
        return len(outbox.queue) < self._options.max_queue

    def _refuse(self, error: Exception, records: int = 1) -> None:
        """Counts records of a call that cannot be read; 0 for a label or a correction."""
        if self._is_enabled:
            self._outbox.refuse(time.time_ns() // HOUR_NANOSECONDS, records, f"{type(error).__name__}: {error}")

    def _make_outbox(self) -> None:
        self._outbox = Outbox(self._options, on_error=self._on_error, http=self._http)

    def _after_fork_in_child(self) -> None:
        # What waits in the queue is the parent's, and the parent sends it.
        self._outbox.forget()
        self._make_outbox()


_clients: set[Evenhand] = set()


def _copy_mapping(features: Mapping[str, Any]) -> JsonObject:
    if not hasattr(features, "keys"):  # of a list of pairs, or of texts of two letters, dict() makes one, too
        raise TypeError(f"features: expected a mapping of names to values, found {features!r:.50} of type {type(features).__name__}")
    return dict(features)


def _close_all() -> None:
    deadline = time.monotonic() + EXIT_SECONDS
    for client in list(_clients):
        client.close(max(0.0, deadline - time.monotonic()))


def _after_fork() -> None:
    for client in list(_clients):
        client._after_fork_in_child()  # noqa: SLF001 - of this module


def _handle_sigterm() -> None:
    """Has SIGTERM flush first, where a program has nothing else to do at it."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    _close_all()
    # The process ends as it would have without us, with the status of the signal.
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
