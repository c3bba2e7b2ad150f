"""The filter of records says in SQL what a check's window says in arrays: 11,000 pairs of a monitor and a record."""

from dataclasses import asdict, replace

import msgspec
import pytest
from sqlalchemy import Connection, text

from app.database.engine import Database
from app.domain.monitor import Monitor, Outcome
from app.records.record_list import Lens, RecordListQuery, build_record_filter
from app.sources.stored.record_conditions import Statement, add_filters
from tests.builders.drawn_records import SCHEMA, Drawn, draw, stored_record

MONITORS, RECORDS = 110, 100

OLDER = replace(SCHEMA, version=2, features=SCHEMA.features[::-1], meta=SCHEMA.meta[1:])
"""An earlier version of the schema, whose columns stand elsewhere."""

LOGGED = """
    CREATE TEMPORARY TABLE logged ON COMMIT DROP AS
    SELECT (one ->> 0)::int AS no, 3 AS schema_version, one -> 1 AS features, one -> 2 AS meta,
           one -> 3 AS prediction, CAST(NULL AS jsonb) AS label
    FROM jsonb_array_elements(CAST(:records AS jsonb)) AS given(one)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2])
def test_the_filter_finds_the_records_that_are_in_the_outcome_and_in_the_group(database: Database, seed: int) -> None:
    pairs = 0
    for world in draw(MONITORS // 2, RECORDS, seed):
        with database.engine.begin() as connection:
            _log(connection, world)
            for outcome in Outcome:
                wanted = RecordListQuery(outcome=outcome.name.lower())  # type: ignore[arg-type]
                assert _found(connection, world.monitor, wanted) == _where([found is outcome for found in map(Outcome, world.outcomes)])
            for features in [*((attribute.feature,) for attribute in world.monitor.attributes), *world.monitor.intersections]:
                groups = world.of(features)
                for group in sorted({found[0] for found in groups if found is not None}):
                    wanted = RecordListQuery(attribute=" × ".join(features), group=group)
                    expected = _where([found is not None and found[0] == group for found in groups])
                    assert _found(connection, world.monitor, wanted) == expected, (world.monitor, wanted)
        pairs += len(world.records)

    assert pairs == MONITORS * RECORDS // 2


def _log(connection: Connection, world: Drawn) -> None:
    stored = [stored_record(no, row, answer) for no, (row, answer) in enumerate(zip(world.records, world.answers, strict=True))]  # type: ignore[arg-type]
    rows = [[record.record_no, record.features, record.meta, record.prediction] for record in stored]
    connection.execute(text(LOGGED), {"records": msgspec.json.encode(rows).decode()})


def _found(connection: Connection, monitor: Monitor, wanted: RecordListQuery) -> list[int]:
    statement = Statement()
    add_filters(statement, build_record_filter(wanted, Lens(monitor, {2: OLDER, 3: SCHEMA}, {}, {}), None))
    query = f"SELECT no FROM logged r WHERE {statement.where} ORDER BY no"  # noqa: S608 - nothing of it was sent
    return list(connection.execute(text(query), asdict(statement)["values"]).scalars())


def _where(is_wanted: list[bool]) -> list[int]:
    return [no for no, is_one in enumerate(is_wanted) if is_one]
