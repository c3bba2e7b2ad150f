"""The harness of chaos computes evidence again in one go, and sees a record that the evidence lacks."""

from dataclasses import replace

import psycopg
import pytest

from app.database.engine import Database
from tests.builders.evidence_worlds import START, log, update, watched, world
from tests.crashes.history import follow_again
from tests.scenes import HOUR
from tests.service import RunningService


@pytest.mark.thorough
def test_evidence_is_as_one_computation_says_and_a_record_it_lacks_is_seen(service: RunningService, database: Database) -> None:
    stage = watched(database, metrics=("disparate_impact", "statistical_parity_difference"))
    records = world([1.0] * 20 + [0.3] * 20, seed=1, records=120)
    log(stage, records, first_no=1)
    update(stage, START + 40 * HOUR)

    with psycopg.connect(database.url) as connection:
        found = follow_again(connection, service.client, [stage.deployment.id], divisor=1)
        assert (found.wrong, found.hours) == ((), found.comparisons * 40)
        assert found.comparisons >= 2
        assert found.alarms >= 1

        unnoted = [replace(record, sex="male", approved=0) for record in records if record.hour == START + 5 * HOUR]
        log(stage, unnoted, first_no=100_000)
        assert follow_again(connection, service.client, [stage.deployment.id], divisor=1).wrong
