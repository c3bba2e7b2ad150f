"""Records sorted by gap: the flagged ones by the largest of their flags, then the others, newest first; each once, on any page size."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from app.base.errors import InvalidInput
from app.base.values import Range
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.domain.monitor import MonitoredAttribute
from app.records.record_list import RecordListPage, RecordListQuery, list_matching_records
from app.sources.stored import record_queries as stored
from app.sources.stored.record_conditions import GapPlace, RecordPlace, RecordSort
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.statements import counted
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene

AGE = MonitoredAttribute(feature="age", monitored=(Range(30, 39),), reference=(Range(40, 49),))
_GAPS = {"12": 0.3, "13": 0.7, "14": 0.3, "15": 0.0, "16": 0.5, "17": 0.25, "18": 0.1, "19": 0.6}
BY_GAP = ["13", "16", "19", "12", "14", "17", "18", "15"]
"""The flagged women; 16 has a second flag, of age, with a larger gap than that of sex. 15 has scores that are not known."""
WITHOUT = [str(no) for no in (11, 10, *reversed(range(10)))]


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer, memory: SceneMemory) -> Scene:
    """Ten men and ten women, of whom the first two are rich; the other eight are flagged, with these gaps."""

    def make() -> Scene:
        watched = scene(database, APPLICANT, monitor_of(SEX, AGE), endpoint=Endpoint(url=server.url))
        watched.log(applicants(10, 10, 2), NOON)
        watched.check(NOON)
        with watched.database.transaction() as session:
            for record_id, gap in _GAPS.items():
                session.execute(
                    text(
                        "UPDATE flagged_records f SET gap = :gap, own_score = CASE WHEN :gap > 0 THEN 0.2 END FROM payload_keys k"
                        " WHERE k.record_no = f.record_no AND k.record_id = :id"
                    ),
                    {"gap": gap, "id": record_id},
                )
            session.execute(
                text(
                    "INSERT INTO flagged_records SELECT f.deployment_no, f.record_no, 'age', f.logged_at, f.model_revision, '30-39',"
                    " 'likely', f.direction, 0.1, 0.75, 0.65, 1, f.check_no"
                    " FROM flagged_records f JOIN payload_keys k ON k.record_no = f.record_no AND k.record_id = '16'"
                )
            )
        return watched

    return memory.recall(database, make)


def found(stage: Scene, **wanted: Any) -> RecordListPage:  # noqa: ANN401
    with stage.database.transaction() as session:
        return list_matching_records(session, stage.deployment.no, RecordListQuery(sort=RecordSort.GAP, **wanted))


def listed(stage: Scene, **wanted: Any) -> list[str]:  # noqa: ANN401
    """The ids of all pages, in order."""
    page = found(stage, **wanted)
    records = [record.record.record_id for record in page.records]
    while page.next_place is not None:
        page = found(stage, **{**wanted, "after": page.next_place})
        records += [record.record.record_id for record in page.records]
    return records


def test_every_record_is_listed_once_the_largest_gap_first(stage: Scene, subtests: pytest.Subtests) -> None:
    for limit in (1, 3, 8, 9, 100):
        with subtests.test(limit=limit):
            assert listed(stage, limit=limit) == BY_GAP + WITHOUT


def test_a_records_gap_is_the_largest_of_its_flags_and_none_where_scores_are_not_known(stage: Scene) -> None:
    gaps = {record.record.record_id: record.gap for record in found(stage).records}

    assert [gaps[record] for record in BY_GAP] == [0.7, 0.65, 0.6, 0.3, 0.3, 0.25, 0.1, None]
    assert {gaps[record] for record in WITHOUT} == {None}


def test_filters_hold_for_both_parts_of_the_list(stage: Scene) -> None:
    stage.log(applicants(1, 1, prefix="b"), NOON + HOUR)

    assert listed(stage, attribute="sex", group="female", limit=3) == [*BY_GAP, "b1", "11", "10"]
    assert listed(stage, outcome="favourable", until=NOON + HOUR, limit=5) == WITHOUT
    assert listed(stage, mitigated=True) == BY_GAP
    assert listed(stage, since=NOON + HOUR) == ["b1", "b0"]


def test_one_request_searches_a_bounded_part_of_the_flags_and_says_where_to_go_on(stage: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MAX_SCANNED_WITH_COPIES", 2)

    first = found(stage, attribute="sex", group="male")

    assert first.records == ()
    assert isinstance(first.next_place, GapPlace)
    assert listed(stage, attribute="sex", group="male") == [str(no) for no in reversed(range(10))]
    assert listed(stage) == BY_GAP + WITHOUT


def test_the_number_of_statements_does_not_depend_on_the_number_of_records(stage: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as few:
        found(stage, limit=2)
    with counted(monkeypatch) as many:
        found(stage, limit=7)

    assert len(few) == len(many)


def test_a_place_of_a_list_in_another_order_is_refused(stage: Scene) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        found(stage, after=RecordPlace(NOON, 1))
    with stage.database.transaction() as session, pytest.raises(InvalidInput, match="cursor"):
        list_matching_records(session, stage.deployment.no, RecordListQuery(after=GapPlace(0.5, NOON, 1)))
