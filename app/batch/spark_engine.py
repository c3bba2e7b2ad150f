"""Works on pieces with the executors of a Spark cluster: Spark hands out the pieces, and each executor calls the same task as `local`.

Spark reads no record itself: the executors read the files with the code of this package, which is sent to them. They need Python with
this package's dependencies, and the files at the same path.
"""

import secrets
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import spark_partition_id

from ..errors import EndpointDown, EndpointRefused, EvenhandError, FieldProblem, InvalidInput, ScoringFailed, SetupError
from ..telemetry.secrets import without_secrets
from .engines import POLL_SECONDS, Done, Task

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of this package, which is sent to the executors."""

PARTS_A_SLOT = 4
"""Max parts of the pieces that a slot works on one after the other."""

MOST_WAVES = 10
"""Max jobs that the pieces of a run are divided into: after each, the progress is known."""

_LOCK = threading.Lock()


class SparkEngine:
    """The executors at `url`: a Spark Connect server (`sc://…`), or a master (`spark://…`, `local[2]`), which needs Java here.

    Raises:
        SetupError: there is no address, or nothing answers there.
    """

    is_apart = True

    def __init__(self, url: str) -> None:
        if not url:
            raise SetupError("The engine spark needs EVENHAND_SPARK_URL, such as sc://spark:15002 or local[2].")
        try:
            self._session = _open_session(url)
            self.slots = _count_slots(self._session)
        except (PySparkException, OSError, RuntimeError) as error:
            raise SetupError(without_secrets(f"No Spark can be used at EVENHAND_SPARK_URL ({url}): {error}")) from error

    def run(self, task: Task, pieces: Sequence[bytes], done: Done) -> Iterator[bytes]:
        """Yields the answers of one wave of pieces after the other. Spark repeats the pieces of an executor that dies.

        Raises:
            EvenhandError: the error that the task raised.
            SetupError: Spark gave up.
        """
        # Waves, because Spark says nothing of a job's pieces that every kind of its sessions would pass on.
        size = max(self.slots * PARTS_A_SLOT, -(-len(pieces) // MOST_WAVES))
        for start in range(0, len(pieces), size):
            wave = pieces[start : start + size]

            def report_all(pieces: int, before: int = start) -> None:
                done(before + pieces)

            answers = self._collect(_as_rows(self._session, wave, self.slots), task, report_all, len(wave))
            for answer, failure in zip(answers["answer"].to_pylist(), answers["failure"].to_pylist(), strict=True):
                if failure is not None:
                    raise _read_error(failure)
                yield answer

    def count_rows(self, folder: Path, columns: Sequence[str]) -> int:
        """Returns the number of rows in Parquet files, by Spark's own count of each combination: what this engine is compared with."""
        counted = self._session.read.parquet(str(folder)).groupBy(*columns).count().toArrow()
        return int(sum(counted["count"].to_pylist()))

    def _collect(self, rows: DataFrame, task: Task, done: Done, pieces: int) -> pa.Table:
        tag, found = f"evenhand-{secrets.token_hex(8)}", dict[str, Any]()
        sent = cloudpickle.dumps(task)

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            loaded = _load(sent)
            for batch in batches:
                for piece in batch.column(0).to_pylist():
                    yield _answer(loaded, piece)

        def collect() -> None:
            self._session.addTag(tag)
            try:
                found["table"] = rows.mapInArrow(work, "answer binary, failure string").toArrow()
            except (PySparkException, OSError, RuntimeError) as error:
                found["error"] = error
            finally:
                self._session.removeTag(tag)

        # In a thread of its own, so that a check that is cancelled or loses its lease ends the work on the executors.
        thread = threading.Thread(target=collect, name=tag, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(POLL_SECONDS)
                done(0 if thread.is_alive() else pieces)
        except BaseException:
            self._session.interruptTag(tag)
            raise
        if "error" in found:
            text = without_secrets(str(found["error"]))[:1000]
            raise SetupError(f"Spark gave up the work on the records in files: {text}") from found["error"]
        table: pa.Table = found["table"]
        return table


def _load(sent: bytes) -> Task:
    # Not left to Spark: a type of a database's dialect needs its package here, and Spark's text of that is a trace of Java.
    try:
        task: Task = cloudpickle.loads(sent)
    except ImportError as error:
        lacking = f"a Python package of the worker is not installed here ({error}). Install the worker's packages there, too."

        def refuse(_piece: bytes) -> bytes:
            raise SetupError(lacking)

        return refuse
    return task


def _answer(task: Task, piece: bytes) -> pa.RecordBatch:
    # A failure of ours is an answer, because Spark would repeat the piece and give up with a text that nobody can read.
    try:
        answer, failure = task(piece), None
    except EvenhandError as error:
        answer, failure = b"", _write_error(error)
    return pa.record_batch({"answer": pa.array([answer], pa.binary()), "failure": pa.array([failure], pa.string())})


def _write_error(error: EvenhandError) -> str:
    problems = [[one.field, one.message] for one in error.problems] if isinstance(error, InvalidInput) else None
    kind = next((kind for kind, found in _KINDS.items() if isinstance(error, found)), "setup")
    # What is missing or out of reach here is often there for the worker.
    text = f"On an executor of Spark: {error}" if kind == "setup" else str(error)
    return msgspec.json.encode({"kind": kind, "text": text, "problems": problems}).decode()


def _read_error(stored: str) -> EvenhandError:
    read = msgspec.json.decode(stored)
    if read["problems"] is not None:
        return InvalidInput([FieldProblem(*one) for one in read["problems"]])
    return _KINDS.get(read["kind"], SetupError)(read["text"])


_KINDS: Mapping[str, type[EvenhandError]] = {"down": EndpointDown, "refused": EndpointRefused, "scoring": ScoringFailed}
"""Failures of a model by the names under which executors send them, the special ones first."""


def _open_session(url: str) -> SparkSession:
    # One session for each process: a second one in the same process is the first, with its settings.
    with _LOCK:
        builder = SparkSession.builder.appName("evenhand")
        builder = builder.remote(url) if url.startswith("sc:") else builder.master(url)
        if not url.startswith("sc:"):
            builder = builder.config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
        session = builder.getOrCreate()
        session.addArtifacts(str(_zip_package()), pyfile=True)
        return session


def _count_slots(session: SparkSession) -> int:
    # A range has as many partitions as Spark works on at the same time; a Connect server says it in no other way.
    return max(1, int(session.range(0, 1000).select(spark_partition_id().alias("no")).distinct().count()))


def _zip_package() -> Path:
    """Returns a new zip file of this package's code."""
    target = Path(mkdtemp(prefix="evenhand-spark-")) / "evenhand.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(PACKAGE.rglob("*.py")):
            archive.write(file, Path(PACKAGE.name) / file.relative_to(PACKAGE))
    return target


def _as_rows(session: SparkSession, pieces: Sequence[bytes], slots: int) -> DataFrame:
    """Returns the pieces as rows, divided among the executors several times, so that one that is slow or dies holds up little."""
    table = pa.table({"piece": pa.array(pieces, pa.binary())})
    return session.createDataFrame(table).repartition(min(len(pieces), slots * PARTS_A_SLOT))
