"""Hours whose records were sampled at different rates are no evidence."""

from datetime import datetime

from sqlalchemy import text

from app.database.engine import Database
from app.domain.check import DataSet, Span
from app.evidence.queries.eras import find_era
from app.evidence.queries.hour_counts import CountedPlace, read_hours_between
from tests.builders.evidence_worlds import START, Logged, log, update, watched
from tests.scenes import HOUR


def test_an_hour_of_one_rate_counts_and_an_hour_of_several_rates_does_not(database: Database) -> None:
    stage = watched(database)
    log(stage, [Logged(START + hour * HOUR, sex, 1) for hour in range(3) for sex in ("male", "female")], first_no=1)
    with database.transaction() as session:
        rate = "UPDATE payload_records SET sample_rate = 0.1 WHERE logged_at < :until AND (logged_at < :later OR features->>0 = 'male')"
        session.execute(text(rate), {"later": START + HOUR, "until": START + 2 * HOUR})
        changed = session.execute(text("SELECT count(*) FROM payload_records WHERE sample_rate = 0.1")).scalar_one()

    update(stage, START + 4 * HOUR)

    with database.transaction() as session:
        era = find_era(session, stage.deployment.no, stage.deployment.model_revision)
        assert era is not None
        beginning = datetime.min.replace(tzinfo=START.tzinfo)
        found = read_hours_between(session, era.no, CountedPlace(DataSet.AS_LOGGED, "sex"), Span(start=beginning, end=START + 9 * HOUR))
    assert changed == 3
    roles = {(hour - START) // HOUR: [role for _, role, *_ in cells] for hour, cells in found.items()}
    counts = ["monitored", "reference"]
    assert roles == {0: counts, 1: ["monitored mixed_hour", "reference mixed_hour"], 2: counts}
