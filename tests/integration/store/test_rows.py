"""Parameters of statements that rows are read by."""

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.store.database.engine import Database
from app.store.database.rows import array_text, read_rows

BIG = 2**63

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20) | st.sampled_from(["NULL", "", "{a,b}"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    numbers=st.lists(st.none() | st.integers(-BIG, BIG - 1)),
    texts=st.lists(TEXTS),
    times=st.lists(st.datetimes(min_value=datetime(1900, 1, 1), timezones=st.just(UTC))),  # noqa: DTZ001 - the time zone is added
)
@pytest.mark.thorough
def test_arrays_arrive_as_they_were_written(database: Database, numbers: list[int | None], texts: list[str], times: list[datetime]) -> None:
    statement = "SELECT %(numbers)s::bigint[], %(texts)s::text[], %(times)s::timestamptz[]"
    values = {"numbers": array_text(numbers), "texts": array_text(texts), "times": array_text(times)}
    with database.transaction() as session:
        assert read_rows(session, statement, values) == [(numbers, texts, times)]
