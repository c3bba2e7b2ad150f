"""Sessions of Spark: opened again in one process, lost and replaced, and errors of the process that collects their answers."""

from importlib import import_module
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
from structlog.testing import capture_logs

from app.base.errors import SetupError
from app.sources.tables.table_files import Engine
from tests.builders.spark_engines import SPARK_URL, SPARK_WARNINGS, require_spark, spark_engine

require_spark()
pytestmark = SPARK_WARNINGS
# They import pyspark, which few installations have.
spark_engines = sessions = import_module("app.sources.tables.spark_engine")
errors = import_module("pyspark.errors")


@pytest.fixture(scope="module")
def engine() -> Engine:
    return spark_engine()


def ask_executors(engine: Engine) -> list[bytes]:
    return sorted(engine.run(bytes.upper, [b"a", b"b"], lambda _: None))


def test_the_engine_is_opened_again_in_a_process_whatever_became_of_its_session_and_files(engine: Engine, tmp_path: Path) -> None:
    changed = tmp_path / "app"
    changed.mkdir()
    (changed / "__init__.py").write_text("# another release, installed meanwhile")

    with patch.object(sessions, "PACKAGE", changed):
        found = [ask_executors(spark_engine()), ask_executors(engine)]
        sessions.open_session(SPARK_URL).stop()
        # First the one that was open when its session ended.
        found += [ask_executors(engine), ask_executors(spark_engine())]

    assert found == [[b"A", b"B"]] * 4


def test_a_session_that_a_connect_server_forgot_is_left_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Mock(is_stopped=False), Mock(is_stopped=False)
    monkeypatch.setattr(sessions, "_OPEN_SESSIONS", {"sc://here": first})
    builder = Mock(**{"appName.return_value.remote.return_value.getOrCreate.return_value": second})
    monkeypatch.setattr(sessions.SparkSession, "builder", builder)
    forgotten, broken = Mock(spec=errors.PySparkException), Mock(spec=errors.PySparkException)
    forgotten.getCondition.return_value, broken.getCondition.return_value = "INVALID_HANDLE.SESSION_CLOSED", "DIVIDE_BY_ZERO"

    assert not sessions.leave_lost_session("sc://here", first, broken)
    assert sessions.open_session("sc://here") is first
    assert sessions.leave_lost_session("sc://here", first, forgotten)
    assert sessions.open_session("sc://here") is second
    # A check that was under way on the first learns of it later.
    assert sessions.leave_lost_session("sc://here", first, forgotten)
    assert sessions.open_session("sc://here") is second


@pytest.mark.parametrize("error", [ValueError("Schema at index 1 was different"), SystemExit(3)])
def test_an_error_in_the_thread_that_collects_answers_is_named(engine: Engine, error: BaseException) -> None:
    with patch.object(spark_engines, "distribute_pieces", side_effect=error), capture_logs() as logged, pytest.raises(SetupError) as raised:
        ask_executors(engine)

    said = f"The answers of Spark about the records in files could not be collected ({type(error).__name__}): {error}. "
    assert str(raised.value).startswith(said)
    assert raised.value.__cause__ is error
    assert [one["exc_info"] for one in logged if one["event"] == "spark_answers_lost"] == [error]


def test_an_error_of_spark_is_said_to_be_one(engine: Engine) -> None:
    error = errors.PySparkException("no executor")
    with (
        patch.object(spark_engines, "distribute_pieces", side_effect=error),
        pytest.raises(SetupError, match=r"^Spark gave up .*no executor"),
    ):
        ask_executors(engine)
