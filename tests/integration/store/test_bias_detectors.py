from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import delete, select, update
from structlog.testing import capture_logs

from app.database.engine import Database
from app.database.tables import BiasDetectorRow, CheckRow, DeploymentRow
from app.deployments.mitigation_queries import (
    ALL_TOGETHER,
    DetectorCounts,
    DetectorVersion,
    NewDetector,
    find_newest_detectors,
    find_usable_versions,
    page_detectors,
    store_detectors,
)
from app.domain.check import CheckRun
from app.domain.paging import Paging
from app.mitigation.detector import bias_detector as loading
from app.mitigation.detector.bias_detector import BiasDetector, LoadedDetectors
from app.mitigation.detector.detector_versions import DetectorEvidence, train_detectors
from tests.builders.extras import NEEDS_DETECTOR
from tests.builders.queued_checks import add_deployments, ask
from tests.builders.refused_women import COLUMNS, Refused, refused

pytestmark = NEEDS_DETECTOR

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
COUNTS = DetectorCounts(records=9, biased=3, used=9, used_biased=3, held_out=2, held_out_biased=1)
REFUSED = NewDetector(attribute="Sex", counts=COUNTS, made_by="scikit-learn 1", reason="Too few.")


@pytest.fixture
def check(database: Database) -> CheckRun:
    """A check of the only deployment."""
    (deployment,) = add_deployments(database)
    return another_check(database, deployment)


@pytest.fixture(scope="module")
def trained() -> list[NewDetector]:
    """What a training stores: of the attribute Sex, and of all together."""
    return trained_on(refused(300))


def trained_on(women: Refused) -> list[NewDetector]:
    return train_detectors(COLUMNS, [DetectorEvidence("Sex", women.ids, women.rows, women.own_scores, women.biased)], {}, now=NOON)


def another_check(database: Database, deployment_no: int) -> CheckRun:
    with database.transaction() as session:
        return ask(session, deployment_no)


def store(database: Database, check: CheckRun, new: list[NewDetector], basis: str = "r1") -> None:
    with database.transaction() as session:
        store_detectors(session, check.deployment_no, new, check_no=check.no, basis=basis, trained_at=NOON)


def newest(database: Database, check: CheckRun, basis: str = "r1") -> dict[str, DetectorVersion]:
    with database.transaction() as session:
        return find_newest_detectors(session, check.deployment_no, basis)


def usable(database: Database, check: CheckRun, basis: str = "r1") -> dict[str, int]:
    with database.transaction() as session:
        return find_usable_versions(session, check.deployment_no, basis)


def pages(database: Database, check: CheckRun, limit: int, before: int | None = None) -> list[list[DetectorVersion]]:
    with database.transaction() as session:
        return page_detectors(session, check.deployment_no, Paging(limit, before))


def test_a_training_is_read_as_it_was_stored(database: Database, check: CheckRun, trained: list[NewDetector]) -> None:
    store(database, check, trained)

    found = newest(database, check)["Sex"]

    assert (found.version, found.check_id, found.trained_at, found.basis) == (1, check.id, NOON, "r1")
    new = trained[0]
    assert (found.counts, found.made_by, found.threshold) == (new.counts, new.made_by, new.threshold)
    assert (found.quality, found.reason) == (new.quality, None)


def test_detectors_of_one_training_have_one_version_and_the_next_training_the_next(
    database: Database, check: CheckRun, trained: list[NewDetector]
) -> None:
    store(database, check, trained)
    store(database, check, [])
    store(database, check, [replace(REFUSED, attribute="Age")])

    found = newest(database, check)

    assert {attribute: version.version for attribute, version in found.items()} == {ALL_TOGETHER: 1, "Sex": 1, "Age": 2}
    assert found["Age"].reason == "Too few."
    assert (found["Age"].quality, found["Age"].threshold) == (None, None)


def test_a_refusal_is_newest_but_the_model_before_it_stays_usable(database: Database, check: CheckRun, trained: list[NewDetector]) -> None:
    store(database, check, trained)
    store(database, check, [REFUSED])

    assert newest(database, check)["Sex"].version == 2
    assert usable(database, check) == {ALL_TOGETHER: 1, "Sex": 1}


def test_a_detector_is_of_no_use_for_another_basis_or_deployment(database: Database, check: CheckRun, trained: list[NewDetector]) -> None:
    (other,) = add_deployments(database)
    store(database, check, trained)

    assert newest(database, check, "r2") == usable(database, check, "r2") == {}
    assert newest(database, replace(check, deployment_no=other)) == {}
    assert pages(database, replace(check, deployment_no=other), 10) == []


def test_each_basis_keeps_its_own_while_versions_go_on(database: Database, check: CheckRun, trained: list[NewDetector]) -> None:
    for basis in ("r1", "r2", "r1"):
        store(database, check, trained, basis)

    assert usable(database, check, "r1")["Sex"] == 3
    assert usable(database, check, "r2")["Sex"] == 2


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_pages_hold_every_training_once_newest_first(database: Database, check: CheckRun, limit: int) -> None:
    for number in range(5):
        store(database, check, [replace(REFUSED, attribute=name) for name in ("Sex", "Age", ALL_TOGETHER)[: 1 + number % 3]])

    found: list[list[DetectorVersion]] = []
    while part := pages(database, check, limit, found[-1][0].version if found else None):
        assert len(part) <= limit
        found += part

    assert [training[0].version for training in found] == [5, 4, 3, 2, 1]
    assert [[fitted.attribute for fitted in training] for training in found[2:]] == [[ALL_TOGETHER, "Age", "Sex"], ["Age", "Sex"], ["Sex"]]


def test_detectors_go_with_their_check_and_with_their_deployment(database: Database, check: CheckRun, trained: list[NewDetector]) -> None:
    store(database, check, trained)
    later = another_check(database, check.deployment_no)
    store(database, later, [REFUSED])

    with database.transaction() as session:
        session.execute(delete(CheckRow).where(CheckRow.no == check.no))
    left = newest(database, check)
    with database.transaction() as session:
        session.execute(delete(DeploymentRow).where(DeploymentRow.no == check.deployment_no))

    assert list(left) == ["Sex"]
    with database.transaction() as session:
        assert session.scalars(select(BiasDetectorRow)).all() == []


@pytest.mark.nightly
def test_stored_detectors_give_the_scores_of_those_that_were_trained(database: Database, check: CheckRun) -> None:
    women = refused(300)
    store(database, check, trained_on(women))

    with database.transaction() as session:
        loaded = LoadedDetectors().load(session, check.deployment_no, find_usable_versions(session, check.deployment_no, "r1"))

    assert set(loaded) == {"Sex", ALL_TOGETHER}
    expected = women.detector().score(women.rows, women.own_scores).tolist()
    assert loaded["Sex"].score(women.rows, women.own_scores).tolist() == expected


def test_a_detector_is_read_once_and_a_newer_version_takes_its_place(
    database: Database, check: CheckRun, trained: list[NewDetector]
) -> None:
    store(database, check, trained)
    kept = LoadedDetectors()

    with database.transaction() as session:
        first = kept.load(session, check.deployment_no, find_usable_versions(session, check.deployment_no, "r1"))
        again = kept.load(session, check.deployment_no, find_usable_versions(session, check.deployment_no, "r1"))
    store(database, check, trained[:1])
    with database.transaction() as session:
        later = kept.load(session, check.deployment_no, find_usable_versions(session, check.deployment_no, "r1"))

    assert again["Sex"] is first["Sex"]
    assert later["Sex"] is not first["Sex"]
    assert later[ALL_TOGETHER] is first[ALL_TOGETHER]


def test_a_damaged_detector_is_left_out_and_said_once(database: Database, check: CheckRun, trained: list[NewDetector]) -> None:
    store(database, check, trained)
    with database.transaction() as session:
        session.execute(update(BiasDetectorRow).where(BiasDetectorRow.attribute == "Sex").values(model=b"damaged"))
    kept = LoadedDetectors()

    with capture_logs() as logs, database.transaction() as session:
        found = [kept.load(session, check.deployment_no, find_usable_versions(session, check.deployment_no, "r1")) for _ in range(2)]

    assert [list(one) for one in found] == [[ALL_TOGETHER]] * 2
    assert [(entry["log_level"], entry["attribute"]) for entry in logs] == [("warning", "Sex")]


@pytest.mark.nightly
def test_only_so_many_detectors_are_kept(
    database: Database, check: CheckRun, trained: list[NewDetector], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "MAX_LOADED", 3)
    names = [f"attribute-{number:02}" for number in range(loading.MAX_LOADED + 1)]
    store(database, check, [replace(trained[0], attribute=name) for name in names])
    kept = LoadedDetectors()

    with database.transaction() as session:
        first, second = (
            kept.load(session, check.deployment_no, find_usable_versions(session, check.deployment_no, "r1")) for _ in range(2)
        )

    assert set(first) == set(second) == set(names)
    assert isinstance(first[names[0]], BiasDetector)
    assert first[names[0]] is not second[names[0]]
