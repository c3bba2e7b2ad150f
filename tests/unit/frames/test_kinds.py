"""A column says the same in each type that pandas and its sources have for its values."""

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.base.errors import InvalidInput
from app.library.compared_rates import read_features
from app.library.frame_columns import convert_numbers, require_column
from app.library.frame_groups import group_records
from app.library.frame_report import FAVOURABLE, UNCLASSIFIED, UNFAVOURABLE, OutcomeLists, Report, classify_outcomes
from app.library.measurements import measure_frame
from tests.examples import many


class Plan(Enum):
    BASIC = "basic"
    PLUS = "plus"


class Word(str, Enum):  # noqa: UP042 - its str() is its name, other than that of a StrEnum
    BASIC = "basic"
    PLUS = "plus"


class Fee(Enum):
    HALF = Decimal("0.50")
    MORE = 2


class Level(int, Enum):
    LOW = 1
    HIGH = 3


class Number(IntEnum):
    LOW = 1
    HIGH = 3


Values = Sequence[Any]
Make = Callable[[Values], "pd.Series[Any]"]

TEXTS: dict[str, Make] = {
    "categorical": lambda values: pd.Series(pd.Categorical(values)),
    "string": lambda values: pd.Series(values, dtype="string"),
    "Arrow": lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.string())),
    "Arrow's dictionary": lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    "Enum": lambda values: pd.Series([value and Plan(value) for value in values], dtype=object),
    "Enum of texts": lambda values: pd.Series([value and Word(value) for value in values], dtype=object),
    "categorical of Enum": lambda values: pd.Series(pd.Categorical([value and Plan(value) for value in values])),
    "numpy's texts": lambda values: pd.Series([value and np.str_(value) for value in values], dtype=object),
    "bytes": lambda values: pd.Series([value and value.encode() for value in values], dtype=object),
}
NUMBERS: dict[str, Make] = {
    "nullable": lambda values: pd.Series(values, dtype="Int64"),
    "Decimal": lambda values: pd.Series([None if value is None else Decimal(value) for value in values], dtype=object),
    "Decimal with zeros": lambda values: pd.Series([Decimal("NaN") if value is None else Decimal(f"{value}.00") for value in values]),
    "Arrow's decimal": lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
    "Enum of numbers": lambda values: pd.Series([value and Level(value) for value in values], dtype=object),
    "IntEnum": lambda values: pd.Series([value and Number(value) for value in values], dtype=object),
    "numpy's numbers": lambda values: pd.Series([value and np.float32(value) for value in values], dtype=object),
    "numpy's doubles": lambda values: pd.Series([value and np.float64(value) for value in values], dtype=object),
    "categorical": lambda values: pd.Series(pd.Categorical(values)),
}
BOOLEANS: dict[str, Make] = {
    "nullable": lambda values: pd.Series(values, dtype="boolean"),
    "object": lambda values: pd.Series(values, dtype=object),
    "numpy's": lambda values: pd.Series([None if value is None else np.bool_(value) for value in values], dtype=object),
    "categorical": lambda values: pd.Series(pd.Categorical(values)),
    "Arrow": lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.bool_())),
}
KINDS = [
    *((("basic", "plus", None), make) for make in TEXTS.values()),
    *(((1, 3, None), make) for make in NUMBERS.values()),
    *(((True, False, None), make) for make in BOOLEANS.values()),
]


def _measure(column: "pd.Series[Any]") -> Report:
    frame = pd.DataFrame({"group": column, "approved": [place % 3 != 0 for place in range(len(column))]})
    return measure_frame(frame, attribute="group", prediction="approved", favourable=True, metrics=["favourable_rate"], draws=10)


@pytest.mark.parametrize(("values", "make"), KINDS)
def test_groups_are_those_of_plain_values(values: Values, make: Make) -> None:
    @settings(max_examples=many(40))
    @given(st.lists(st.sampled_from(values), max_size=20))
    def check(drawn: list[Any]) -> None:
        some = [*values[:2], *drawn]
        plain, other = _measure(pd.Series(some, dtype=object)), _measure(make(some))

        assert {(group.label, group.records) for group in other.groups} == {(group.label, group.records) for group in plain.groups}
        assert other.records.text == plain.records.text

    check()


@pytest.mark.parametrize(("values", "make"), [*(((1, 3, None), make) for make in NUMBERS.values())])
def test_ranges_and_features_read_the_numbers(values: Values, make: Make) -> None:
    frame = pd.DataFrame({"fee": make(values)})

    assert group_records(frame, "fee", [(0, 2)], [(3, 4)]).codes.tolist() == [0, 1, -1]
    assert convert_numbers(frame["fee"], "features").tolist()[:2] == [1.0, 3.0]


def test_decimals_are_a_feature_of_numbers() -> None:
    (feature,) = read_features(pd.DataFrame({"fee": [Decimal("0.5"), None, Decimal(2)]}), ["fee"])

    assert isinstance(feature.content, np.ndarray)
    assert feature.content.tolist()[::2] == [0.5, 2.0]


def test_an_enum_a_uuid_and_a_date_are_listed_as_they_are_logged() -> None:
    columns: dict[str, list[Any]] = {
        "plan": [Plan.BASIC, Plan.PLUS],
        "key": [UUID(int=5), UUID(int=6)],
        "day": [date(2026, 3, 9), date(2026, 3, 10)],
        "fee": [Fee.HALF, Fee.MORE],
    }
    frame = pd.DataFrame(columns)

    labels = [group_records(frame, name, values[:1], values[1:]).groups[0].label for name, values in columns.items()]

    assert labels == ["basic", str(UUID(int=5)), "2026-03-09", "0.5"]
    assert group_records(frame, "fee", (Decimal(0), Decimal(1)), (2, 3)).codes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("values", "favourable"),
    [
        ([Plan.BASIC, Plan.PLUS, None], Plan.BASIC),
        ([Decimal("1.0"), Decimal(0), None], 1),
        ([Decimal("0.75"), Decimal("0.25"), None], (0.5, 1)),
        ([Level.HIGH, Level.LOW, None], Decimal(3)),
        ([np.True_, np.False_, None], True),
    ],
)
def test_outcomes_are_those_of_plain_values(values: Values, favourable: object) -> None:
    column = pd.Series(values, dtype=object, name="decision")

    outcomes = classify_outcomes(column, OutcomeLists.of(favourable, None), "prediction")

    assert outcomes.codes.tolist() == [FAVOURABLE, UNFAVOURABLE, UNCLASSIFIED]


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2026-03-09", None]),
        pd.to_timedelta([1, None]),
        pd.period_range("2026-01", periods=2, freq="M"),
        pd.array([date(2026, 3, 9), None], dtype=pd.ArrowDtype(pa.date32())),
        [1j, 2j],
        [Plan.BASIC, 3],
        [b"a", None],
    ],
)
def test_times_and_the_like_are_no_numbers(values: Any) -> None:  # noqa: ANN401 - any column
    frame = pd.DataFrame({"when": values})

    with pytest.raises(InvalidInput, match="'when' must hold numbers, found "):
        convert_numbers(require_column(frame, "when", "score"), "score")
