"""Which records are flagged where checks overlap: all that the window shows, also those whose copies were scored before."""

from dataclasses import replace

import pytest

from app.database.engine import Database
from app.domain.check import Trigger
from app.domain.deployment import Endpoint
from app.domain.mitigation import MitigationSettings
from app.domain.monitor import Monitor, OutcomeRule
from tests.builders.lender import COLUMNS, HOUSING, UNFAIR, counts, everybody, use
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Scene, scene


def staged(database: Database, url: str) -> Scene:
    outcomes = OutcomeRule(favourable=(1,), unfavourable=(0,))
    return scene(database, COLUMNS, Monitor(outcomes=outcomes, attributes=(HOUSING,), min_records=20), endpoint=Endpoint(url=url))


@pytest.mark.parametrize("is_asked_for", [True, False])
@pytest.mark.thorough
def test_records_that_were_copied_before_mitigation_was_switched_on_are_flagged_too(database: Database, is_asked_for: bool) -> None:  # noqa: FBT001 - a parameter of the test
    with serve(UNFAIR) as server:
        stage = staged(database, server.url)
        use(stage, MitigationSettings(attributes=()))
        stage.log(everybody(), NOON)
        stage.check(NOON, trigger=Trigger.SCHEDULE)
        use(stage, MitigationSettings())
        stage.log(UNFAIR.applicants("own", [60.5] * 60) + UNFAIR.applicants("family", [60.5] * 20), NOON + HOUR)
        stage.check(NOON + HOUR, trigger=Trigger.SCHEDULE)
        before = stage.count("flagged_records")
        if is_asked_for:
            result = stage.check(NOON, NOON + 2 * HOUR)
        else:
            stage.watch(replace(stage.monitor(), min_records=350))
            stage.log(UNFAIR.applicants("own", [60.5]), NOON + 2 * HOUR)
            result = stage.check(NOON + 2 * HOUR, trigger=Trigger.SCHEDULE)

    assert before == 0
    assert stage.count("flagged_records") == counts(result)["changed"] > 0


@pytest.mark.thorough
def test_flags_of_groups_that_are_watched_no_more_are_taken(database: Database) -> None:
    with serve(UNFAIR) as server:
        stage = staged(database, server.url)
        stage.log(everybody(), NOON)
        stage.check(NOON)
        before = stage.count("flagged_records")
        stage.watch(replace(stage.monitor(), attributes=(replace(HOUSING, monitored=("rent",), reference=("own", "family", "free")),)))
        stage.log(everybody(), NOON + HOUR)
        stage.check(NOON + HOUR)

    with stage.database.engine.connect() as connection:
        groups = connection.exec_driver_sql('SELECT DISTINCT "group" FROM flagged_records').scalars().all()
    assert before == 28
    assert groups == ["rent"]
