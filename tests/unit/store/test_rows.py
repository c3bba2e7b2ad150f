"""Rows become the objects of the domain by the names of their columns."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from app.database.binary_rows import read_row


@dataclass(frozen=True)
class Parcel:
    no: int
    kind: str
    weight: float | None = None


def test_columns_fill_the_fields_of_their_name_and_others_are_given() -> None:
    row = SimpleNamespace(no=3, kind="letter", weight=0.5, sender="anybody")

    assert read_row(Parcel, row) == Parcel(3, "letter", 0.5)
    assert read_row(Parcel, row, kind="box", weight=1.5) == Parcel(3, "box", 1.5)


def test_a_field_without_a_column_is_an_error_though_it_has_a_default() -> None:
    with pytest.raises(AttributeError, match="weight"):
        read_row(Parcel, SimpleNamespace(no=3, kind="letter"))
