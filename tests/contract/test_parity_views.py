"""The views of a check over real data, the model served over HTTP, against the golden values of OpenScale's definitions."""

import json
from typing import Any

import pytest

from app.base.values import Range
from app.checks.views.build_views import build_check_view
from app.checks.views.view_shapes import AttributeView, CheckView, ViewKind
from app.database.engine import Database
from app.domain.monitor import MonitoredAttribute
from tests.builders.golden_scenes import attribute_of, rows_of, watched
from tests.golden import golden
from tests.models.logistic import LogisticModel
from tests.models.serving import serve
from tests.scenes import NOON, Result, Scene

EXACT = 1e-9
POOLED = "all monitored pooled"


@pytest.mark.parametrize("case", ["A1_adult", "A2_openscale_credit_risk"])
def test_counts_shares_and_disparate_impact_of_payload_and_counterfactual_data_are_golden(database: Database, case: str) -> None:
    expected = json.loads((golden(case) / "openscale.json").read_text())
    stage, result = _checked(database, case, tuple(attribute_of(entry["config"]) for entry in expected.values()))

    payload, perturbed = (_views(stage, result, kind) for kind in (ViewKind.AS_LOGGED, ViewKind.OPENSCALE))
    assert payload.keys() == perturbed.keys() == expected.keys()
    for feature, figures in expected.items():
        _expect_payload(payload[feature], figures["payload"])
        _expect_counterfactual(perturbed[feature], figures.get("balanced", {}).get("monitored", {}))


def test_the_sub_ranges_of_an_age_hold_the_records_that_lie_in_them(database: Database) -> None:
    attribute = MonitoredAttribute(feature="Age", monitored=(Range(18, 25),), reference=(Range(26, 75),))
    stage, result = _checked(database, "A2_openscale_credit_risk", (attribute,))

    rows = rows_of(stage, "A2_openscale_credit_risk")
    groups = _views(stage, result, ViewKind.AS_LOGGED)["Age"].groups
    found = {part.label: (part.favourable, part.records) for group in groups for part in group.sub_ranges}
    assert list(found) == ["18-19", "20-21", "22-23", "24-25", "26-29", "30-39", "40-49", "50-59", "60-69", "70-75"]
    for label, counted in found.items():
        low, high = map(int, label.split("-"))
        inside = [row["prediction"] for row in rows if low <= row["Age"] <= high]
        assert counted == (sum(inside), len(inside))


def _checked(database: Database, case: str, attributes: tuple[MonitoredAttribute, ...]) -> tuple[Scene, Result]:
    with serve(LogisticModel.of(golden(case))) as server:
        stage = watched(database, case, attributes, server)
        stage.log(rows_of(stage, case), NOON)
        return stage, stage.check(NOON)


def _views(stage: Scene, result: Result, kind: ViewKind) -> dict[str, AttributeView]:
    with stage.database.transaction() as session:
        found: CheckView = build_check_view(session, stage.deployment, result.run, kind)
    assert found.reason is None
    return {attribute.attribute: attribute for attribute in found.attributes}


def _expect_payload(view: AttributeView, expected: dict[str, Any]) -> None:
    shares = {group.group: group for group in view.groups} | {POOLED: view.pooled[0]}
    for label, figures in expected["monitored"].items():
        one = shares[label]
        assert (one.outcomes.favourable, one.records) == (figures["favorable"], figures["n"])
        assert one.share == pytest.approx(figures["rate"], abs=EXACT)
        assert one.comparison is not None
        assert one.comparison.value == pytest.approx(figures["disparate_impact"], abs=EXACT)
    reference = view.pooled[1]
    assert (reference.outcomes.favourable, reference.records) == (expected["reference"]["favorable"], expected["reference"]["n"])
    assert reference.share == pytest.approx(expected["reference"]["rate"], abs=EXACT)


def _expect_counterfactual(view: AttributeView, expected: dict[str, Any]) -> None:
    shares = {group.group: group for group in view.groups}
    for label, figures in expected.items():
        equality, one = figures["perfect_equality_all_monitored"], shares[label]
        assert (one.outcomes.favourable, one.records) == (figures["monitored_favorable"], figures["monitored_n"])
        assert one.share == pytest.approx(figures["monitored_rate"], abs=EXACT)
        assert one.openscale_fairness is not None
        assert one.openscale_fairness.value == pytest.approx(equality["fairness"], abs=EXACT)
        assert view.perfect_equality is not None
        assert view.perfect_equality.value == pytest.approx(equality["rate"], abs=EXACT)
        # Perfect equality is the share of the reference group as a whole.
        assert (view.pooled[1].outcomes.favourable, view.pooled[1].records) == (equality["favorable"], equality["n"])
