"""Labels and the model's answers to copies: files give the figures of logged records, however they are divided and whenever they come."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.sources.tables import table_files
from app.sources.tables.table_files import LocalEngine
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.divided import FEW, DividedRecords, assert_same_everywhere, records_with_nulls
from tests.builders.lakes import lake_of
from tests.examples import many
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, scene


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """The endpoint of a model."""
    with serve(RuleScorer()) as server:
        yield Endpoint(url=server.url)


@pytest.mark.nightly
@settings(max_examples=many(2), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=FEW, cuts=st.lists(st.integers(1, 39), max_size=4), late=st.integers(0, 11), batch=st.integers(1, 9), order=st.integers(0, 99))
def test_labels_and_copies_of_any_partition_give_the_figures_of_logged_records(
    database: Database, endpoint: Endpoint, rows: list[dict[str, Any]], cuts: list[int], late: int, batch: int, order: int
) -> None:
    divided = DividedRecords(database, endpoint, rows, Random(order))
    with TemporaryDirectory() as folder, patch.object(table_files, "BATCH_ROWS", batch):
        assert_same_everywhere(divided, LocalEngine(2), Path(folder), cuts, late)


@pytest.mark.thorough
def test_records_with_labels_of_one_decision_give_no_accuracy_in_files_either(
    database: Database, endpoint: Endpoint, tmp_path: Path
) -> None:
    divided = DividedRecords(database, endpoint, records_with_nulls(60), Random(1))
    assert_same_everywhere(divided, LocalEngine(2), tmp_path, [20, 40], late=1)


def test_of_several_labels_of_one_record_the_first_counts(database: Database, tmp_path: Path) -> None:
    stage = scene(database, APPLICANT, monitor_of(SEX), endpoint=None)
    lake = lake_of(stage, tmp_path)
    rows = [row | {"id": f"r{no}"} for no, row in enumerate(applicants(20, 20, 5))]
    lake.write(rows, NOON)
    # The later label is in a file that is read first.
    lake.label([(row["id"], 1 - row["prediction"]) for row in rows[:10]], NOON + HOUR / 2)
    lake.label([(row["id"], row["prediction"]) for row in rows], NOON + HOUR / 4)

    accuracy = lake.check(NOON).get("accuracy", "labelled", scope="overall")

    assert (accuracy.n, accuracy.value) == (40, 1.0)
