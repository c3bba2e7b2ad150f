"""Works on pieces with the executors of a Spark cluster.

They get this package, and need its dependencies, and the files at the same path.
"""

import secrets
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeVar

import msgspec
import pyarrow as pa
import structlog
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import spark_partition_id

from ...base.errors import (
    EndpointDown,
    EndpointRefused,
    EvenhandError,
    FieldProblem,
    InvalidInput,
    ScoringFailed,
    SetupError,
)
from ...base.telemetry.mask_secrets import remove_secrets
from .table_files import POLL_SECONDS, Done, Task

PACKAGE = Path(__file__).resolve().parents[2]

_LOCK = threading.Lock()
_OPEN_SESSIONS: dict[str, SparkSession] = {}


def open_session(url: str) -> SparkSession:
    with _LOCK:
        session = _OPEN_SESSIONS.get(url)
        if session is not None and _has_ended(session, url):
            # Spark's own client may hold it still.
            _OPEN_SESSIONS.pop(url).stop()
            session = None
        if session is None:
            builder = SparkSession.builder.appName("evenhand")
            if url.startswith("sc:"):
                builder = builder.remote(url)
            else:
                builder = (
                    builder.master(url)
                    .config("spark.ui.enabled", "false")
                    .config("spark.driver.bindAddress", "127.0.0.1")
                )
            session = builder.getOrCreate()
            session.addArtifacts(str(_zip_package()), pyfile=True)
            _OPEN_SESSIONS[url] = session
        return session


def leave_lost_session(url: str, session: SparkSession, error: BaseException) -> bool:
    """True if the session is no more: Connect servers forget them when they restart, or unused ones."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    if not _has_ended(session, url) and not (condition or "").startswith("INVALID_HANDLE"):
        return False
    with _LOCK:
        # Another check may have opened the next one.
        if _OPEN_SESSIONS.get(url) is session:
            _OPEN_SESSIONS.pop(url).stop()
    return True


def _has_ended(session: SparkSession, url: str) -> bool:
    if url.startswith("sc:"):
        return bool(session.is_stopped)
    context = session.sparkContext._jsc  # noqa: SLF001 - None after `stop`; nothing public says that a context has ended
    if context is None:
        return True
    from py4j.protocol import Py4JError  # noqa: PLC0415 - a client of Connect servers alone comes without it

    try:
        return bool(context.sc().isStopped())
    except (Py4JError, OSError):
        return False


@cache
def _zip_package() -> Path:
    # Once for each process: Spark refuses other content of a file of that name. An upgrade changes it.
    target = Path(mkdtemp(prefix="evenhand-spark-")) / "evenhand.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(PACKAGE.rglob("*.py")):
            archive.write(file, Path(PACKAGE.name) / file.relative_to(PACKAGE))
    return target


MAX_PARTS_PER_SLOT = 4

MAX_WAVES = 10

_SPARK_ERRORS = (PySparkException, OSError, RuntimeError)

log = structlog.get_logger(__name__)

T = TypeVar("T")


@dataclass(slots=True)
class WaveResult:
    """Answers of a wave of pieces, or the error; `session` as soon as the work has begun."""

    session: SparkSession | None = None
    table: pa.Table | None = None
    error: BaseException | None = None


class SparkEngine:
    """At `url`: a Spark Connect server (`sc://…`), or a master (`spark://…`, `local[2]`), which needs Java
    here.
    """

    is_apart = True

    def __init__(self, url: str) -> None:
        if not url:
            raise SetupError(
                "The engine spark needs EVENHAND_SPARK_URL, such as sc://spark:15002 or local[2]."
            )
        self._url = url
        try:
            self.slots = self._use_session(count_slots)
        except _SPARK_ERRORS as error:
            raise SetupError(
                remove_secrets(f"No Spark can be used at EVENHAND_SPARK_URL ({url}): {error}")
            ) from error

    def run(self, task: Task, pieces: Sequence[bytes], done: Done) -> Iterator[bytes]:
        """Wave by wave; raises the task's error. Spark repeats the pieces of an executor that dies."""
        # Waves, because Spark does not report a job's progress in all kinds of sessions.
        size = max(self.slots * MAX_PARTS_PER_SLOT, -(-len(pieces) // MAX_WAVES))
        for start in range(0, len(pieces), size):
            wave = pieces[start : start + size]

            def report_all(pieces: int, before: int = start) -> None:
                done(before + pieces)

            answers = self._collect(wave, task, report_all)
            for answer, failure in zip(
                answers["answer"].to_pylist(), answers["failure"].to_pylist(), strict=True
            ):
                if failure is not None:
                    raise _read_error(failure)
                yield answer

    def _use_session(self, work: Callable[[SparkSession], T]) -> T:
        session = open_session(self._url)
        try:
            return work(session)
        except BaseException as error:
            if not leave_lost_session(self._url, session, error):
                raise
        return work(open_session(self._url))

    def _collect(self, pieces: Sequence[bytes], task: Task, done: Done) -> pa.Table:
        tag = f"evenhand-{secrets.token_hex(8)}"
        result = WaveResult()
        pickled_task = cloudpickle.dumps(task)

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            loaded = _load_task(pickled_task)
            for batch in batches:
                for piece in batch.column(0).to_pylist():
                    yield _answer_piece(loaded, piece)

        def collect(session: SparkSession) -> pa.Table:
            result.session = session
            session.addTag(tag)
            rows = distribute_pieces(session, pieces, self.slots)
            table = rows.mapInArrow(work, "answer binary, failure string").toArrow()
            session.removeTag(tag)
            return table

        def collect_apart() -> None:
            try:
                result.table = self._use_session(collect)
            except BaseException as error:  # noqa: BLE001 - a thread has no caller: it is raised below
                result.error = error

        # A check that is cancelled ends the work on the executors.
        thread = threading.Thread(target=collect_apart, name=tag, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(POLL_SECONDS)
                done(0)
        except BaseException:
            if result.session is not None:
                result.session.interruptTag(tag)
            raise
        if result.table is not None:
            done(len(pieces))
            return result.table
        text = remove_secrets(f"{result.error}")[:1000]
        if isinstance(result.error, _SPARK_ERRORS):
            raise SetupError(f"Spark gave up the work on the records in files: {text}") from result.error
        log.error("spark_answers_lost", exc_info=result.error)
        raise SetupError(
            "The answers of Spark about the records in files could not be collected "
            f"({type(result.error).__name__}): {text}. The worker's log has the details under "
            "spark_answers_lost."
        ) from result.error


def _load_task(pickled_task: bytes) -> Task:
    # Spark's text of a missing package is a trace of Java.
    try:
        task: Task = cloudpickle.loads(pickled_task)
    except ImportError as error:
        reason = (
            f"a Python package of the worker is not installed here ({error}). Install the worker's "
            "packages there, too."
        )

        def refuse(_piece: bytes) -> bytes:
            raise SetupError(reason)

        return refuse
    return task


def _answer_piece(task: Task, piece: bytes) -> pa.RecordBatch:
    # Spark would repeat a failed piece and give up with an unreadable text.
    try:
        answer, failure = task(piece), None
    except EvenhandError as error:
        answer, failure = b"", _write_error(error)
    return pa.record_batch({"answer": pa.array([answer], "binary"), "failure": pa.array([failure], "string")})


def _write_error(error: EvenhandError) -> str:
    problems = (
        [[problem.field, problem.message] for problem in error.problems]
        if isinstance(error, InvalidInput)
        else None
    )
    kind = next(
        (kind for kind, error_type in _ERRORS_BY_KIND.items() if isinstance(error, error_type)), "setup"
    )
    # The worker may have what is missing here.
    text = f"On an executor of Spark: {error}" if kind == "setup" else str(error)
    return msgspec.json.encode({"kind": kind, "text": text, "problems": problems}).decode()


def _read_error(stored: str) -> EvenhandError:
    read = msgspec.json.decode(stored)
    if read["problems"] is not None:
        return InvalidInput([FieldProblem(*problem) for problem in read["problems"]])
    return _ERRORS_BY_KIND.get(read["kind"], SetupError)(read["text"])


_ERRORS_BY_KIND: Mapping[str, type[EvenhandError]] = {
    "down": EndpointDown,
    "refused": EndpointRefused,
    "scoring": ScoringFailed,
}


def count_slots(session: SparkSession) -> int:
    # The only way that a Connect server has: a range has as many partitions.
    return max(1, int(session.range(0, 1000).select(spark_partition_id().alias("no")).distinct().count()))


def distribute_pieces(session: SparkSession, pieces: Sequence[bytes], slots: int) -> DataFrame:
    table = pa.table({"piece": pa.array(pieces, "binary")})
    return session.createDataFrame(table).repartition(min(len(pieces), slots * MAX_PARTS_PER_SLOT))
