"""Columns of records as bodies."""

from pydantic import Field

from ..domain.deployment import Column, FieldKind, FieldType, StorageKind
from ..web.body import NOT_BLANK, FromText, In, Out
from ..web.value_bodies import GroupValueJson

_SENT = "The type of the values that are sent; text is stored."
_GROUPS = (
    "For the kind `groups`: the label of the first group that has a value is stored instead of it, "
    "and null for a value in no group."
)


class ColumnGroupIn(In):
    """Values that are stored under one label: values, or ranges `[lo, hi]` of numbers."""

    label: str = Field(max_length=200, json_schema_extra={"minLength": 1, "pattern": NOT_BLANK})
    values: list[GroupValueJson] = Field(json_schema_extra={"minItems": 1})


class StorageIn(In):
    """The form in which a protected column is stored."""

    kind: FromText[StorageKind]
    sent: FromText[FieldType] = Field(FieldType.STRING, description=_SENT)
    groups: list[ColumnGroupIn] = Field(default_factory=list, description=_GROUPS)


class ColumnIn(In):
    """One column. `kind` left out: categorical for text and booleans, numeric for numbers."""

    name: str = Field(max_length=200, json_schema_extra={"minLength": 1, "pattern": NOT_BLANK})
    type: FromText[FieldType]
    kind: FromText[FieldKind | None] = None
    storage: StorageIn | None = None
    """Left out, values are stored as they are sent. `pseudonym`: a keyed pseudonym is stored, the same for
    equal values. `groups`: only the label of the value's group is stored. The column's type is then
    `string`. Not for features of a deployment with an endpoint."""

    def to_domain(self) -> Column:
        numbers = self.type in {FieldType.INTEGER, FieldType.NUMBER}
        kind = self.kind or (FieldKind.NUMERIC if numbers else FieldKind.CATEGORICAL)
        return self.read_as(Column, kind=kind)


class ColumnGroupOut(Out):
    """Values that are stored under one label."""

    label: str
    values: list[GroupValueJson]


class StorageOut(Out):
    """The form in which a protected column is stored."""

    kind: StorageKind
    sent: FieldType = Field(description=_SENT)
    groups: list[ColumnGroupOut] = Field(description=_GROUPS)


class ColumnOut(Out):
    """One column."""

    name: str
    type: FieldType
    kind: FieldKind
    storage: StorageOut | None
    """Null: values are stored as they are sent."""
