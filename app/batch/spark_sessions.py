"""Sessions of Spark, one for each address, with this package's code on the executors."""

import threading
import zipfile
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

PACKAGE = Path(__file__).resolve().parents[1]

_LOCK = threading.Lock()
_OPEN: dict[str, SparkSession] = {}


def open_session(url: str) -> SparkSession:
    """Returns this process's session at the address; a new one if it has ended."""
    with _LOCK:
        session = _OPEN.get(url)
        if session is not None and _has_ended(session, url):
            # Spark's own client may hold it still.
            _OPEN.pop(url).stop()
            session = None
        if session is None:
            builder = SparkSession.builder.appName("evenhand")
            builder = builder.remote(url) if url.startswith("sc:") else builder.master(url)
            if not url.startswith("sc:"):
                builder = builder.config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
            session = builder.getOrCreate()
            session.addArtifacts(str(_zip_package()), pyfile=True)
            _OPEN[url] = session
        return session


def leave_lost_session(url: str, session: SparkSession, error: BaseException) -> bool:
    """Returns whether the session is no more: Connect servers forget sessions when they restart, or unused ones."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    if not _has_ended(session, url) and not (condition or "").startswith("INVALID_HANDLE"):
        return False
    with _LOCK:
        # Another check may have opened the next one.
        if _OPEN.get(url) is session:
            _OPEN.pop(url).stop()
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
        # Java is gone, and Spark starts it once for each process.
        return False


@cache
def _zip_package() -> Path:
    # Once for each process: Spark refuses other content of a file of that name. An upgrade changes it.
    target = Path(mkdtemp(prefix="evenhand-spark-")) / "evenhand.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(PACKAGE.rglob("*.py")):
            archive.write(file, Path(PACKAGE.name) / file.relative_to(PACKAGE))
    return target
