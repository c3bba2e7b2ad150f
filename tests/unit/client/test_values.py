"""Values of any library: each is logged as the one documented value of JSON, or its record is counted as rejected."""

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from evenhand_client import Evenhand, monitored
from hypothesis import given
from hypothesis import strategies as st

from .collector import Collector

Make = Callable[..., Evenhand]

REFUSED = "the record is refused"


class Plan(Enum):
    BASIC = "basic"
    NONE = float("nan")
    FEE = Decimal("2.50")


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


class Order:
    """Has the method of a number of a library, and is none."""

    def item(self) -> int:
        return 5


class Value(NamedTuple):
    """What a program logs, and what JSON says of it."""

    logged: Any
    documented: Any


def _of_float(number: float) -> Value:
    return Value(number, None if math.isnan(number) else REFUSED if math.isinf(number) else number)


def _of_decimal(number: Decimal) -> Value:
    if number.is_nan():
        return Value(number, None)
    is_too_large = number.is_infinite() or number.adjusted() >= 309
    return Value(number, REFUSED if is_too_large else int(number) if number == int(number) else float(str(number)))


# Of 308 digits and less each float is finite.
DECIMALS = st.decimals(min_value=Decimal("-1e308"), max_value=Decimal("1e308"), allow_nan=True)

VALUES = st.one_of(
    st.sampled_from([None, True, False, "", "ä", "1", "nan"]).map(lambda value: Value(value, value)),
    st.integers().map(lambda value: Value(value, value)),
    st.floats().map(_of_float),
    st.one_of(DECIMALS, st.sampled_from([Decimal("Infinity"), Decimal("sNaN"), Decimal("1E+999999"), Decimal("1.2E+3")])).map(_of_decimal),
    st.uuids().map(lambda value: Value(value, str(value))),
    st.one_of(st.dates(), st.datetimes(), st.datetimes().map(lambda moment: moment.replace(tzinfo=UTC))).map(
        lambda value: Value(value, value.isoformat())
    ),
    st.integers(-(2**31), 2**31 - 1).map(lambda value: Value(np.int32(value), value)),
    st.floats(width=32).map(np.float32).map(lambda value: Value(value, _of_float(float(value)).documented)),
    st.floats().map(lambda value: Value(np.float64(value), _of_float(value).documented)),
    st.floats().map(lambda value: Value(np.array(value), _of_float(value).documented)),
    st.booleans().map(lambda value: Value(np.bool_(value), value)),
    st.text("ab").map(lambda value: Value(np.str_(value), value)),
    st.sampled_from(
        [
            Value(np.longdouble(0.5), 0.5),
            Value(np.datetime64("2026-03-09"), "2026-03-09"),
            Value(np.datetime64("2026-03-09T14:30:00.000000001"), "2026-03-09T14:30:00.000000001"),
            Value(np.datetime64("NaT", "ns"), None),
            Value(pd.Timestamp("2026-03-09T14:30:00", tz="UTC"), "2026-03-09T14:30:00+00:00"),
            Value(pd.NA, None),
            Value(pd.NaT, None),
            Value(Plan.BASIC, "basic"),
            Value(Plan.NONE, None),
            Value(Plan.FEE, 2.5),
            Value(Level.HIGH, 3),
            Value(Word.YES, "yes"),
        ]
    ),
    st.sampled_from(
        [
            b"bytes",
            bytearray(b"more"),
            np.bytes_(b"bytes"),
            {1, 2},
            object(),
            Order(),
            timedelta(1),
            np.timedelta64(5, "ns"),
            pd.Timedelta(5),
            1j,
            np.complex128(1j),
            Fraction(1, 3),
            len,
            pd.Interval(0, 1),
            pd.DataFrame({"a": [1]}),
        ]
    ).map(lambda value: Value(value, REFUSED)),
)

NAMES = st.sampled_from(["age", "plan", "fee", "ä"])


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether JSON says the same: true is not 1, though to Python it is."""
    return type(one) is type(other) and one == other


def test_a_value_is_logged_as_documented_or_its_record_is_counted(make: Make, collector: Collector) -> None:
    client = make()

    @given(st.dictionaries(NAMES, VALUES, min_size=1), VALUES, VALUES)
    def check(features: dict[str, Value], prediction: Value, meta: Value) -> None:
        record_id = client.log({name: value.logged for name, value in features.items()}, prediction.logged, meta={"m": meta.logged})
        report = client.flush()

        if any(value.documented is REFUSED for value in (*features.values(), prediction, meta)):
            assert (report.sent, report.rejected) == (0, 1)
            return
        assert (report.sent, report.rejected) == (1, 0)
        record = collector.records[-1]
        assert record["id"] == record_id
        assert record["features"].keys() == features.keys()
        assert all(_same(record["features"][name], value.documented) for name, value in features.items())
        assert _same(record["prediction"], prediction.documented)
        assert _same(record["meta"]["m"], meta.documented)

    check()


FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": lambda values: np.array(values, dtype=object),
    "column of an array": lambda values: np.array(values, dtype=object).reshape(-1, 1),
    "Series": lambda values: pd.Series(values, index=range(len(values), 0, -1), dtype=object),
    "categorical": lambda values: pd.Series(pd.Categorical(values)),
    "frame": lambda values: pd.DataFrame({"node": 7, "prediction": pd.Series(values, dtype=object)}),
    "frame of one column": lambda values: pd.DataFrame({"churn": pd.Series(values, dtype=object)}),
    "dictionary": lambda values: {"prediction": np.array(values, dtype=object)},
    "dictionaries": lambda values: [{"prediction": value, "node": 7} for value in values],
    "record array": lambda values: np.array([(value, 7) for value in values], dtype=[("prediction", object), ("node", int)]),
    "generator": lambda values: (value for value in values),
    "generator of dictionaries": lambda values: ({"prediction": value} for value in values),
    "map": lambda values: map(str, values),
}


class Model:
    """Answers what it was made with."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def predict(self, rows: object) -> object:
        if isinstance(rows, list):
            rows.clear()  # a model may change what it is given
        return self.answer


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_is_a_record_a_row_or_all_its_rows_are_counted(make: Make, collector: Collector, form: str) -> None:
    client = make()

    @given(st.integers(1, 4), st.lists(st.sampled_from(["yes", "no", "maybe"]), min_size=1, max_size=5))
    def check(rows: int, answers: list[str]) -> None:
        before = len(collector.records)
        model = monitored(Model(FORMS[form](answers)), client)
        answered = model.predict([{"row": row} for row in range(rows)])
        if hasattr(answered, "__next__"):
            assert len(list(answered)) == len(answers)
        report = client.flush()

        stored = collector.records[before:]
        if rows == len(answers):
            assert [(record["features"]["row"], record["prediction"]) for record in stored] == list(enumerate(answers))
            assert model.last_ids == [record["id"] for record in stored]
        else:
            assert (stored, model.last_ids) == ([], [])
            assert report.rejected == rows

    check()


@pytest.mark.parametrize(
    "answer",
    [
        "yes",
        b"yes",
        {0, 1, 2},
        {"a": 1, "b": 0, "c": 1},
        {"prediction": "yes"},
        {"a": [1, 0, 1], "b": [1, 0, 1]},
        {"probability": [0.5, 0.5, 0.5]},
        pd.DataFrame([[1, 1], [0, 1], [1, 1]], columns=["prediction", "prediction"]),
        1,
        None,
        np.array(1),
        np.array([[1, 0, 1]]),
    ],
)
def test_an_answer_that_is_not_one_a_row_is_counted_and_named(
    make: Make, collector: Collector, caplog: pytest.LogCaptureFixture, answer: object
) -> None:
    client = make()
    model = monitored(Model(answer), client)

    assert model.predict([{"row": row} for row in range(3)]) is answer
    assert client.flush().rejected == 3
    assert collector.records == []
    assert "Evenhand refuses records; 3 so far." in caplog.text
    (missing,) = collector.missing.values()
    assert missing["hours"][0]["not_received"] == 3


def test_what_a_caller_did_not_wait_for_is_no_decision(make: Make, collector: Collector) -> None:
    client = make()
    model = monitored(Model(answer for answer in "abc"), client)
    answers = model.predict([{"row": row} for row in range(3)])
    assert next(answers) + next(answers) == "ab"
    assert model.last_ids == []
    answers.close()
    report = client.flush()

    assert [record["prediction"] for record in collector.records] == ["a", "b"]
    assert report.rejected == 0


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]),
        pd.DataFrame({("a", "b"): [1, 2]}),
        pd.DataFrame({1: [1, 2], "1": [3, 4]}),
        {"a": [1, 2], "b": [1]},
        ["ab", "cd"],
        [[1, 2], [3]],
        [{"a": 1}, [3, 4]],
        np.array([[1], [2]]),
    ],
)
def test_rows_that_cannot_be_named_are_counted(make: Make, collector: Collector, rows: object) -> None:
    client = make()
    monitored(Model([1, 0]), client, feature_names=["a", "b"]).predict(rows)

    assert client.flush().rejected == 2
    assert collector.records == []


@pytest.mark.parametrize(
    "rows",
    [
        {"a": [1, 3], "b": [2, 4]},
        [{"a": 1, "b": 2}, pd.Series({"a": 3, "b": 4})],
        [np.array([1, 2]), (3, 4)],
        np.array([(1, 2), (3, 4)], dtype=[("a", int), ("b", int)]),
        pd.DataFrame({"a": pd.array([1, 3], dtype="Int64"), "b": pd.Categorical([2, 4])}),
    ],
)
def test_rows_of_any_form_are_features(make: Make, collector: Collector, rows: object) -> None:
    client = make()
    monitored(Model([1, 0]), client, feature_names=["a", "b"]).predict(rows=rows)
    client.flush()

    assert [record["features"] for record in collector.records] == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


def test_a_row_of_a_generator_is_the_model_s_alone(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    client = make()
    monitored(Model([1, 0]), client).predict({"a": row} for row in range(2))

    assert client.flush().rejected == 2
    assert "give the model a list of them" in caplog.text


class Sure:
    """Answers probabilities."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, shares: object) -> None:
        self.shares = shares

    def predict_proba(self, _rows: object) -> object:
        return self.shares


@pytest.mark.parametrize(
    "shares",
    [
        np.array([[0.25, 0.75], [0.875, 0.125]]),
        pd.DataFrame({"yes": [0.75, 0.125], "no": [0.25, 0.875]}, index=[5, 3]),
        [{"yes": 0.75, "no": 0.25}, {"no": 0.875, "yes": 0.125}],
    ],
)
def test_probabilities_are_in_the_order_of_the_classes(make: Make, collector: Collector, shares: object) -> None:
    client = make()
    monitored(Sure(shares), client, methods=["predict_proba"]).predict_proba([{"row": row} for row in range(2)])
    client.flush()

    assert [(record["prediction"], record["probability"]) for record in collector.records] == [
        ("yes", [0.25, 0.75]),
        ("no", [0.875, 0.125]),
    ]


@pytest.mark.parametrize(
    "shares", [np.array([[0.75], [0.125]]), np.array([0.75, 0.125]), pd.DataFrame({"p0": [0.1, 0.2], "p1": [0.9, 0.8]})]
)
def test_probabilities_that_are_not_one_a_class_are_counted(make: Make, collector: Collector, shares: object) -> None:
    client = make()
    monitored(Sure(shares), client, methods=["predict_proba"]).predict_proba([{"row": row} for row in range(2)])

    assert client.flush().rejected == 2
    assert collector.records == []


def test_a_missing_probability_hides_the_likeliest_class(make: Make, collector: Collector) -> None:
    client = make()
    monitored(Sure([[float("nan"), 0.5], [0.25, 0.75]]), client, methods=["predict_proba"]).predict_proba([{"row": 0}, {"row": 1}])
    client.flush()

    assert [record["prediction"] for record in collector.records] == [None, "yes"]


def test_outputs_have_the_names_that_the_model_gives_them(make: Make, collector: Collector) -> None:
    client = make()
    answer = pd.DataFrame({"p": [0.75], "churn": ["yes"]})
    monitored(Model(answer), client, outputs=("churn", "p")).predict([{"row": 0}])
    client.flush()

    assert [(record["prediction"], record["probability"]) for record in collector.records] == [("yes", 0.75)]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"prediction": [1]}, "1 predictions for 2 rows"),
        ({"prediction": [1, 0, 1]}, "3 predictions for 2 rows"),
        ({"prediction": "absent"}, "there is no column absent; the frame has a, key"),
        ({"prediction": "a", "probability": [0.5]}, "1 probabilities for 2 rows"),
        ({"prediction": "a", "meta": ["absent"]}, "there is no column absent"),
        ({"prediction": "a", "features": ["absent"]}, "there is no column absent"),
    ],
)
def test_a_frame_of_which_a_part_is_missing_is_counted_as_a_whole(
    make: Make, collector: Collector, caplog: pytest.LogCaptureFixture, options: dict[str, Any], reason: str
) -> None:
    client = make()

    assert client.log_frame(pd.DataFrame({"a": [1, 2], "key": [1, 2]}), **options) == []
    assert client.flush().rejected == 2
    assert collector.records == []
    assert reason in caplog.text


def test_ids_are_texts_and_a_missing_one_is_new(make: Make, collector: Collector) -> None:
    client = make()
    frame = pd.DataFrame({"a": [1, 2, 3], "key": [7, None, 9]})
    ids = client.log_frame(frame, prediction="a", id="key")
    ids += [client.log({}, 1, id=key) for key in (np.int64(8), UUID(int=5), Word.YES, pd.NA)]  # type: ignore[arg-type] - as programs do
    client.log_label(np.int64(7), 1)  # type: ignore[arg-type] - as above
    client.flush()

    assert collector.ids == [*ids, "7"]
    assert [ids[place] for place in (0, 2, 3, 4, 5)] == ["7", "9", "8", "00000000-0000-0000-0000-000000000005", "yes"]
    assert UUID(ids[1]).version == UUID(ids[6]).version == 7


@pytest.mark.parametrize("key", [1.5, 2.0**60, True, b"a", ["a"]])
def test_an_id_that_is_no_text_is_counted(make: Make, collector: Collector, key: Any) -> None:  # noqa: ANN401 - any value
    client = make()
    client.log({"a": 1}, 1, id=key)
    client.log_label(key, 1)

    assert client.flush().rejected == 2
    assert collector.records == []


@pytest.mark.parametrize("features", [None, "ab", ["ab", "cd"], [("a", 1)], 5])
def test_features_that_have_no_names_are_counted(make: Make, collector: Collector, features: Any) -> None:  # noqa: ANN401 - any value
    client = make()
    client.log(features, 1)

    assert client.flush().rejected == 1
    assert collector.records == []


def test_a_probability_is_as_it_was_when_it_was_logged(make: Make, collector: Collector) -> None:
    client, shares = make(), np.array([0.25, 0.75])
    client.log({"a": 1}, 1, probability=shares)
    shares[:] = 0.5
    client.log({"a": date(2026, 3, 9)}, 1, probability=Decimal("0.75"))
    client.log({"a": datetime(2026, 3, 9, tzinfo=UTC)}, 1, probability=float("nan"))
    client.flush()

    assert [record["probability"] for record in collector.records] == [[0.25, 0.75], 0.75, None]


def test_in_a_pair_nan_is_missing_and_infinity_is_refused_by_its_place(
    make: Make, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    client = make()
    for income in (math.nan, -math.inf):
        client.log_pair({"dataframe_split": {"columns": ["sex", "income"], "data": [["f", income]]}}, {"predictions": [1]})
    report = client.flush()

    assert (report.sent, report.rejected) == (1, 1)
    assert collector.records[0]["request"]["dataframe_split"]["data"] == [["f", None]]
    assert "request.dataframe_split.data[0][1]: the number -inf is infinite" in caplog.text
