"""Values that are drawn for the copies of a record."""

import math

import pytest

from app.base.values import Range
from app.checks.copies.copy_outcomes import build_copy_target
from app.domain.deployment import Column, FieldKind, FieldType
from app.sources.arrays.read_records import Group

NUMBER = Column(name="balance", type=FieldType.NUMBER, kind=FieldKind.NUMERIC)


@pytest.mark.parametrize("bounds", [Range(0.0, 1.0), Range(-1e308, 1e308), Range(-1.7e308, 1.7e308), Range(5.0, 5.0)], ids=str)
def test_a_number_is_drawn_within_its_range(bounds: Range) -> None:
    target = build_copy_target(Group(label="watched", role="reference", value=bounds), NUMBER, draws=1, seed=3)

    for record in range(200):
        (drawn,) = target.draw_changes(str(record), 0).values()
        assert isinstance(drawn, float)
        assert math.isfinite(drawn)
        assert bounds.lo <= drawn <= bounds.hi
