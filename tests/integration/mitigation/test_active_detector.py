"""The mitigated endpoint where a bias detector chooses: the answer says which training it was, for the next one may choose otherwise."""

import time
from typing import Any

import pytest
from sqlalchemy import select

from app.base.clock import utc_now
from app.database.engine import Database
from app.database.tables import DeploymentRow
from app.deployments.mitigation_queries import find_newest_profile, store_detectors
from app.domain.deployment import Column, FieldKind, FieldType
from app.mitigation.detector.detector_versions import DetectorEvidence, train_detectors
from tests.builders.extras import NEEDS_DETECTOR
from tests.builders.queries import rows
from tests.builders.queued_checks import ask as ask_for_check
from tests.builders.row_server import points, row_server
from tests.integration.mitigation.live import ADDRESS, FEATURES, SEX, applicant, ask, register, words
from tests.service import RunningService

pytestmark = NEEDS_DETECTOR

COLUMNS = [
    Column(
        name=feature["name"],
        type=FieldType(feature["type"]),
        kind=FieldKind.CATEGORICAL if feature["type"] == "string" else FieldKind.NUMERIC,
    )
    for feature in FEATURES
]
POOR, ALMOST = applicant(income=-50_000), applicant(income=10_000)


def detect(database: Database) -> None:
    """A training on refused women; the model treats those with bias who lack less than what being a man is worth."""
    women = [applicant(income=-60_000 + 400 * place) for place in range(200)]
    evidence = DetectorEvidence(
        "sex",
        [f"woman-{place}" for place in range(len(women))],
        [tuple(woman.values()) for woman in women],
        [points(woman) / 1.5 for woman in women],
        [points(woman) + 0.3 > 0.75 for woman in women],
    )
    with database.transaction() as session:
        no = session.scalars(select(DeploymentRow.no)).one()
        profile = find_newest_profile(session, no)
        assert profile is not None
        trained = train_detectors(COLUMNS, [evidence], {}, now=utc_now())
        check = ask_for_check(session, no)
        store_detectors(session, no, trained, check_no=check.no, basis=profile.basis, trained_at=utc_now())


def answer_where(service: RunningService, use: str, *applicants: dict[str, Any]) -> dict[str, Any]:
    """The answer once the detector is used like that: a change of settings holds within a second."""
    version = service.client.put(f"{ADDRESS}/mitigation", json={"bias_detector": use}).raise_for_status().json()["version"]
    while (answer := ask(service, *applicants))["settings_version"] != version:
        time.sleep(0.05)
    return answer


@pytest.mark.nightly
def test_the_answer_and_the_record_name_the_training_that_chose(service: RunningService, database: Database) -> None:
    with row_server() as server:
        register(service, server, SEX)
        nobody_chose = answer_where(service, "choose", POOR, ALMOST)
        detect(database)
        marked = answer_where(service, "mark", POOR, ALMOST)
        chosen = answer_where(service, "choose", POOR, ALMOST)
        service.client.post(f"{ADDRESS}/mitigated-predictions", json={"records": [{"id": "b-0", "features": POOR}]}).raise_for_status()

    assert [answer["bias_detector_version"] for answer in (nobody_chose, marked, chosen)] == [None, None, 1]
    assert words(nobody_chose) == words(marked) == ["unchanged", "changed"]
    assert words(chosen) == ["not_chosen", "changed"]
    stored = rows(database, "SELECT mitigated -> 'bias_detector_version' FROM payload_records ORDER BY record_id")
    assert stored == [(None,), (None,), (1,)]
