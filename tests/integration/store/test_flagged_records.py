from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from app.database.engine import Database
from app.deployments.queries import Deployments, build_definition
from app.domain.check import Span
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.mitigation import FlaggedRecord
from app.mitigation.window.flag_queries import FlaggedFilter, FlaggedPayload, FlagPlace, clear_flags, page_flagged, store_flagged
from tests.builders.applicants import APPLICANT, applicants, monitor_of
from tests.scenes import HOUR, NOON, PlainSealer, Scene, scene

R1 = FlaggedFilter(model_revision="1")


@pytest.fixture
def logged(database: Database) -> Scene:
    """Twenty records logged at noon and twenty an hour later, numbered from 1."""
    stage = scene(database, APPLICANT, monitor_of(), endpoint=None)
    stage.log(applicants(10, 10, prefix="noon-"), NOON)
    stage.log(applicants(10, 10, prefix="one-"), NOON + HOUR)
    return stage


def flag(no: int, gap: float = 0.0, *, at: datetime = NOON, **changes: Any) -> FlaggedRecord:  # noqa: ANN401
    scores = {"own_score": 0.25, "reference_score": 0.25 + gap} if gap else {}
    given = {"attribute": "sex", "model_revision": "1", "group": "female", "kind": "changed", "direction": "lifted", **scores, **changes}
    return FlaggedRecord(record_no=no, logged_at=at, gap=gap, **given)


def store(stage: Scene, records: Iterable[FlaggedRecord]) -> None:
    run = stage.queue(Span(start=NOON, end=NOON + HOUR))
    with stage.database.transaction() as session:
        store_flagged(session, stage.deployment.no, run.no, list(records))
    stage.stop_running()


def page(stage: Scene, wanted: FlaggedFilter = R1, *, behind: FlagPlace | None = None, limit: int = 1000) -> list[FlaggedPayload]:
    with stage.database.transaction() as session:
        return page_flagged(session, stage.deployment.no, wanted, after=behind, limit=limit).items


def test_what_was_flagged_is_read_back_with_its_record(logged: Scene) -> None:
    flagged = flag(12, 0.5, bias_score=0.75)

    store(logged, [flagged])
    (found,) = page(logged)

    assert found.flag == flagged
    assert (found.record_id, found.model_revision, found.scored_at) == ("noon-11", "1", NOON)
    assert found.schema == logged.deployment.schema
    assert found.features == ("female", 20_000, 41)
    assert (found.meta, found.prediction, found.label, found.mitigated) == ((), 0, None, None)


def test_nothing_flagged_is_nothing_stored(logged: Scene) -> None:
    store(logged, [])

    assert page(logged) == []


def test_the_list_begins_with_the_largest_gap_and_goes_on_by_record_and_attribute(logged: Scene) -> None:
    store(logged, [flag(1), flag(2), flag(2, attribute="age"), flag(4, 0.5), flag(3, 0.5), flag(9, 0.75)])

    found = [(flagged.flag.record_no, flagged.flag.attribute) for flagged in page(logged)]

    assert found == [(9, "sex"), (3, "sex"), (4, "sex"), (1, "sex"), (2, "age"), (2, "sex")]


def test_pages_hold_every_flag_once_where_gaps_are_equal_too(logged: Scene, subtests: pytest.Subtests) -> None:
    store(
        logged, [flag(no, gap, attribute=name) for no in range(1, 8) for name, gap in (("sex", 0.0), ("age", 0.1 * (no % 3)), ("Ä", 0.3))]
    )
    whole = page(logged)

    for limit in (1, 2, 3, 7):
        with subtests.test(limit=limit):
            parts: list[FlaggedPayload] = []
            while part := page(logged, behind=parts[-1].place if parts else None, limit=limit):
                parts += part

            assert len(whole) == 21
            assert parts == whole


def test_each_filter_leaves_what_it_says(logged: Scene) -> None:
    store(
        logged,
        [
            flag(1, 0.9, direction="lowered"),
            flag(2, 0.8, kind="likely"),
            flag(3, 0.7, attribute="age"),
            flag(21, 0.6, at=NOON + HOUR),
            flag(4, 0.5, model_revision="0"),
        ],
    )
    filters: list[dict[str, Any]] = [
        *({}, {"direction": "lowered"}, {"kind": "likely"}, {"attribute": "age"}, {"attribute": "nothing"}),
        *({"since": NOON + HOUR}, {"until": NOON + HOUR}, {"since": NOON, "until": NOON}, {"model_revision": "0"}),
    ]

    found = [[flagged.flag.record_no for flagged in page(logged, replace(R1, **wanted))] for wanted in filters]

    assert found == [[1, 2, 3, 21], [1], [2], [3], [], [21], [1, 2, 3], [], [4]]


def test_what_the_model_said_replaces_what_the_detector_thought_and_not_the_other_way_round(logged: Scene) -> None:
    store(logged, [flag(1, kind="likely", bias_score=0.9), flag(2, 0.5)])

    store(logged, [flag(1, 0.25), flag(2, kind="likely", bias_score=0.9)])

    assert [(flagged.flag.record_no, flagged.flag.kind, flagged.flag.gap) for flagged in page(logged)] == [
        (2, "changed", 0.5),
        (1, "changed", 0.25),
    ]


def test_of_a_new_model_a_thought_replaces_what_the_old_one_said(logged: Scene) -> None:
    store(logged, [flag(1, 0.5, model_revision="0")])

    store(logged, [flag(1, kind="likely", bias_score=0.9)])

    assert [(flagged.flag.kind, flagged.flag.model_revision) for flagged in page(logged)] == [("likely", "1")]
    assert page(logged, replace(R1, model_revision="0")) == []


def test_the_newer_of_two_alike_counts_and_of_two_at_once_what_the_model_said(logged: Scene) -> None:
    store(logged, [flag(1, 0.5), flag(2, kind="likely", bias_score=0.6)])

    store(logged, [flag(1, 0.25), flag(2, kind="likely", bias_score=0.7), flag(3, kind="likely", bias_score=0.9), flag(3, 0.125)])

    found = [(flagged.flag.record_no, flagged.flag.gap, flagged.flag.bias_score) for flagged in page(logged)]
    assert found == [(1, 0.25, None), (3, 0.125, None), (2, 0.0, 0.7)]


def test_a_transaction_may_store_flags_more_than_once(logged: Scene) -> None:
    run = logged.queue(Span(start=NOON, end=NOON + HOUR))

    with logged.database.transaction() as session:
        store_flagged(session, logged.deployment.no, run.no, [flag(1)])
        store_flagged(session, logged.deployment.no, run.no, [flag(2)])

    assert [flagged.flag.record_no for flagged in page(logged)] == [1, 2]


def test_flags_are_taken_from_the_records_and_attributes_that_are_looked_at_again(logged: Scene) -> None:
    store(logged, [flag(no, attribute=name) for no in (1, 2) for name in ("sex", "age")])

    with logged.database.transaction() as session:
        clear_flags(session, logged.deployment.no, "sex", [2, 3], ["changed"])
        clear_flags(session, logged.deployment.no, "age", [], ["changed"])
        clear_flags(session, logged.deployment.no + 1, "sex", [1, 2], ["changed"])

    assert [(flagged.flag.record_no, flagged.flag.attribute) for flagged in page(logged)] == [(1, "age"), (1, "sex"), (2, "age")]


def test_names_of_any_letters_are_stored_as_they_are(logged: Scene) -> None:
    name = "Größe\t\\N '\"\n× 😀"

    store(logged, [flag(1, attribute=name, group=name)])

    assert [(flagged.flag.attribute, flagged.flag.group) for flagged in page(logged, replace(R1, attribute=name))] == [(name, name)]


@pytest.mark.nightly
def test_two_hundred_thousand_flags_are_stored_at_once_and_again(logged: Scene) -> None:
    many = [flag(no, no / 1_000_000, at=NOON + HOUR) for no in range(1, 200_001)]

    store(logged, many)
    store(logged, many)

    assert logged.count("flagged_records") == 200_000
    # Only those of records that are there can be shown.
    assert [flagged.flag.record_no for flagged in page(logged)] == list(range(40, 20, -1))


def test_a_record_keeps_the_columns_that_it_was_logged_under(logged: Scene) -> None:
    store(logged, [flag(1)])
    rooms = Column(name="rooms", type=FieldType.INTEGER, kind=FieldKind.NUMERIC)
    with logged.database.transaction() as session:
        deployments = Deployments(session, PlainSealer())
        deployments.change(logged.deployment, replace(build_definition(logged.deployment), features=(rooms,), meta=(APPLICANT[0],)))

    (found,) = page(logged)

    assert [column.name for column in found.schema.features] == ["sex", "income", "age"]
    assert found.features[0] == "male"
    assert found.meta == ()


def test_flags_go_with_their_deployment(logged: Scene) -> None:
    store(logged, [flag(1)])

    with logged.database.transaction() as session:
        Deployments(session, PlainSealer()).delete("a-model")

    assert logged.count("flagged_records") == 0


def test_only_flags_of_the_kinds_that_are_looked_for_again_are_taken(logged: Scene) -> None:
    store(logged, [flag(1, kind="changed"), flag(2, kind="likely")])

    with logged.database.transaction() as session:
        clear_flags(session, logged.deployment.no, "sex", [1, 2], ["likely"])

    assert [flagged.flag.record_no for flagged in page(logged)] == [1]
