import numpy as np
import pandas as pd
import pytest

from app.library.frame_columns import MISSING, choose_integer_type, count_codes, encode, look_up
from app.library.frame_groups import group_records


def test_true_is_not_one_in_a_column_that_mixes_them() -> None:
    encoded = encode(pd.Series([0, False, None, True, 1.0, 1], dtype=object, name="mixed"), "prediction", keeps_types=True)

    assert (encoded.texts, encoded.codes.tolist()) == (("0", "false", "true", "1"), [0, 1, MISSING, 2, 3, 3])


@pytest.mark.parametrize(("beyond", "kind"), [(0, "int8"), (128, "int8"), (129, "int16"), (2**15, "int16"), (2**15 + 1, "int32")])
def test_codes_take_the_narrowest_type_that_holds_them(beyond: int, kind: str) -> None:
    assert np.dtype(choose_integer_type(beyond)) == kind
    assert np.iinfo(kind).max >= beyond - 1


@pytest.mark.parametrize("distinct", [127, 128, 129, 300])
def test_every_value_keeps_its_code_however_many_there_are(distinct: int) -> None:
    values = np.tile(np.arange(distinct), 3)
    encoded = encode(pd.Series([*values, None], name="place"), "attribute")

    assert encoded.codes.tolist() == [*values, MISSING]
    assert count_codes(encoded.codes, distinct).tolist() == [3] * distinct + [1]
    assert look_up(range(distinct, 0, -1), encoded.codes, missing=0).tolist() == [*(distinct - values), 0]


@pytest.mark.parametrize(("one", "other"), [(1, 64), (2, 64), (8, 16), (11, 12), (32, 31)])
def test_every_combination_is_a_group_however_many_there_are(one: int, other: int) -> None:
    places = np.arange(one * other)
    frame = pd.DataFrame({"one": places // other, "other": places % other})

    grouping = group_records(frame, ["one", "other"])

    assert sorted(grouping.codes.tolist()) == places.tolist()
    assert {grouping.groups[code].label for code in grouping.codes} == {f"{place // other} × {place % other}" for place in places}
    assert grouping.sizes.tolist() == [1] * (one * other) + [0]
