"""The four views of a check, over what real checks of a model that can be read have stored."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import event
from syrupy.assertion import SnapshotAssertion

from app.checks.views.build_views import build_check_view, list_views
from app.checks.views.logged_view import INTERVALS_DIFFER
from app.checks.views.view_shapes import AttributeView, CheckView, GroupShare, ViewKind
from app.database.engine import Database
from app.deployments.training.queries import Cell, Distribution, TrainingData
from app.domain.check import CheckRun, Trigger
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.monitor import MonitoredAttribute
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.page_words import says
from tests.builders.training import put_training, store_training, summary
from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, scene


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serve(RuleScorer()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer) -> Scene:
    """The watched deployment."""
    return scene(database, APPLICANT, monitor_of(), endpoint=Endpoint(url=server.url))


def view(stage: Scene, check: CheckRun, kind: ViewKind) -> CheckView:
    with stage.database.transaction() as session:
        return build_check_view(session, stage.deployment, check, kind)


def reasons(stage: Scene, check: CheckRun) -> dict[str, str | None]:
    with stage.database.transaction() as session:
        return {state.kind.value: state.reason for state in list_views(session, stage.deployment, check)}


def attribute(view: CheckView, name: str) -> AttributeView:
    return next(one for one in view.attributes if one.attribute == name)


def group(view: CheckView, name: str, label: str) -> GroupShare:
    return next(one for one in attribute(view, name).groups if one.group == label)


def counts(one: GroupShare) -> tuple[float, float, float]:
    return one.outcomes.favourable, one.outcomes.unfavourable, one.outcomes.records


def line(shown: CheckView) -> str:
    """The left-out line of the attribute `sex`."""
    records = attribute(shown, "sex").records
    assert records is not None
    return str(records["text"])


def test_the_logged_view_has_counts_shares_and_the_figures_of_the_series(stage: Scene) -> None:
    stage.log(applicants(20, 30, 6), NOON)
    result = stage.check(NOON)

    shown = view(stage, result.run, ViewKind.AS_LOGGED)
    women, men = group(shown, "sex", "female"), group(shown, "sex", "male")
    assert counts(women) == (6, 24, 30)
    assert counts(men) == (20, 0, 20)
    assert (women.role, men.role) == ("monitored", "reference")
    assert women.share == result.value("favourable_rate", "as_logged", "sex", "female") == 0.2
    assert women.comparison == result.get("disparate_impact", "as_logged", "sex", "female")
    assert men.comparison is None
    assert attribute(shown, "sex").worst == result.get("disparate_impact", "as_logged", "sex", scope="worst")
    assert (shown.records, shown.additional_records, shown.reason) == (50, 0, None)
    assert attribute(shown, "sex").perfect_equality is None


def test_both_roles_as_a_whole_stand_behind_the_groups(stage: Scene) -> None:
    stage.log(applicants(20, 30, 6), NOON)

    pooled = attribute(view(stage, stage.check(NOON).run, ViewKind.AS_LOGGED), "sex").pooled
    assert [(one.group, one.role, one.records) for one in pooled] == [(None, "monitored", 30), (None, "reference", 20)]
    assert pooled[0].comparison is not None
    assert (pooled[0].comparison.scope, pooled[0].comparison.group) == ("group", "female")


def test_the_perturbed_view_counts_copies_and_marks_perfect_equality(stage: Scene) -> None:
    stage.log(applicants(20, 30, 6), NOON)
    result = stage.check(NOON)

    shown = view(stage, result.run, ViewKind.OPENSCALE)
    women, sex = group(shown, "sex", "female"), attribute(shown, "sex")
    # 30 women with 20 men as women, none of whom is rich.
    assert counts(women) == (6, 44, 50)
    assert women.original_records == 30
    assert women.comparison == result.get("disparate_impact", "counterfactual", "sex", "female")
    assert sex.perfect_equality == result.get("perfect_equality", "openscale", "sex")
    assert (sex.perturbed_records, sex.unclassified_copies) == (50, 0)


def test_additional_records_are_told_apart_with_the_times_of_the_oldest_and_newest(stage: Scene) -> None:
    stage.log(applicants(3, 4, 1, prefix="old"), NOON - 2 * HOUR)
    stage.log(applicants(2, 2, prefix="now"), NOON + timedelta(minutes=1))
    stage.watch(monitor_of(min_records=11))

    shown = view(stage, stage.check(NOON).run, ViewKind.AS_LOGGED)
    women = group(shown, "sex", "female")
    assert (shown.records, shown.additional_records) == (4, 7)
    assert (shown.oldest, shown.newest) == (NOON - 2 * HOUR, NOON + timedelta(minutes=1))
    assert (women.records, women.additional_records, women.additional_favourable) == (6, 4, 1)


def test_unclassified_records_and_values_in_neither_group_are_counted_apart(stage: Scene) -> None:
    rows = applicants(20, 20, 5)
    rows[0] |= {"prediction": 7}
    rows[1] |= {"sex": "other"}
    rows[2] |= {"sex": None}
    stage.log(rows, NOON)

    result = stage.check(NOON)

    for kind in (ViewKind.AS_LOGGED, ViewKind.OPENSCALE):
        shown = view(stage, result.run, kind)
        assert group(shown, "sex", "male").unclassified == 1
        assert group(shown, "sex", "male").original_records == 17
        assert line(shown) == (
            "37 of 40 records counted; left out: prediction in neither outcome list 1 (male 1), sex unknown 1, sex in no group 1."
        )


def test_several_monitored_values_stand_by_themselves_in_the_order_of_the_table(stage: Scene) -> None:
    stage.watch(monitor_of(MonitoredAttribute(feature="sex", monitored=("female", "diverse"), reference=("male",))))
    rows = applicants(20, 20, 5)
    rows += [{**row, "sex": "diverse", "id": f"d{row['id']}"} for row in rows[20:30]]
    stage.log(rows, NOON)
    result = stage.check(NOON)

    shown = view(stage, result.run, ViewKind.OPENSCALE)
    assert [(one.group, one.role) for one in attribute(shown, "sex").groups] == [
        ("female", "monitored"),
        ("diverse", "monitored"),
        ("male", "reference"),
    ]
    for label in ("female", "diverse"):
        assert group(shown, "sex", label).comparison == result.get("disparate_impact", "counterfactual", "sex", label)


def test_a_group_without_a_record_has_its_reason_instead_of_a_share(stage: Scene) -> None:
    stage.watch(monitor_of(MonitoredAttribute(feature="sex", monitored=("female", "diverse"), reference=("male",))))
    stage.log(applicants(20, 20, 5), NOON)
    check = stage.check(NOON).run

    for kind in (ViewKind.AS_LOGGED, ViewKind.OPENSCALE):
        nobody = group(view(stage, check, kind), "sex", "diverse")
        assert (nobody.share, nobody.outcomes.reason) == (None, "there is no record of diverse")
        assert nobody.comparison is not None
        assert nobody.comparison.verdict == "not_computable"


@pytest.mark.thorough
def test_an_intersection_is_in_the_logged_view_and_says_in_the_perturbed_one_why_it_is_not(stage: Scene) -> None:
    stage.watch(monitor_of(SEX, AGE, intersections=(("sex", "age"),)))
    stage.log(applicants(40, 40, 10), NOON)
    result = stage.check(NOON)

    payload, perturbed = (view(stage, result.run, kind) for kind in (ViewKind.AS_LOGGED, ViewKind.OPENSCALE))
    together = attribute(payload, "sex × age")
    assert [one.attribute for one in payload.attributes] == ["sex", "age", "sex × age"]
    assert together.features == ("sex", "age")
    assert [(one.group, one.role) for one in together.groups][-1] == ("male × 36-75", "reference")
    assert together.groups[0].comparison == result.get("disparate_impact", "as_logged", "sex × age", together.groups[0].group)
    assert attribute(perturbed, "sex × age").groups == ()
    assert "not perturbed together" in str(attribute(perturbed, "sex × age").reason)


def test_a_numeric_range_is_broken_down_by_sub_range_in_the_logged_view(stage: Scene) -> None:
    stage.watch(monitor_of(SEX, AGE, min_records=80))
    stage.log(applicants(15, 25, 5, prefix="old"), NOON - 2 * HOUR)
    stage.log(applicants(15, 25, 5), NOON)

    shown = view(stage, stage.check(NOON).run, ViewKind.AS_LOGGED)
    young, older = (group(shown, "age", label) for label in ("18-35", "36-75"))
    assert [range_.label for range_ in older.sub_ranges] == ["36-39", "40-49", "50-59", "60-69", "70-75"]
    for range_ in (young, older):
        assert sum(part.records for part in range_.sub_ranges) == range_.records
        assert sum(part.favourable for part in range_.sub_ranges) == range_.outcomes.favourable
    nobody = young.sub_ranges[0]
    assert (nobody.label, nobody.share, nobody.reason) == ("18-19", None, "there is no record of 18-19")
    assert all(part.lower <= part.share <= part.upper for part in older.sub_ranges if part.share is not None)  # type: ignore[operator]
    assert group(shown, "sex", "female").sub_ranges == ()


def test_a_check_from_before_sub_ranges_were_counted_offers_none(stage: Scene) -> None:
    stage.watch(monitor_of(AGE))
    stage.log(applicants(20, 20, 5), NOON)
    result = stage.check(NOON)
    with stage.database.transaction() as session:
        session.connection().exec_driver_sql("UPDATE check_tables SET cells = cells - 'sub_ranges'")

    shown = view(stage, result.run, ViewKind.AS_LOGGED)
    assert all(one.sub_ranges == () for one in attribute(shown, "age").groups)


@pytest.mark.nightly
def test_a_check_that_was_carried_forward_shows_the_figures_and_says_from_which_check(stage: Scene) -> None:
    stage.log(applicants(20, 30, 6), NOON)
    first = stage.check(NOON, trigger=Trigger.SCHEDULE)
    stage.check(NOON + HOUR, trigger=Trigger.SCHEDULE)
    third = stage.check(NOON + 2 * HOUR, trigger=Trigger.SCHEDULE)

    for kind in (ViewKind.AS_LOGGED, ViewKind.OPENSCALE, ViewKind.MITIGATED):
        shown, origin = view(stage, third.run, kind), view(stage, first.run, kind)
        assert shown.check.carried_from == first.run.id
        assert shown.counted_span == first.run.span
        assert first.run.id in shown.notes[0]
        assert counts(group(shown, "sex", "female")) == counts(group(origin, "sex", "female"))
        assert shown.records == 50
    carried = group(view(stage, third.run, ViewKind.AS_LOGGED), "sex", "female").comparison
    assert carried is not None
    assert (carried.carried_forward, carried.at) == (True, NOON + 3 * HOUR)


def test_a_check_without_enough_records_says_so_in_every_view_of_records(stage: Scene) -> None:
    stage.log(applicants(4, 5), NOON)
    check = stage.check(NOON).run

    found = reasons(stage, check)
    told = "The check had too few records: There are 9 records up to the end of the span; 10 are needed."
    assert found["as_logged"] == found["openscale"] == found["mitigated"] == told
    shown = view(stage, check, ViewKind.AS_LOGGED)
    assert (shown.reason, shown.attributes, shown.records) == (told, (), 9)


def test_a_check_that_is_not_over_or_failed_says_so(stage: Scene, snapshot: SnapshotAssertion) -> None:
    stage.log(applicants(20, 20), NOON)
    span = stage.check(NOON).run.span
    running = stage.queue(replace(span, start=NOON + HOUR, end=NOON + 2 * HOUR))

    failed = replace(running, state=type(running.state).FAILED, reason="The endpoint did not answer.")
    assert says(reasons(stage, failed)["mitigated"], "failed", "The endpoint did not answer.")
    assert view(stage, failed, ViewKind.AS_LOGGED).reason == reasons(stage, failed)["mitigated"]
    assert [reasons(stage, check)["as_logged"] for check in (running, failed)] == snapshot


def test_without_an_endpoint_there_are_no_views_of_copies(database: Database) -> None:
    stage = scene(database, APPLICANT, monitor_of(), endpoint=None)
    stage.log(applicants(20, 20, 5), NOON)

    found = reasons(stage, stage.check(NOON).run)
    assert found["as_logged"] is None
    assert "no endpoint" in str(found["openscale"])
    assert "no endpoint" in str(found["mitigated"])


def test_a_monitor_that_picks_no_metric_of_copies_has_no_views_of_them_and_rates_come_from_the_table(
    stage: Scene, snapshot: SnapshotAssertion
) -> None:
    stage.watch(monitor_of(metrics=("disparate_impact", "statistical_parity_difference")))
    stage.log(applicants(20, 20, 5), NOON)
    only_impact = stage.check(NOON).run
    stage.watch(monitor_of(metrics=("accuracy",)))
    stage.log(applicants(20, 20, 5, prefix="b"), NOON + HOUR)
    no_copies = stage.check(NOON + HOUR).run

    women = group(view(stage, only_impact, ViewKind.AS_LOGGED), "sex", "female")
    assert (women.share, women.outcomes.interval_method) == (0.25, "wilson")
    counterfactual = attribute(view(stage, only_impact, ViewKind.OPENSCALE), "sex")
    assert counterfactual.perfect_equality is not None
    assert counterfactual.perfect_equality.value == 1.0
    women = group(view(stage, no_copies, ViewKind.AS_LOGGED), "sex", "female")
    assert (women.share, women.comparison) == (0.25, None)
    assert reasons(stage, no_copies) == snapshot


def test_training_data_are_shown_as_of_now_with_the_time_they_were_processed(stage: Scene, snapshot: SnapshotAssertion) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    check = stage.check(NOON).run
    before = reasons(stage, check)["training"]
    put_training(stage, ("female", 30, 70), ("male", 60, 40), ("other", 5, 5))

    shown = view(stage, check, ViewKind.TRAINING)
    women = group(shown, "sex", "female")
    assert before == "no training data were uploaded"
    assert reasons(stage, check)["training"] is None
    assert (shown.records, shown.processed_at) == (210, NOON)
    assert (counts(women), women.share) == ((30, 70, 100), 0.3)
    assert women.comparison is not None
    assert women.comparison.metric == "difference_in_proportions_of_labels"
    assert women.comparison.value == pytest.approx(0.3)
    assert line(shown) == "200 of 210 records counted; left out: sex unknown or in no group 10."
    assert says(shown.notes[0], "2026-03-02 12:00", "UTC")
    assert shown.notes == snapshot


def test_the_training_view_says_that_the_monitor_or_the_data_are_newer_than_the_check(stage: Scene, snapshot: SnapshotAssertion) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    check = stage.check(NOON).run
    assert check.finished_at is not None
    stage.watch(monitor_of(replace(SEX, threshold=0.7), AGE))
    put_training(stage, ("female", 30, 70), ("male", 60, 40), at=check.finished_at + HOUR)

    shown = view(stage, check, ViewKind.TRAINING)
    assert "which is after the check" in shown.notes[0]
    assert says(shown.notes[1], "version 2", "1")
    assert shown.notes[1] == snapshot
    assert attribute(shown, "age").groups == ()
    assert "upload the training data again" in str(attribute(shown, "age").reason)


@pytest.mark.parametrize("kind", list(ViewKind))
@pytest.mark.thorough
def test_a_view_takes_few_statements_however_many_groups_there_are(stage: Scene, kind: ViewKind) -> None:
    put_training(stage, ("female", 30, 70), ("male", 60, 40))
    stage.log(applicants(40, 40, 10), NOON)
    few = _statements(stage, stage.check(NOON).run, kind)
    stage.watch(monitor_of(SEX, AGE, intersections=(("sex", "age"),)))
    many = _statements(stage, stage.check(NOON).run, kind)

    assert few == many <= 7


def test_records_of_another_model_revision_are_in_the_logged_view_and_told_apart_in_the_perturbed_one(
    stage: Scene, snapshot: SnapshotAssertion
) -> None:
    stage.log(applicants(10, 10, 2, prefix="old"), NOON, revision="0")
    stage.log(applicants(20, 20, 5), NOON)
    check = stage.check(NOON).run

    payload, perturbed = (view(stage, check, kind) for kind in (ViewKind.AS_LOGGED, ViewKind.OPENSCALE))
    assert (group(payload, "sex", "female").records, payload.notes) == (30, ())
    assert group(perturbed, "sex", "female").original_records == 20
    assert line(perturbed) == "40 of 60 records counted; left out: not answered by the model 20 (female 10, male 10)."
    assert says(perturbed.notes[0], "20")
    assert perturbed.notes[0] == snapshot


def test_the_perturbed_view_of_an_attribute_that_the_model_does_not_see_says_that_it_is_as_payload(
    database: Database, server: ModelServer, snapshot: SnapshotAssertion
) -> None:
    region = Column(name="region", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
    watched = monitor_of(SEX, MonitoredAttribute(feature="region", monitored=("north",), reference=("south",)))
    stage = scene(database, APPLICANT, watched, endpoint=Endpoint(url=server.url), meta=(region,))
    stage.log(({**row, "region": "north" if no % 3 else "south"} for no, row in enumerate(applicants(20, 20, 5))), NOON)

    unseen, intervals = view(stage, stage.check(NOON).run, ViewKind.OPENSCALE).notes
    assert unseen == snapshot
    assert intervals == INTERVALS_DIFFER


def test_where_every_value_is_missing_all_records_stand_in_no_group_and_nothing_is_a_number(stage: Scene) -> None:
    stage.log(({**row, "sex": None} for row in applicants(20, 20, 5)), NOON)
    check = stage.check(NOON).run

    for kind in (ViewKind.AS_LOGGED, ViewKind.OPENSCALE, ViewKind.MITIGATED):
        shown = view(stage, check, kind)
        sex = attribute(shown, "sex")
        assert line(shown) == "0 of 40 records counted; left out: sex unknown 40."
        for one in (*sex.groups, *sex.pooled):
            assert (one.share, one.outcomes.lower, one.records) == (None, None, 0)
            assert one.outcomes.reason
        assert sex.worst is not None
        assert (sex.worst.value, sex.worst.verdict) == (None, "not_computable")


def test_weighted_training_data_are_shown_by_their_weights(stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    check = stage.check(NOON).run
    labels = Distribution((), (Cell((), 1, 90, 90.0, 90.0), Cell((), 0, 110, 110.0, 110.0)))
    weighted = (("female", 1, 30, 60.0, 120.0), ("female", 0, 70, 140.0, 280.0), ("male", 1, 60, 30.0, 15.0), ("male", 0, 40, 20.0, 10.0))
    of_sex = Distribution(("sex",), tuple(Cell((sex,), *counted) for sex, *counted in weighted))
    store_training(stage, TrainingData(summary(200, labels, NOON), (of_sex,), ()))

    women = group(view(stage, check, ViewKind.TRAINING), "sex", "female")
    assert counts(women) == (60.0, 140.0, 200.0)
    assert (women.share, women.original_records) == (0.3, 100)


def _statements(stage: Scene, check: CheckRun, kind: ViewKind) -> int:
    seen: list[str] = []

    def count(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        seen.append(statement)

    event.listen(stage.database.engine, "before_cursor_execute", count)
    view(stage, check, kind)
    event.remove(stage.database.engine, "before_cursor_execute", count)
    return len(seen)
