"""Prometheus metrics of one machine's processes."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
    mmap_dict,
    multiprocess,
    start_http_server,
    values,
)
from prometheus_client.multiprocess import MultiProcessCollector

from ..durable_files import allocate
from ..errors import SetupError

INITIAL_BYTES = 1 << 16

_HEAD_BYTES = 4

_NO_SPACE_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})

log = structlog.get_logger("evenhand.telemetry")


class AllocatedDict(mmap_dict.MmapedDict):
    """Counters in a file that processes share; those without space there stay in this process's memory."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:  # noqa: FBT001, FBT002 - the library's signature
        self._unshared: dict[str, tuple[float, float]] = {}
        self._is_mapped = True
        if not read_mode:
            try:
                with open(filename, "a+b") as file:  # noqa: PTH123 - the library names files by text
                    allocate(file.fileno(), max(INITIAL_BYTES, os.fstat(file.fileno()).st_size))
            except OSError as error:
                self._give_up(error)
                self._used, self._positions = 0, {}
                setattr(self, "_f", None)  # noqa: B010 - the library's own sign of a closed file, which its types do not allow
                return
        super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

    @staticmethod
    def read_all_values_from_file(filename: str) -> Iterator[tuple[str, float, float, int]]:
        """Yields nothing of a file without space or just created."""
        if os.stat(filename).st_size < _HEAD_BYTES:  # noqa: PTH116 - as above
            return iter(())
        values: Iterator[tuple[str, float, float, int]] = mmap_dict.MmapedDict.read_all_values_from_file(
            filename
        )  # type: ignore[no-untyped-call]
        return values

    def read_value(self, key: str) -> tuple[float, float]:
        if not self._has_space(key):
            return self._unshared.setdefault(key, (0.0, 0.0))
        value: tuple[float, float] = super().read_value(key)  # type: ignore[no-untyped-call]
        return value

    def write_value(self, key: str, value: float, timestamp: float) -> None:
        if self._has_space(key):
            super().write_value(key, value, timestamp)  # type: ignore[no-untyped-call]
        else:
            self._unshared[key] = value, timestamp

    def read_all_values(self) -> Iterator[tuple[str, float, float]]:
        if self._is_mapped:
            yield from super().read_all_values()  # type: ignore[no-untyped-call]
        yield from ((key, *pair) for key, pair in self._unshared.items())

    def _has_space(self, key: str) -> bool:
        if key in self._unshared or not self._is_mapped:
            return False
        if key in self._positions:
            return True
        # Longer than the entry by its head, its padding and its two numbers.
        needed = self._used + len(key.encode()) + 64
        capacity = self._capacity
        while needed > capacity:
            capacity *= 2
        if capacity > self._capacity:
            try:
                allocate(self._f.fileno(), capacity)
            except OSError as error:
                self._give_up(error)
                return False
        return True

    def _give_up(self, error: OSError) -> None:
        if error.errno not in _NO_SPACE_ERRORS:
            raise error
        self._is_mapped = self._is_mapped and hasattr(self, "_m")
        log.warning(
            "counters_not_shared",
            reason=f"{error.strerror}. New counters of this process are missing in /metrics until it is "
            "restarted.",
        )


def allocate_before_writing() -> None:
    values.MmapedDict = AllocatedDict  # type: ignore[attr-defined]
    multiprocess.MmapedDict = AllocatedDict  # type: ignore[attr-defined]


SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

allocate_before_writing()

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

http_requests = Counter(
    "evenhand_http_requests", "Answers sent, by route template and status.", ["method", "route", "status"]
)
http_seconds = Histogram("evenhand_http_seconds", "Time from request to answer.", ["route"], buckets=_SECONDS)

ingest_records = Counter(
    "evenhand_ingest_records", "Records sent to us: accepted, duplicate or rejected.", ["kind", "outcome"]
)
flush_records = Histogram(
    "evenhand_flush_records",
    "Records that shared one commit.",
    buckets=(1, 2, 5, 10, 25, 50, 100, 250, 1000, 10000),
)
flush_seconds = Histogram(
    "evenhand_flush_seconds", "Time of one durable write, commit included.", buckets=_SECONDS
)

checks = Counter("evenhand_checks", "Checks that ended, by their final state.", ["state"])
check_seconds = Histogram(
    "evenhand_check_seconds", "Time of one check.", buckets=(0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600)
)

model_calls = Counter(
    "evenhand_model_calls", "Requests to model endpoints: answered, retried or failed.", ["outcome"]
)
model_seconds = Histogram(
    "evenhand_model_seconds",
    "Time of one attempt to get an answer of a model's endpoint, by caller and outcome.",
    ["caller", "outcome"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
model_rows = Counter("evenhand_model_rows", "Rows that models were asked to score.")

mitigated_records = Counter(
    "evenhand_mitigated_records",
    "Records answered with a mitigated prediction, by what became of them.",
    ["mitigation"],
)

refused_requests = Counter(
    "evenhand_refused_requests",
    "Requests that were refused because a limit of their key was reached.",
    ["limit"],
)

erased_rows = Counter(
    "evenhand_erased_rows", "Rows that were erased, by cause: age, or a request about a person.", ["cause"]
)

spool_entries = Counter(
    "evenhand_spool_entries",
    "Calls and events that were kept in the spool, or dropped because it is full.",
    ["outcome"],
)

notifications = Counter(
    "evenhand_notifications",
    "Attempts to deliver notifications: sent, retried or given up.",
    ["kind", "outcome"],
)


def write_exposition() -> tuple[bytes, str]:
    return generate_latest(_collect()), CONTENT_TYPE_LATEST


@contextmanager
def serve_counters(host: str, port: int) -> Iterator[int]:
    """Yields the port of a process without an API that answers with its counters; with 0 it does not listen.

    Raises SetupError.
    """
    if not port:
        yield 0
        return
    try:
        server, thread = start_http_server(port, host, _collect())
    except (OSError, OverflowError) as error:
        raise SetupError(
            f"The worker cannot listen on {host}:{port} for its counters: {error}. Set "
            "EVENHAND_METRICS_HOST or EVENHAND_METRICS_PORT."
        ) from error
    log.info("counters_served", host=host, port=server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _collect() -> CollectorRegistry:
    if SHARED_FOLDER not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry
