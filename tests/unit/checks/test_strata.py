import numpy as np
import pyarrow as pa
from syrupy.assertion import SnapshotAssertion

from app.sources.arrays.read_records import divide_into_strata
from app.statistics.tables.strata_counts import MAX_STRATA
from tests.builders.page_words import says


def test_the_values_of_a_column_are_strata_and_a_missing_one_is_in_none() -> None:
    found = divide_into_strata("job", pa.chunked_array([pa.array(["skilled", None, "unskilled"]), pa.array(["skilled"])]))

    assert [found.labels[code] if code >= 0 else None for code in found.codes] == ["skilled", None, "unskilled", "skilled"]


def test_numbers_are_named_as_they_are_shown_and_zero_is_zero_whatever_its_sign() -> None:
    found = divide_into_strata("age", pa.chunked_array([pa.array([30.0, -0.0, 0.0, 1.5, 30.0])]))

    assert found.labels == ("30", "0", "1.5")
    assert found.codes.tolist() == [0, 1, 1, 2, 0]


def test_a_column_without_a_value_divides_nobody() -> None:
    assert divide_into_strata("job", pa.chunked_array([pa.array([None, None], pa.string())])).codes.tolist() == [-1, -1]
    assert divide_into_strata("job", pa.chunked_array([pa.array([], pa.string())])).codes.tolist() == []


def test_too_many_values_are_no_strata(snapshot: SnapshotAssertion) -> None:
    most, more = (
        divide_into_strata("code", pa.chunked_array([pa.array(np.arange(size, dtype=np.float64))])) for size in (MAX_STRATA, MAX_STRATA + 1)
    )

    assert (len(most.labels), most.reason) == (MAX_STRATA, "")
    assert more.labels == ()
    assert says(more.reason, "1,001", "1,000")
    assert more.reason == snapshot
