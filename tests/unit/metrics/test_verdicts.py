import pytest

from app.metrics import MINIMUM_GROUP_SIZE, Undefined, Value, Verdict, verdict


def number(value: float, lower: float, upper: float | None) -> Value:
    return Value(value, lower, upper, "by hand", 1000)


@pytest.mark.parametrize(
    ("value", "lower_limit", "upper_limit", "expected"),
    [
        (number(0.9, 0.7, 1.1), 0.8, None, Verdict.FAIR),
        (number(0.8, 0.7, 0.9), 0.8, None, Verdict.FAIR),
        (number(0.56 / 0.7, 0.7, 0.9), 0.8, None, Verdict.FAIR),
        (number(0.7999999, 0.7, 0.9), 0.8, None, Verdict.SUSPECTED),
        (number(0.75, 0.7, 0.8), 0.8, None, Verdict.SUSPECTED),
        (number(0.75, 0.7, 0.79), 0.8, None, Verdict.UNFAIR),
        (number(0.75, 0.7, None), 0.8, None, Verdict.SUSPECTED),
        (number(1.5, 1.3, 1.7), 0.8, None, Verdict.FAIR),
        (number(1.5, 1.3, 1.7), 0.8, 1.25, Verdict.UNFAIR),
        (number(1.5, 1.3, None), 0.8, 1.25, Verdict.UNFAIR),
        (number(1.5, 1.2, 1.7), 0.8, 1.25, Verdict.SUSPECTED),
        (number(1.25, 1.1, 1.4), 0.8, 1.25, Verdict.FAIR),
        (number(0.5, 0.2, 1.6), 0.8, 1.25, Verdict.SUSPECTED),
        (number(-0.2, -0.3, -0.15), -0.1, 0.1, Verdict.UNFAIR),
        (number(0.0, 0.0, 0.0), 0.0, 0.0, Verdict.FAIR),
    ],
)
def test_the_verdict_follows_from_the_limits_and_the_interval(
    value: Value, lower_limit: float | None, upper_limit: float | None, expected: Verdict
) -> None:
    judged = verdict(value, lower_limit=lower_limit, upper_limit=upper_limit, smallest_group=500)

    assert judged == expected


def test_without_a_limit_there_is_no_verdict() -> None:
    judged = verdict(number(0.1, 0.0, 0.2), lower_limit=None, upper_limit=None, smallest_group=500)

    assert judged is None


def test_an_undefined_number_is_not_computable_however_small_the_group() -> None:
    judged = verdict(Undefined("no record of Black was classified", 0), lower_limit=0.8, upper_limit=None, smallest_group=0)

    assert judged == Verdict.NOT_COMPUTABLE


@pytest.mark.parametrize(("size", "expected"), [(MINIMUM_GROUP_SIZE - 1, Verdict.INSUFFICIENT_DATA), (MINIMUM_GROUP_SIZE, Verdict.UNFAIR)])
def test_a_group_of_few_records_gets_no_verdict(size: int, expected: Verdict) -> None:
    judged = verdict(number(0.1, 0.0, 0.2), lower_limit=0.8, upper_limit=None, smallest_group=size)

    assert judged == expected


@pytest.mark.parametrize("numbers", [(float("nan"), 0.0, 1.0), (0.5, 0.0, float("inf")), (0.5, 0.6, 0.7), (0.5, 0.2, 0.4)])
def test_a_value_that_is_no_number_or_lies_outside_its_interval_is_refused(numbers: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="expected finite lower"):
        number(*numbers)
