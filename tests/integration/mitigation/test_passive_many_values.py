import pytest

from app.database.engine import Database
from app.deployments.mitigation_queries import find_newest_profile
from app.domain.deployment import Endpoint
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from tests.builders.lender import BLIND, COLUMNS
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, scene


@pytest.mark.nightly
def test_a_window_with_few_reference_values_is_checked_though_payload_holds_a_great_many(database: Database) -> None:
    attribute = MonitoredAttribute(feature="housing", monitored=("rent",))
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(attribute,), min_records=20)
    with serve(BLIND) as server:
        stage = scene(database, COLUMNS, monitor, endpoint=Endpoint(url=server.url))
        for hour in range(3):
            towns = [row for town in range(60) for row in BLIND.applicants(f"town {hour}-{town}", [40.0] * (2 if town < 5 else 1))]
            stage.log([*towns, *BLIND.applicants("rent", [30.0, 60.0])], NOON + hour * HOUR)
        result = stage.check(NOON)

    assert result.run.state == "succeeded"
    with database.transaction() as session:
        profile = find_newest_profile(session, stage.deployment.no)
    assert profile is not None
    (housing,) = profile.attributes
    # Fifteen of the 180 towns have two records of 195; ten of these get a copy.
    assert [stand_in.share for stand_in in housing.stand_ins] == pytest.approx([0.1] * 10)
    assert housing.covered == pytest.approx(20 / 195)
