"""The mitigated view: the same records before and after mitigation, side by side."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from app.checks.views.build_views import build_check_view, list_views
from app.checks.views.logged_view import INTERVALS_DIFFER
from app.checks.views.view_shapes import AttributeView, CheckView, GroupShare, ViewKind
from app.database.engine import Database
from app.deployments.mitigation_queries import store_mitigation_settings
from app.domain.check import DataSet
from app.domain.deployment import Endpoint
from app.domain.mitigation import ONLY_DIRECT, MitigationSettings
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from tests.builders.lender import COLUMNS, HOUSING, UNFAIR, everybody
from tests.builders.page_words import says
from tests.models.serving import ModelServer, serve
from tests.scenes import NOON, Result, Scene, scene


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serve(UNFAIR) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer) -> Scene:
    """A lender that is unfair to tenants, watched over a window of records in which nobody is missing."""
    outcomes = OutcomeRule(favourable=(1,), unfavourable=(0,))
    monitor = Monitor(outcomes=outcomes, attributes=(HOUSING,), min_records=20, seed=7)
    return scene(database, COLUMNS, monitor, endpoint=Endpoint(url=server.url))


def use(stage: Scene, settings: MitigationSettings) -> None:
    with stage.database.transaction() as session:
        store_mitigation_settings(session, stage.deployment.no, settings)


def view(stage: Scene, result: Result, kind: ViewKind = ViewKind.MITIGATED) -> CheckView:
    with stage.database.transaction() as session:
        return build_check_view(session, stage.deployment, result.run, kind)


def group(view: CheckView, label: str | None, role: str = "monitored", *, counterfactual: bool = False) -> GroupShare:
    (attribute,) = view.counterfactual if counterfactual else view.attributes
    groups = attribute.groups if label is not None else attribute.pooled
    return next(one for one in groups if (one.group, one.role) == (label, role))


def test_counts_shares_and_disparate_impact_stand_side_by_side(stage: Scene) -> None:
    stage.log(everybody(), NOON)
    result = stage.check(NOON)

    shown = view(stage, result)
    tenants = group(shown, "rent")
    # Of 100 tenants 40 are accepted, and 9 more by mitigation.
    assert (tenants.outcomes.favourable, tenants.outcomes.unfavourable, tenants.share) == (40, 60, 0.4)
    assert tenants.after is not None
    assert (tenants.after.favourable, tenants.after.share) == (49, 0.49)
    assert tenants.comparison == result.get("disparate_impact_before", "mitigated", "housing", "rent")
    assert tenants.comparison_after == result.get("disparate_impact_after", "mitigated", "housing", "rent")
    assert shown.attributes[0].worst_after == result.get("disparate_impact_after", "mitigated", "housing", scope="worst")
    assert (shown.mitigation_mode, shown.records) == ("lift_only", 287)
    assert (shown.attributes[0].records or {})["counted"] == 280


def test_what_is_changed_is_counted_and_the_caution_said(stage: Scene) -> None:
    stage.log(everybody(), NOON)

    shown = view(stage, stage.check(NOON))
    found = shown.attributes[0].mitigated
    assert found is not None
    assert (found.monitored, found.changed, found.lifted, found.lowered, found.undecided) == (200, 28, 28, 0, 0)
    assert ONLY_DIRECT in shown.notes


def test_reference_records_keep_their_outcomes(stage: Scene) -> None:
    stage.log(everybody(), NOON)

    owners = group(view(stage, stage.check(NOON)), None, "reference")
    assert owners.after is not None
    assert (owners.after.favourable, owners.after.records) == (owners.outcomes.favourable, owners.outcomes.records)
    assert owners.comparison is None


def test_counterfactual_data_stand_next_to_it_and_before_mitigation_they_are_those_of_counterfactual_data(stage: Scene) -> None:
    stage.log(everybody(), NOON)
    result = stage.check(NOON)

    mitigated = view(stage, result)
    for role, labels in (("monitored", ("rent", "free")), ("reference", ("own", "family"))):
        for label in labels:
            before = group(mitigated, label, role, counterfactual=True).outcomes
            assert before.figure == result.get("favourable_rate", "counterfactual", "housing", label)
            assert before.favourable == pytest.approx(before.share * before.records)  # type: ignore[operator]
    tenants = group(mitigated, "rent", counterfactual=True)
    assert tenants.comparison_after == result.get("counterfactual_disparate_impact_after", "mitigated", "housing", "rent")
    assert result.get("disparate_impact_after", "mitigated", "housing", "rent").verdict is not None
    assert tenants.comparison_after.verdict is not None
    assert tenants.comparison_after.details.monitored_counts["favourable"] == tenants.after.favourable  # type: ignore[union-attr]
    assert tenants.comparison_after.details.monitored_counts["n"] == tenants.after.records  # type: ignore[union-attr]
    assert mitigated.counterfactual[0].perfect_equality is None  # it is of records and copies, each counted as one
    assert mitigated.counterfactual[0].perturbed_records == 2 * 80 + 2 * 200


@pytest.mark.thorough
def test_accuracy_before_and_after_is_there_with_labels_and_says_why_not_without(stage: Scene) -> None:
    rows = [{**row, "id": f"r{place}"} for place, row in enumerate(everybody())]
    stage.log(rows, NOON)
    without = view(stage, stage.check(NOON))
    stage.label([(row["id"], 1) for row in rows[:100]], NOON)
    result = stage.check(NOON)

    overall = view(stage, result).attributes[0].accuracy[0]
    assert without.attributes[0].accuracy[0].before.reason == "no labelled record is there"
    assert (overall.before.scope, overall.before.value) == ("overall", 0.4)
    assert overall.after is not None
    assert overall.after.value == 0.49
    assert overall.change is not None
    assert overall.change == result.get("accuracy_change", "mitigated_labelled", "housing", scope="overall")
    assert [accuracy.before.metric for accuracy in view(stage, result).attributes[0].accuracy if accuracy.before.scope == "overall"] == [
        "accuracy_before",
        "balanced_accuracy_before",
    ]


def test_with_mitigation_switched_off_the_view_is_not_there_and_says_why(stage: Scene) -> None:
    stage.log(everybody(), NOON)
    use(stage, MitigationSettings(attributes=()))
    result = stage.check(NOON)

    with stage.database.transaction() as session:
        reasons = {state.kind: state.reason for state in list_views(session, stage.deployment, result.run)}
    told = "the mitigation that was set for the deployment covers none of the monitored attributes"
    assert reasons[ViewKind.MITIGATED] == view(stage, result).reason == told
    assert view(stage, result).attributes == ()
    assert reasons[ViewKind.OPENSCALE] is None


def test_an_attribute_that_is_not_mitigated_and_an_intersection_say_so(stage: Scene, snapshot: SnapshotAssertion) -> None:
    rich = MonitoredAttribute(feature="income", monitored=(90.5,), reference=(91.5,))
    stage.watch(replace(stage.monitor(), attributes=(HOUSING, rich), intersections=(("housing", "income"),)))
    use(stage, MitigationSettings(attributes=("housing",)))
    stage.log(everybody(), NOON)

    shown = view(stage, stage.check(NOON))
    assert [attribute.attribute for attribute in shown.attributes] == ["housing", "income", "housing × income"]
    texts = [attribute.reason for attribute in shown.attributes]
    assert says(texts[1], "income")
    assert texts == snapshot
    assert [shown_attribute.attribute for shown_attribute in shown.counterfactual] == ["housing"]


def test_the_rate_after_on_counterfactual_data_has_no_figure_that_speaks_of_before(stage: Scene) -> None:
    stage.log(everybody(), NOON)

    tenants = group(view(stage, stage.check(NOON)), "rent", counterfactual=True)
    assert tenants.outcomes.figure is not None
    assert tenants.outcomes.figure.data is DataSet.COUNTERFACTUAL
    assert tenants.after is not None
    assert tenants.after.figure is None


@pytest.mark.thorough
def test_intervals_of_shares_with_copies_are_said_to_differ_only_where_they_do(stage: Scene) -> None:
    stage.log(everybody(), NOON)
    result = stage.check(NOON)

    def methods(views: tuple[AttributeView, ...]) -> set[str | None]:
        return {one.outcomes.interval_method for view in views for one in view.groups}

    perturbed, mitigated = view(stage, result, ViewKind.OPENSCALE), view(stage, result)
    assert methods(perturbed.attributes) == {"resampling"}
    assert methods(mitigated.counterfactual).isdisjoint({"resampling", None})
    assert (INTERVALS_DIFFER in perturbed.notes, INTERVALS_DIFFER in mitigated.notes) == (True, False)
