"""The engine `spark` for tests, where pyspark and Java are there: `scripts/trial spark test` sets them up with two workers."""

import os
import shutil

import pytest

from app.sources.tables.table_files import Engine, open_engine

SPARK_URL = os.environ.get("EVENHAND_TEST_SPARK_URL", "local[2]")
"""The cluster that scripts/trial spark started, or a session in this process."""

SPARK_WARNINGS = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""Marks of tests that use Spark: its own code warns."""


def require_spark() -> None:
    """Skips the calling module or test where there is no Spark."""
    pytest.importorskip("pyspark", reason="pyspark is not installed; scripts/trial spark test runs this")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed; scripts/trial spark test runs this", allow_module_level=True)


def spark_engine() -> Engine:
    """The engine; the calling test is skipped where there is no Spark."""
    require_spark()
    return open_engine("spark", SPARK_URL)
