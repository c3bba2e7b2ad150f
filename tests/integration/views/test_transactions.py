"""Looking through records: what each filter leaves, the records of a check, and one record with its counterfactuals."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import text

from app.base.errors import Conflict, InvalidInput, NotFound
from app.base.values import Range
from app.database.engine import Database
from app.deployments.monitor.queries import delete_monitor
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.monitor import MonitoredAttribute, OutcomeRule
from app.records.one_record import read_record_details
from app.records.record_list import RecordListPage, RecordListQuery, list_matching_records
from app.sources.stored import record_queries as stored
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.builders.statements import counted
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene

AGE = MonitoredAttribute(feature="age", monitored=(Range(30, 39),), reference=(Range(40, 49),))


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer, memory: SceneMemory) -> Scene:
    """Ten men, who are approved, and ten women, of whom the first two are rich; checked."""

    def make() -> Scene:
        watched = scene(database, APPLICANT, monitor_of(SEX, AGE, intersections=(("sex", "age"),)), endpoint=Endpoint(url=server.url))
        watched.log(applicants(10, 10, 2), NOON)
        watched.check(NOON)
        return watched

    return memory.recall(database, make)


def found(stage: Scene, **wanted: Any) -> RecordListPage:  # noqa: ANN401
    with stage.database.transaction() as session:
        return list_matching_records(session, stage.deployment.no, RecordListQuery(**wanted))


def ids(stage: Scene, **wanted: Any) -> set[str]:  # noqa: ANN401
    """The ids of all pages."""
    records: list[str] = []
    page = found(stage, **wanted)
    while True:
        records += [record.record.record_id for record in page.records]
        if page.next_place is None:
            break
        page = found(stage, **{**wanted, "after": page.next_place})
    assert len(records) == len(set(records))
    return set(records)


def numbers(*ranges: range) -> set[str]:
    return {str(no) for each in ranges for no in each}


def test_records_come_newest_first_and_pages_hold_each_once(stage: Scene) -> None:
    stage.log(applicants(3, 3, prefix="b"), NOON + HOUR)

    pages, place = [], None
    while not pages or place is not None:
        page = found(stage, limit=4, after=place)
        pages.append([record.record.record_id for record in page.records])
        place = page.next_place

    assert [len(page) for page in pages] == [4, 4, 4, 4, 4, 4, 2]
    assert [one for page in pages for one in page] == [*(f"b{no}" for no in reversed(range(6))), *(str(no) for no in reversed(range(20)))]


def test_each_filter_leaves_what_it_says(stage: Scene) -> None:
    assert ids(stage, attribute="sex", group="female") == numbers(range(10, 20))
    assert ids(stage, attribute="age", group="30-39") == numbers(range(10))
    assert ids(stage, attribute="sex × age", group="female × 40-49") == numbers(range(10, 20))
    assert ids(stage, attribute="sex × age", group="male × 40-49") == set()
    assert ids(stage, outcome="favourable") == numbers(range(12))
    assert ids(stage, outcome="unfavourable") == numbers(range(12, 20))
    assert ids(stage, outcome="unclassified") == set()
    assert ids(stage, changed="gained") == numbers(range(12, 20))
    assert ids(stage, changed="lost", attribute="sex") == numbers(range(10))
    assert ids(stage, changed="any", attribute="sex") == numbers(range(10), range(12, 20))
    assert ids(stage, changed="none", attribute="sex") == numbers(range(10, 12))
    assert ids(stage, changed="none", attribute="age") == numbers(range(20))
    assert ids(stage, mitigated=True) == numbers(range(12, 20))
    assert ids(stage, mitigated=True, attribute="age") == set()
    assert ids(stage, since=NOON + HOUR) == ids(stage, until=NOON) == set()
    assert ids(stage, since=NOON, until=NOON + HOUR, outcome="favourable", attribute="sex", group="female") == numbers(range(10, 12))


def test_a_record_is_summed_up_in_the_words_of_the_monitor(stage: Scene) -> None:
    (one,) = found(stage, limit=1).records

    assert (one.outcome, dict(one.changes), one.part) == ("unfavourable", {"sex": "gained", "age": "none"}, None)
    assert [(group.attribute, group.group, group.role) for group in one.groups] == [
        ("sex", "female", "monitored"),
        ("age", "40-49", "reference"),
    ]
    assert [(flag.attribute, flag.kind, flag.direction) for flag in one.flags] == [("sex", "changed", "lifted")]


def test_one_request_looks_through_a_bounded_part_and_says_where_to_go_on(stage: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MAX_SCANNED", 6)
    monkeypatch.setattr(stored, "MAX_SCANNED_WITH_COPIES", 3)

    first = found(stage, attribute="sex", group="male")

    assert first.records == ()
    assert first.next_place is not None
    assert ids(stage, attribute="sex", group="male") == numbers(range(10))
    assert ids(stage, attribute="sex", group="male", limit=1) == numbers(range(10))
    assert ids(stage, changed="lost") == numbers(range(10))


def test_the_records_of_a_check_are_those_that_its_window_held(stage: Scene) -> None:
    """More than `max_records` in one hour, logged at one moment; then too few in the next, topped up; then none at all."""
    stage.watch(monitor_of(SEX, min_records=10, max_records=15))
    stage.log(applicants(10, 10, prefix="b"), NOON + HOUR)
    full = stage.check(NOON + HOUR, trigger="schedule")  # type: ignore[arg-type]
    stage.log(applicants(2, 2, prefix="c"), NOON + 2 * HOUR)
    topped = stage.check(NOON + 2 * HOUR, trigger="schedule")  # type: ignore[arg-type]
    carried = stage.check(NOON + 3 * HOUR, trigger="schedule")  # type: ignore[arg-type]

    newest = {f"b{no}" for no in range(5, 20)}
    additional = {f"b{no}" for no in range(14, 20)}
    assert ids(stage, check_id=full.run.id) == newest
    assert ids(stage, check_id=topped.run.id, limit=3) == {"c0", "c1", "c2", "c3"} | additional
    assert ids(stage, check_id=carried.run.id) == ids(stage, check_id=topped.run.id)
    assert ids(stage, check_id=topped.run.id, attribute="sex", group="male") == {"c0", "c1"}
    parts = {record.record.record_id: record.part for record in found(stage, check_id=topped.run.id).records}
    assert parts == {f"c{no}": "span" for no in range(4)} | dict.fromkeys(additional, "additional")
    with stage.database.transaction() as session:
        outside = read_record_details(session, stage.deployment.no, "b0", check_id=topped.run.id)
    assert outside.summary.part is None


def test_a_check_without_records_has_none_and_one_that_never_read_is_refused(stage: Scene) -> None:
    empty = stage.check(NOON - 5 * HOUR)
    waiting = stage.queue(empty.run.span)

    assert found(stage, check_id=empty.run.id).records == ()
    with pytest.raises(InvalidInput, match="has read no records: it is running"):
        found(stage, check_id=waiting.id)
    with pytest.raises(NotFound):
        found(stage, check_id="00000000-0000-0000-0000-000000000000")


def test_records_logged_under_an_older_schema_are_filtered_by_where_their_columns_were(stage: Scene) -> None:
    """The column age moves into the place of sex, where older records hold text that is no number."""
    with stage.database.transaction() as session:
        session.execute(
            text(
                "INSERT INTO deployment_schemas SELECT deployment_no, 2, jsonb_build_array(features->2, features->1, features->0), meta"
                " FROM deployment_schemas"
            )
        )
        session.execute(text("UPDATE deployments SET schema_version = 2"))
    schema = replace(stage.deployment.schema, version=2, features=tuple(reversed(stage.deployment.schema.features)))
    stage.deployment = replace(stage.deployment, schema=schema)
    stage.log([{"sex": "female", "income": 1, "age": 35, "prediction": 0, "id": "new"}], NOON + HOUR)

    assert ids(stage, attribute="age", group="30-39") == {"new", *numbers(range(10))}
    assert ids(stage, attribute="sex", group="female") == {"new", *numbers(range(10, 20))}
    (one,) = found(stage, limit=1).records
    assert [column.name for column in one.schema.features] == ["age", "income", "sex"]
    assert dict(one.changes) == {}


def test_values_of_every_type_are_told_apart_as_checks_do(database: Database) -> None:
    columns = (
        Column(name="owner", type=FieldType.BOOLEAN, kind=FieldKind.CATEGORICAL),
        Column(name="city", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
        Column(name="share", type=FieldType.NUMBER, kind=FieldKind.NUMERIC),
    )
    watched = monitor_of(
        MonitoredAttribute(feature="owner", monitored=(True,), reference=(False,)),
        MonitoredAttribute(feature="city", monitored=("Zürich 😀", "a'; --"), reference=None),
        MonitoredAttribute(feature="share", monitored=(Range(0.1, 0.3),), reference=(Range(0.5, 1.0),)),
    )
    watched = replace(watched, outcomes=OutcomeRule(favourable=(Range(0.5, 1.0),), unfavourable=(Range(0.0, 0.49),)))
    stage = scene(database, columns, watched, endpoint=None)
    rows = [(True, "Zürich 😀", 0.1, 0.5), (False, "a'; --", 0.3, "0.75"), (None, None, None, "1e999"), (True, "%s:x", 0.4, -1)]
    stage.log([{"owner": a, "city": b, "share": c, "prediction": d, "id": f"r {no}"} for no, (a, b, c, d) in enumerate(rows)], NOON)

    assert ids(stage, attribute="owner", group="true") == {"r 0", "r 3"}
    assert ids(stage, attribute="city", group="Zürich 😀") == {"r 0"}
    assert ids(stage, attribute="city", group="a'; --") == {"r 1"}
    assert ids(stage, attribute="city", group="%s:x") == {"r 3"}
    assert ids(stage, attribute="share", group="0.1-0.3") == {"r 0", "r 1"}
    assert ids(stage, outcome="favourable") == {"r 0"}
    assert ids(stage, outcome="unclassified") == {"r 1", "r 2", "r 3"}  # text is in no range, whatever it spells
    assert {record.record.record_id: record.outcome for record in found(stage).records} == {
        "r 0": "favourable",
        "r 1": "unclassified",
        "r 2": "unclassified",
        "r 3": "unclassified",
    }
    assert [(group.group, group.role) for group in found(stage, limit=1).records[0].groups] == [
        ("true", "monitored"),
        ("%s:x", "reference"),
        (None, None),
    ]


def test_what_the_monitor_does_not_know_is_refused_with_what_it_knows(stage: Scene) -> None:
    with pytest.raises(InvalidInput, match="which are: sex, age, sex × age"):
        found(stage, attribute="colour", group="red")
    with pytest.raises(InvalidInput, match="whose groups are: 'female', 'male'"):
        found(stage, attribute="sex", group="women")
    with pytest.raises(InvalidInput, match="a group of each of sex × age"):
        found(stage, attribute="sex × age", group="female")
    with pytest.raises(InvalidInput, match="of which attribute"):
        found(stage, group="female")


def test_without_a_monitor_records_are_shown_and_nothing_is_said_of_them(stage: Scene) -> None:
    with stage.database.transaction() as session:
        delete_monitor(session, stage.deployment.no)

    one = found(stage, limit=1).records[0]

    assert (one.outcome, one.groups, one.changes) == (None, (), {})
    with pytest.raises(Conflict):
        found(stage, outcome="favourable")


def test_one_record_has_its_counterfactuals_side_by_side(stage: Scene) -> None:
    stage.label([("15", 1)], NOON + HOUR)

    with stage.database.transaction() as session:
        details = read_record_details(session, stage.deployment.no, "15")

    by_attribute = {counterfactual.attribute: counterfactual for counterfactual in details.counterfactuals}
    sex = by_attribute["sex"]
    assert (sex.group, sex.role, sex.draw, sex.values, sex.outcome, sex.change) == (
        "male",
        "reference",
        0,
        {"sex": "male"},
        "favourable",
        "gained",
    )
    assert (sex.prediction, sex.probability, sex.in_present_figures) == (1, 0.9, True)
    drawn = [counterfactual for counterfactual in details.counterfactuals if counterfactual.attribute == "age"]
    assert [(copy.group, copy.draw, copy.change) for copy in drawn] == [("30-39", 0, "none"), ("30-39", 1, "none")]
    assert all(one.values is not None and 30 <= int(str(one.values["age"])) <= 39 for one in drawn)
    assert details.feedback is not None
    assert (details.feedback.label, details.feedback.outcome) == (1, "favourable")


def test_the_drawn_values_are_those_that_the_model_was_asked_about(database: Database) -> None:
    asked: list[tuple[Any, ...]] = []

    class Remembering(RuleScorer):
        def predict(self, columns: Any, rows: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401
            asked.extend(tuple(row) for row in rows)
            return super().predict(columns, rows)

    with serve(Remembering()) as server:
        stage = scene(database, APPLICANT, monitor_of(AGE), endpoint=Endpoint(url=server.url))
        stage.log(applicants(10, 10), NOON)
        stage.check(NOON)

    with database.transaction() as session:
        found_of = [read_record_details(session, stage.deployment.no, str(no)) for no in range(20)]

    shown = sorted(
        (one.summary.record.features[0], one.summary.record.features[1], copy.values["age"])
        for one in found_of
        for copy in one.counterfactuals
        if copy.values is not None
    )
    assert len(shown) == 40
    # One record was asked again unchanged, as often as it has copies.
    assert sorted((Counter(asked) - Counter(shown)).values()) in ([2], [1, 1])
    assert not Counter(shown) - Counter(asked)


def test_copies_of_an_earlier_monitor_are_shown_apart_and_counted_no_more(stage: Scene) -> None:
    stage.watch(monitor_of(MonitoredAttribute(feature="sex", monitored=("male",), reference=("other",))))

    with stage.database.transaction() as session:
        details = read_record_details(session, stage.deployment.no, "15")

    assert {counterfactual.in_present_figures for counterfactual in details.counterfactuals} == {False}
    assert dict(details.summary.changes) == {}
    assert ids(stage, changed="any", attribute="sex") <= numbers(range(10, 20))


def test_a_record_of_another_model_revision_has_only_the_copies_of_its_own(stage: Scene) -> None:
    stage.log([{**applicants(0, 1)[0], "id": "old"}], NOON + HOUR, revision="0")

    with stage.database.transaction() as session:
        details = read_record_details(session, stage.deployment.no, "old")

    assert details.counterfactuals == ()


@pytest.mark.parametrize("wanted", [{}, {"attribute": "sex", "group": "female"}, {"changed": "any"}, {"mitigated": True}])
def test_the_number_of_statements_does_not_depend_on_the_records(
    stage: Scene, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any]
) -> None:
    with counted(monkeypatch) as few:
        found(stage, limit=1, **wanted)
    with counted(monkeypatch) as many:
        found(stage, limit=1000, **wanted)

    assert 0 < len(few) == len(many) <= 12


def test_times_at_the_edge_of_the_calendar_do_no_harm(stage: Scene) -> None:
    place = stored.RecordPlace(datetime.fromisoformat("9999-12-31T23:59:59-12:00"), 2**63 - 1)

    assert len(found(stage, after=place).records) == 20
