from dataclasses import replace

import pytest

from app.base.values import GroupValue, Range
from app.deployments.monitor.bodies import AttributeIn
from app.domain.deployment import Column, FieldKind, FieldType, ProblemType, RecordSchema
from app.domain.monitor import Limits, Monitor, MonitoredAttribute, OutcomeRule
from app.domain.monitor_rules import list_monitor_problems

SCHEMA = RecordSchema(
    version=1,
    features=(
        Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
        Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
        Column(name="income", type=FieldType.NUMBER, kind=FieldKind.NUMERIC),
        Column(name="owner", type=FieldType.BOOLEAN, kind=FieldKind.CATEGORICAL),
        Column(name="code", type=FieldType.INTEGER, kind=FieldKind.CATEGORICAL),
    ),
    meta=(Column(name="race", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),),
)
SEX = MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",))
AGE = MonitoredAttribute(feature="age", monitored=(Range(18, 25),), reference=(Range(26, 75),))
MONITOR = Monitor(outcomes=OutcomeRule(favourable=("yes",), unfavourable=("no",)), attributes=(SEX, AGE), intersections=(("sex", "age"),))


def fields(monitor: Monitor, problem_type: ProblemType = ProblemType.BINARY) -> list[str]:
    found = list_monitor_problems(
        monitor,
        schema=SCHEMA,
        problem_type=problem_type,
        known_metrics={"disparate_impact", "flip_rate", "conditional"},
        conditional_metrics={"conditional"},
    )
    return sorted({problem.field for problem in found})


def attribute(feature: str, monitored: tuple[GroupValue, ...], reference: tuple[GroupValue, ...] | None) -> Monitor:
    chosen = MonitoredAttribute(feature=feature, monitored=monitored, reference=reference)
    return replace(MONITOR, attributes=(chosen,), intersections=())


def together(of_sex: tuple[str, ...], of_race: tuple[str, ...]) -> Monitor:
    members = tuple(
        MonitoredAttribute(feature=feature, monitored=values[:1], reference=values[1:])
        for feature, values in (("sex", of_sex), ("race", of_race))
    )
    return replace(MONITOR, attributes=members, intersections=(("sex", "race"),))


def sex(**changes: object) -> Monitor:
    return replace(MONITOR, attributes=(replace(SEX, **changes),), intersections=())  # type: ignore[arg-type]


def outcomes(favourable: tuple[GroupValue, ...], unfavourable: tuple[GroupValue, ...]) -> Monitor:
    return replace(MONITOR, outcomes=OutcomeRule(favourable=favourable, unfavourable=unfavourable))


def test_good_configurations_have_no_problem() -> None:
    assert fields(MONITOR) == []
    assert fields(attribute("sex", ("female",), None)) == []
    assert fields(attribute("race", ("black", "other"), ("white",))) == []
    assert fields(attribute("owner", (False,), (True,))) == []
    assert fields(attribute("code", (1, 2.0), (3,))) == []
    assert fields(attribute("income", (Range(0, 99.9),), (Range(100, 1e9),))) == []
    assert fields(replace(MONITOR, metrics=("flip_rate", "conditional"), strata="race")) == []
    assert fields(replace(MONITOR, metrics=("flip_rate",))) == []
    assert fields(replace(MONITOR, strata="income")) == []
    assert fields(replace(MONITOR, strata="age")) == []
    assert fields(sex(upper_threshold=1.25, metric_limits=(("flip_rate", Limits(upper=0.1)),))) == []
    assert fields(outcomes((Range(200_000, 500_000),), (Range(35_000, 100_000),)), ProblemType.REGRESSION) == []


@pytest.mark.parametrize(
    ("monitor", "field"),
    [
        (attribute("height", ("tall",), ("small",)), "attributes[0].feature"),
        (replace(MONITOR, attributes=(SEX, SEX), intersections=()), "attributes[1].feature"),
        (replace(MONITOR, attributes=(), intersections=()), "attributes"),
        (replace(MONITOR, metrics=()), "metrics"),
        (
            replace(
                MONITOR,
                attributes=(
                    replace(SEX, metric_limits=(("flip_rate", Limits(upper=-0.2)),)),
                    replace(AGE, metric_limits=(("flip_rate", Limits(lower=0.1)),)),
                ),
            ),
            "intersections[0]",
        ),
        (replace(MONITOR, metrics=("flip_rate", "flip_rate")), "metrics[1]"),
        (replace(MONITOR, metrics=("flip_rate", "fairness")), "metrics[1]"),
        (replace(MONITOR, metrics=("fairness",) * 4), "metrics"),
        (replace(MONITOR, metrics=("conditional",)), "strata"),
        (replace(MONITOR, strata="height"), "strata"),
        (replace(MONITOR, strata=""), "strata"),
        (attribute("sex", (), ("male",)), "attributes[0].monitored"),
        (attribute("sex", ("female",), ()), "attributes[0].reference"),
        (attribute("sex", ("female", " "), ("male",)), "attributes[0].monitored[1]"),
        (attribute("sex", ("",), ("male",)), "attributes[0].monitored[0]"),
        (attribute("sex", ("fe\0male",), ("male",)), "attributes[0].monitored[0]"),
        (attribute("sex", ("female", "female"), ("male",)), "attributes[0].monitored[1]"),
        (attribute("code", (1, 1.0), (2,)), "attributes[0].monitored[1]"),
        (attribute("sex", ("female",), ("male", "female")), "attributes[0].reference[1]"),
        (attribute("code", (1,), (1.0,)), "attributes[0].reference[0]"),
        (attribute("age", (Range(25, 18),), (Range(26, 75),)), "attributes[0].monitored[0]"),
        (attribute("age", (Range(18.2, 18.8),), (Range(26, 75),)), "attributes[0].monitored[0]"),
        (attribute("age", (Range(18, 25), Range(20, 22)), (Range(26, 75),)), "attributes[0].monitored[1]"),
        (attribute("age", (Range(18, 25), Range(25, 25.5)), (Range(26, 75),)), "attributes[0].monitored[1]"),
        (attribute("age", (Range(18, 26),), (Range(26, 75),)), "attributes[0].reference[0]"),
        (attribute("age", (Range(18, 25),), None), "attributes[0].reference"),
        (attribute("age", (Range(18, float("inf")),), (Range(5, 7),)), "attributes[0].monitored[0]"),
        (attribute("income", (float("nan"),), (1.0,)), "attributes[0].monitored[0]"),
        (attribute("code", (2**63,), (1,)), "attributes[0].monitored[0]"),
        (attribute("age", (18.5,), (20,)), "attributes[0].monitored[0]"),
        (together(("a × b", "a"), ("c", "b × c")), "intersections[0]"),
        (together(("a ×", "a"), ("b", "× b")), "intersections[0]"),
        (attribute("code", tuple(range(101)), (-1,)), "attributes[0].monitored"),
        (attribute("code", (-1,), tuple(range(101))), "attributes[0].reference"),
        (replace(MONITOR, intersections=(("sex", "age"),) * 21), "intersections"),
        (outcomes(tuple(map(str, range(1_001))), ("no",)), "favourable"),
        (outcomes(("yes",), tuple(map(str, range(1_001)))), "unfavourable"),
        (sex(threshold=0.0), "attributes[0].threshold"),
        (sex(threshold=1.01), "attributes[0].threshold"),
        (sex(threshold=80), "attributes[0].threshold"),
        (sex(threshold=float("nan")), "attributes[0].threshold"),
        (sex(upper_threshold=0.99), "attributes[0].upper_threshold"),
        (sex(upper_threshold=float("inf")), "attributes[0].upper_threshold"),
        (sex(metric_limits=(("charm", Limits(lower=0)),)), "attributes[0].metric_limits.charm"),
        (sex(metric_limits=(("flip_rate", Limits()),)), "attributes[0].metric_limits.flip_rate"),
        (sex(metric_limits=(("flip_rate", Limits(lower=2, upper=1)),)), "attributes[0].metric_limits.flip_rate"),
        (sex(metric_limits=(("flip_rate", Limits(upper=float("nan"))),)), "attributes[0].metric_limits.flip_rate"),
        (replace(MONITOR, intersections=(("sex",),)), "intersections[0]"),
        (replace(MONITOR, intersections=(("sex", "sex"),)), "intersections[0]"),
        (replace(MONITOR, intersections=(("sex", "race"),)), "intersections[0][1]"),
        (replace(MONITOR, intersections=(("sex", "age"), ("age", "sex"))), "intersections[1]"),
        (replace(MONITOR, min_records=0), "min_records"),
        (replace(MONITOR, min_records=200, max_records=199), "max_records"),
        (replace(MONITOR, max_records=1_000_001), "max_records"),
        (replace(MONITOR, draws=0), "draws"),
        (replace(MONITOR, draws=11), "draws"),
        (replace(MONITOR, seed=2**63), "seed"),
        (outcomes((), ("no",)), "favourable"),
        (outcomes(("yes",), ()), "unfavourable"),
        (outcomes(("yes",), ("no", "yes")), "unfavourable[1]"),
        (outcomes((1,), (1.0,)), "unfavourable[0]"),
        (outcomes(("yes", "yes"), ("no",)), "favourable[1]"),
        (outcomes((" ",), ("no",)), "favourable[0]"),
        (outcomes(("yes",), (0,)), "unfavourable"),
        (outcomes(("yes",), (Range(0, 1),)), "unfavourable[0]"),
    ],
)
def test_each_refusal_names_its_field(monitor: Monitor, field: str) -> None:
    assert fields(monitor) == [field]


@pytest.mark.parametrize(("threshold", "meant"), [(80, "80; 80 % is 0.8"), (49, "49; 49 % is 0.49"), (-1, "-1")])
def test_a_threshold_in_percent_is_one_problem(threshold: float, meant: str) -> None:
    body = {"feature": "sex", "monitored": ["female"], "reference": ["male"], "threshold": threshold}
    monitor = replace(MONITOR, attributes=(AttributeIn.model_validate(body).to_domain(),), intersections=())

    found = list_monitor_problems(monitor, schema=SCHEMA, problem_type=ProblemType.BINARY, known_metrics=(), conditional_metrics=())

    assert [(problem.field, problem.message) for problem in found] == [
        ("attributes[0].threshold", f"must be above 0 and at most 1, found {meant}")
    ]


@pytest.mark.parametrize(
    ("monitor", "expected"),
    [
        (attribute("sex", (1,), ("male",)), ["attributes[0].monitored", "attributes[0].monitored[0]"]),
        (attribute("owner", ("true",), (False,)), ["attributes[0].monitored", "attributes[0].monitored[0]"]),
        (attribute("code", (True,), (1,)), ["attributes[0].monitored", "attributes[0].monitored[0]"]),
        (attribute("age", (Range(18, 25), 30), (Range(31, 75),)), ["attributes[0].monitored"]),
        (attribute("age", (18,), (Range(19, 75),)), ["attributes[0].monitored"]),
        (attribute("code", (Range(1, 2),), (Range(3, 4),)), ["attributes[0].monitored[0]", "attributes[0].reference[0]"]),
    ],
)
def test_the_form_of_values_must_be_one_and_that_of_the_column(monitor: Monitor, expected: list[str]) -> None:
    assert fields(monitor) == expected


def test_a_regression_wants_ranges_that_do_not_meet() -> None:
    assert fields(outcomes((5,), (Range(0, 1),)), ProblemType.REGRESSION) == ["favourable[0]"]
    assert fields(outcomes((Range(2, 3),), (Range(0, 2),)), ProblemType.REGRESSION) == ["unfavourable[0]"]


def test_very_long_lists_end_in_a_refusal_soon() -> None:
    ranges = tuple(Range(number, number + 0.5) for number in range(50_000))

    assert fields(attribute("age", ranges, (Range(-2, -1),))) == ["attributes[0].monitored"]
    assert fields(replace(MONITOR, attributes=(SEX,) * 101, intersections=())) == ["attributes"]


def test_lists_of_the_greatest_length_are_accepted() -> None:
    many = tuple(map(str, range(1_000)))

    assert fields(attribute("code", tuple(range(100)), tuple(range(100, 200)))) == []
    assert fields(outcomes(many, ("no",))) == []
    assert fields(attribute("sex", ("male×female",), ("male",))) == []


@pytest.mark.parametrize("monitored", ["female × young", "× old", "×"])
def test_values_may_hold_the_sign_that_joins_where_no_two_groups_are_called_alike(monitored: str) -> None:
    assert fields(attribute("sex", (monitored,), ("male",))) == []
    assert fields(together((monitored, "male"), ("1", "2"))) == []


def test_the_groups_of_an_intersection_are_counted_together() -> None:
    code = MonitoredAttribute(feature="code", monitored=tuple(range(40)), reference=tuple(range(40, 50)))
    age = MonitoredAttribute(feature="age", monitored=tuple(range(19)), reference=(19,))
    fitting = replace(MONITOR, attributes=(code, age), intersections=(("code", "age"),))
    sex = replace(SEX, monitored=("female",), reference=None)

    found = list_monitor_problems(
        replace(fitting, attributes=(code, replace(age, reference=(19, 20)))),
        schema=SCHEMA,
        problem_type=ProblemType.BINARY,
        known_metrics=(),
    )

    assert fields(fitting) == []
    assert fields(replace(fitting, attributes=(code, age, sex), intersections=(("code", "age", "sex"),))) == []
    assert [(problem.field, problem.message) for problem in found] == [
        (
            "intersections[0]",
            "has 1,050 groups (50 of code × 21 of age) where at most 1,000 are measured; list fewer values or ranges for its attributes",
        )
    ]
