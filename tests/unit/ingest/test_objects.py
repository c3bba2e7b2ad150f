"""Objects checked as one say the same as each checked by itself."""

from typing import Any

import pytest

from app.domain.deployment import Column, FieldKind, FieldType
from app.intake.logging.encode_lines import Refusals, check_objects
from app.intake.logging.ingest_plan import Columns, RecordRefused

COLUMNS = Columns.of(
    "features",
    (
        Column(name="age", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),
        Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    ),
    required=True,
)
GOOD: dict[str, Any] = {"sex": "female", "age": 40.0}


@pytest.mark.parametrize(
    "other",
    [
        {"age": None, "sex": "male"},
        {"age": 1.5, "sex": "male"},
        {"age": "old", "sex": 7},
        {"age": 40},
        {"age": 40, "sex": "male", "height": 3},
        {"age": 40, "height": 3},
        {},
        [40, "male"],
        None,
    ],
)
def test_many_objects_are_checked_as_each_by_itself(other: object) -> None:
    refusals, expected = Refusals(), Refusals()
    found = check_objects([GOOD, other], COLUMNS, refusals)
    alone: object = None
    try:
        alone = COLUMNS.cells(other)
    except RecordRefused as refused:
        expected.add(1, refused.field, refused.reason)

    assert refusals == expected
    assert found[0] == [40, "female"]
    assert expected.by_position or found[1] == alone
