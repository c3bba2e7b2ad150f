"""The forms in which values of protected columns are stored."""

import re

from ..base.values import GroupValue
from .deployment import Column, FieldKind, FieldType, StorageKind

PSEUDONYM = re.compile(r"p_[A-Za-z0-9_-]{22}")
"""128 bits of a keyed digest, in the alphabet of base64 for addresses."""

_NUMBERS = (FieldType.INTEGER, FieldType.NUMBER)


def is_pseudonym(value: object) -> bool:
    return isinstance(value, str) and PSEUDONYM.fullmatch(value) is not None


def sent_column(column: Column) -> Column:
    kind = FieldKind.NUMERIC if column.sent in _NUMBERS else FieldKind.CATEGORICAL
    return Column(name=column.name, type=column.sent, kind=kind)


def stored_form_problem(value: GroupValue, column: Column) -> str | None:
    storage = column.storage
    if storage is None:
        return None
    if storage.kind is StorageKind.PSEUDONYM:
        if is_pseudonym(value):
            return None
        # The value itself is not repeated: messages are logged.
        return (
            f"must be a pseudonym, because {column.name!r} is stored as pseudonyms; POST …/pseudonyms "
            "gives those of its values"
        )
    labels = [group.label for group in storage.groups]
    if value in labels:
        return None
    return (
        f"must be the label of a group, because {column.name!r} is stored as groups: {', '.join(labels):.200}"
    )
