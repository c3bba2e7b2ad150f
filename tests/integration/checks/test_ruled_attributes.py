"""An attribute by a rule is measured as one whose column holds the groups, and the model is asked nothing about it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.database.engine import Database
from app.domain.check import DataSet, Measurement
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.group_rules import ALL_OTHERS, Condition, GroupRule, NumberInterval
from app.domain.monitor import Comparison, Monitor, MonitoredAttribute, OutcomeRule
from tests.models.serving import serve
from tests.scenes import NOON, scene

TEXT: dict[str, Any] = {"type": FieldType.STRING, "kind": FieldKind.CATEGORICAL}
COLUMNS = (
    Column(name="sex", **TEXT),
    Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
    Column(name="region", **TEXT),
)
GROUP = Column(name="group", **TEXT)
YOUNG_NORTH = GroupRule(
    ((Condition(feature="age", intervals=(NumberInterval(up_to=33.0),)), Condition(feature="region", values=("north",))),)
)
SEX = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
BY_RULE = MonitoredAttribute.of_rule("young of the north", YOUNG_NORTH)
BY_COLUMN = MonitoredAttribute(feature="group", monitored=(YOUNG_NORTH.label,), reference=(ALL_OTHERS,))
LOGGED = {DataSet.AS_LOGGED, DataSet.LABELLED}


class WomenOnly:
    """Approves every woman, and nobody else."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        return [(int(row[columns.index("sex")] == "female"), 0.5) for row in rows]


def records() -> list[dict[str, Any]]:
    """Applicants, some without a value, of whom the young of the north are approved half as often."""
    rng = np.random.default_rng(4)
    made: list[dict[str, Any]] = []
    for _ in range(400):
        age = None if rng.random() < 0.05 else int(rng.integers(18, 80))
        region = None if rng.random() < 0.05 else str(rng.choice(["north", "south"]))
        is_inside = age is not None and age <= 33 and region == "north"
        made.append(
            {
                "sex": str(rng.choice(["female", "male"])),
                "age": age,
                "region": region,
                "group": YOUNG_NORTH.label if is_inside else ALL_OTHERS,
                "prediction": int(rng.random() < (0.3 if is_inside else 0.6)),
                "probability": 0.5,
            }
        )
    return made


def measured(found: list[Measurement], attribute: str, *, of: set[DataSet]) -> list[Measurement]:
    """The figures of an attribute on these data, without its name."""
    own = [replace(figure, comparison=Comparison(())) for figure in found if figure.data in of and figure.attribute == attribute]
    return sorted(own, key=lambda one: (one.data, one.metric, one.scope, str(one.group)))


@pytest.mark.thorough
@pytest.mark.parametrize("attributes", [(SEX, BY_RULE), (BY_RULE, SEX)])
def test_figures_of_a_rule_equal_those_of_a_column_with_its_groups(database: Database, attributes: tuple[MonitoredAttribute, ...]) -> None:
    outcomes = OutcomeRule(favourable=(1,), unfavourable=(0,))
    rule = Monitor(outcomes=outcomes, attributes=attributes, intersections=((BY_RULE.feature, "sex"),), min_records=10)
    column = replace(
        rule,
        attributes=tuple(BY_COLUMN if attribute is BY_RULE else attribute for attribute in attributes),
        intersections=(("group", "sex"),),
    )
    with serve(WomenOnly()) as server:
        endpoint = Endpoint(url=server.url)
        by_rule = scene(database, COLUMNS, rule, endpoint=endpoint)
        by_column = scene(database, COLUMNS, column, endpoint=endpoint, meta=(GROUP,), deployment_id="b-model")
        for stage in (by_rule, by_column):
            stage.log(records(), NOON)
            stage.label([(f"r{number}", number % 3 == 0) for number in range(1, 200)], NOON)
        found, expected = by_rule.check(NOON).measurements, by_column.check(NOON).measurements

    for name, other in ((BY_RULE.feature, "group"), (f"{BY_RULE.feature} × sex", "group × sex")):
        own = measured(found, name, of=LOGGED)
        assert own == measured(expected, other, of=LOGGED)
        assert len(own) > 5
    assert {figure.data for figure in found if figure.attribute == BY_RULE.feature} <= LOGGED
    assert measured(found, "sex", of=set(DataSet)) == measured(expected, "sex", of=set(DataSet))
