"""Which correlated features a monitor may list."""

import pytest

from app.domain.deployment import Column, FieldKind, FieldType, ProblemType, RecordSchema
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from app.domain.monitor_rules import list_monitor_problems


def text_column(name: str) -> Column:
    return Column(name=name, type=FieldType.STRING, kind=FieldKind.CATEGORICAL)


SCHEMA = RecordSchema(version=1, features=(text_column("role"), text_column("job")), meta=(text_column("sex"), text_column("race")))


def problems(feature: str, *correlated: str) -> list[tuple[str, str]]:
    attribute = MonitoredAttribute(feature=feature, monitored=("a",), reference=("b",), correlated_features=correlated)
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(attribute,))
    found = list_monitor_problems(monitor, schema=SCHEMA, problem_type=ProblemType.BINARY, known_metrics=())
    return [(problem.field, problem.message) for problem in found]


def test_features_may_be_listed_for_a_meta_field() -> None:
    assert problems("sex", "role", "job") == []
    assert problems("role") == []


@pytest.mark.parametrize(
    ("feature", "correlated", "place", "message"),
    [
        ("role", ("job",), "", "are for meta fields; 'role' is a feature, which copies change directly"),
        ("sex", ("race",), "[0]", "'race' is not a feature of the deployment"),
        ("sex", ("role", "role"), "[1]", "'role' is listed twice"),
        ("sex", ("role", "job", "x"), "", "must list at most the 2 features there are, found 3"),
    ],
)
def test_what_may_not_be_listed_is_named(feature: str, correlated: tuple[str, ...], place: str, message: str) -> None:
    assert problems(feature, *correlated) == [(f"attributes[0].correlated_features{place}", message)]
