import pytest

from app.base.values import Scalar, canonical, exact_number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        ("1.0", "1.0"),
        (3.0, "3"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e-05, "0.00001"),
        (-2.5e-07, "-0.00000025"),
        (2.0**53, "9007199254740992"),
        (1e16, "10000000000000000"),
        (1e22, "10000000000000000000000"),
        (2**53 + 1, "9007199254740993"),
    ],
)
def test_a_value_has_one_text_without_exponent_and_without_an_empty_fraction(value: Scalar, text: str) -> None:
    assert canonical(value) == text


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("3.0", 3),
        ("9007199254740993", 2**53 + 1),
        ("9007199254740993.0", 2**53 + 1),
        (2**53 + 1, 2**53 + 1),
        (2.0**60, 2**60),
        ("3.5", 3.5),
        ("1e400", None),
        ("many", None),
        (float("nan"), None),
        (True, None),
    ],
)
def test_a_whole_number_is_read_exactly(value: Scalar, number: float | None) -> None:
    assert exact_number(value) == number
    assert type(exact_number(value)) is type(number)
