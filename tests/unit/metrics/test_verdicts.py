from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.statistics.catalogue import CATALOGUE
from app.statistics.catalogue.metric import RateComparison
from app.statistics.intervals.intervals import Z
from app.statistics.intervals.verdicts import MINIMUM_GROUP_SIZE, Limits, Measured, Undefined, Value, Verdict, judge_number
from app.statistics.measures.worst_group import judge, mirror_limits


def number(value: float, lower: float | None, upper: float | None) -> Value:
    return Value(value, lower, upper, "by hand", 1000)


@pytest.mark.parametrize(
    ("value", "lower_limit", "upper_limit", "expected"),
    [
        (number(0.9, 0.8, 1.1), 0.8, None, Verdict.FAIR),
        (number(0.9, 0.56 / 0.7, 1.1), 0.8, None, Verdict.FAIR),
        (number(0.9, 0.7999999, 1.1), 0.8, None, Verdict.UNDECIDED),
        (number(0.83, 0.7, 0.98), 0.8, None, Verdict.UNDECIDED),
        (number(0.8, 0.7, 0.9), 0.8, None, Verdict.UNDECIDED),
        (number(0.56 / 0.7, 0.7, 0.9), 0.8, None, Verdict.UNDECIDED),
        (number(0.9, None, 0.95), 0.8, None, Verdict.UNDECIDED),
        (number(0.9, None, 0.95), None, 1.25, Verdict.FAIR),
        (number(0.9, 0.85, None), 0.8, 1.25, Verdict.UNDECIDED),
        (number(0.9, 0.85, None), 0.8, None, Verdict.FAIR),
        (number(1.0, 0.7, 1.4), 0.8, 1.25, Verdict.UNDECIDED),
        (number(1.0, 1.0, 1.0), 0.8, 1.25, Verdict.FAIR),
        (number(0.7999999, 0.7, 0.9), 0.8, None, Verdict.SUSPECTED),
        (number(0.75, 0.7, 0.8), 0.8, None, Verdict.SUSPECTED),
        (number(0.75, 0.7, 0.79), 0.8, None, Verdict.UNFAIR),
        (number(0.75, 0.7, None), 0.8, None, Verdict.SUSPECTED),
        (number(1.5, 1.3, 1.7), 0.8, None, Verdict.FAIR),
        (number(1.5, 1.3, 1.7), 0.8, 1.25, Verdict.UNFAIR),
        (number(1.5, 1.3, None), 0.8, 1.25, Verdict.UNFAIR),
        (number(1.5, 1.2, 1.7), 0.8, 1.25, Verdict.SUSPECTED),
        (number(1.25, 1.1, 1.4), 0.8, 1.25, Verdict.UNDECIDED),
        (number(1.1, 0.9, 1.25), 0.8, 1.25, Verdict.FAIR),
        (number(0.5, 0.2, 1.6), 0.8, 1.25, Verdict.SUSPECTED),
        (number(-0.2, -0.3, -0.15), -0.1, 0.1, Verdict.UNFAIR),
        (number(0.0, 0.0, 0.0), 0.0, 0.0, Verdict.FAIR),
    ],
)
def test_the_verdict_follows_from_the_limits_and_the_interval(
    value: Value, lower_limit: float | None, upper_limit: float | None, expected: Verdict
) -> None:
    judged = judge_number(value, lower_limit=lower_limit, upper_limit=upper_limit, smallest_group=500)

    assert judged == expected


@st.composite
def numbers_and_limits(draw: st.DrawFn) -> tuple[Value, Limits]:
    """Ends and limits at distances that no rounding joins, on a grid; an end or a limit may be absent."""
    lower, value, upper = sorted(draw(st.tuples(*[st.integers(-20, 20)] * 3)))
    limits = draw(st.sampled_from([(-8, 8), (-8, None), (None, 8), (0, 0)]))
    ends = [draw(st.sampled_from([end, None])) for end in (lower, upper)]
    low, high = (None if end is None else end / 10 for end in ends)
    return number(value / 10, low, high), (
        limits[0] if limits[0] is None else limits[0] / 10,
        limits[1] if limits[1] is None else limits[1] / 10,
    )


@given(numbers_and_limits())
def test_the_verdict_is_what_the_points_of_the_interval_say(drawn: tuple[Value, Limits]) -> None:
    given_number, (lower, upper) = drawn
    low = -1000 if given_number.lower is None else round(10 * given_number.lower)
    high = 1000 if given_number.upper is None else round(10 * given_number.upper)

    def is_fair(tenths: int) -> bool:
        return (lower is None or tenths >= round(10 * lower)) and (upper is None or tenths <= round(10 * upper))

    points = {is_fair(tenths) for tenths in range(low, high + 1)}
    expected = {
        (True, True): Verdict.FAIR,
        (True, False): Verdict.UNDECIDED,
        (False, False): Verdict.SUSPECTED,
        (False, True): Verdict.UNFAIR,
    }[is_fair(round(10 * given_number.value)), len(points) == 1]
    assert judge_number(given_number, lower_limit=lower, upper_limit=upper, smallest_group=500) == expected


@given(numbers_and_limits())
def test_without_the_mirror_image_only_fair_differs(drawn: tuple[Value, Limits]) -> None:
    given_number, limits = drawn
    assume(limits != (0.0, 0.0))
    row = CATALOGUE["statistical_parity_difference"]
    judged = judge_number(given_number, lower_limit=limits[0], upper_limit=limits[1], smallest_group=500)

    mirrored = judge(Measured(metric=row.key, scope="group", group="b", number=given_number, smallest_group=500), row, limits)
    assert mirrored == judged or (judged, mirrored) == (Verdict.FAIR, Verdict.UNWATCHED)
    assert (mirrored == Verdict.UNWATCHED) == (judged == Verdict.FAIR and is_beyond(given_number.value, mirror_limits(row, limits)))


def is_beyond(value: float, mirror: Limits) -> bool:
    lower, upper = mirror
    return (lower is not None and value < lower) or (upper is not None and value > upper)


@pytest.mark.parametrize(("value", "expected"), [(0.79, Verdict.UNFAIR), (0.81, Verdict.FAIR)])
def test_the_fairness_of_openscale_is_judged_by_its_value_alone(value: float, expected: Verdict) -> None:
    row = CATALOGUE["openscale_fairness"]
    measured = Measured(metric=row.key, scope="group", group="b", number=number(value, 0.5, 1.2), smallest_group=500)

    assert judge(measured, row, (0.8, 1.25)) == expected


def test_without_a_limit_there_is_no_verdict() -> None:
    judged = judge_number(number(0.1, 0.0, 0.2), lower_limit=None, upper_limit=None, smallest_group=500)

    assert judged is None


def test_an_undefined_number_is_not_computable_however_small_the_group() -> None:
    judged = judge_number(Undefined("no record of Black was classified", 0), lower_limit=0.8, upper_limit=None, smallest_group=0)

    assert judged == Verdict.NOT_COMPUTABLE


@pytest.mark.parametrize(("size", "expected"), [(MINIMUM_GROUP_SIZE - 1, Verdict.INSUFFICIENT_DATA), (MINIMUM_GROUP_SIZE, Verdict.UNFAIR)])
def test_a_group_of_few_records_gets_no_verdict(size: int, expected: Verdict) -> None:
    judged = judge_number(number(0.1, 0.0, 0.2), lower_limit=0.8, upper_limit=None, smallest_group=size)

    assert judged == expected


@pytest.mark.parametrize("numbers", [(float("nan"), 0.0, 1.0), (0.5, 0.0, float("inf")), (0.5, 0.6, 0.7), (0.5, 0.2, 0.4)])
def test_a_value_that_is_no_number_or_lies_outside_its_interval_is_refused(numbers: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="expected finite lower"):
        number(*numbers)


@pytest.mark.parametrize(
    ("truth", "limits", "expected"),
    [
        (1.0, (0.8, 1.25), {Verdict.FAIR}),
        (0.8, (0.8, 1.25), {Verdict.UNDECIDED, Verdict.SUSPECTED}),
        (1.25, (None, 1.25), {Verdict.UNDECIDED, Verdict.SUSPECTED}),
        (1.5, (0.8, 1.25), {Verdict.UNFAIR}),
        (1.5, (0.8, None), {Verdict.UNWATCHED}),
    ],
)
def test_checks_of_a_world_are_seldom_sure_of_what_is_not_so(truth: float, limits: Limits, expected: set[Verdict]) -> None:
    row, counted = CATALOGUE["disparate_impact"], Counter[Verdict | None]()
    assert isinstance(row.measure, RateComparison)
    for favourable, others in np.random.default_rng(1).binomial(1000, (0.5 * truth, 0.5), size=(1000, 2)):
        found = row.measure.by.interval(favourable, 1000, others, 1000, Z)
        measured = Measured(
            metric=row.key,
            scope="group",
            group="b",
            number=Value(favourable / others, found.lower, found.upper, found.method, 2000),
            smallest_group=1000,
        )
        counted[judge(measured, row, limits)] += 1

    sure = {Verdict.FAIR, Verdict.UNWATCHED, Verdict.UNFAIR}
    assert sum(counted[one] for one in expected) >= 930
    assert sum(counted[one] for one in sure - expected) <= 65
