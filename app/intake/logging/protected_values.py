"""Checks that give protected columns their stored form."""

from ...access.column_keys import make_pseudonym
from ...domain.deployment import Column, StorageKind
from ...domain.record import VALUE_READERS, CellRefused, Json, ValueReader
from ...domain.storage_rules import build_label_finder


def build_check(column: Column, key: bytes | None) -> ValueReader:
    """Builds the check of a column's values, which gives protected values their stored form.

    The check returns None for NaN, and for a value in none of the groups. Raises ValueError if the key of
    pseudonyms is missing.
    """
    check = _build_value_check(column, key)
    return lambda value: None if value != value else check(value)  # noqa: PLR0124 - NaN alone differs from itself


def _build_value_check(column: Column, key: bytes | None) -> ValueReader:
    storage = column.storage
    check = VALUE_READERS[column.sent]
    if storage is None:
        return check
    if storage.kind is StorageKind.GROUPS:
        find_label = build_label_finder(column)
        labels = {group.label for group in storage.groups}

        def read_label(value: Json) -> Json:
            if isinstance(value, str) and value in labels:
                return value
            return find_label(_check_quietly(check, value, column))

        return read_label
    if key is None:
        raise ValueError(f"the key of the pseudonyms of {column.name} is missing")
    return lambda value: make_pseudonym(key, column.name, _check_quietly(check, value, column))


def _check_quietly(check: ValueReader, value: Json, column: Column) -> Json:
    try:
        return check(value)
    except CellRefused:
        # The reason of the check quotes the value, and reasons are stored.
        raise CellRefused(
            f"must be a value of the type {column.sent.value}; it is not shown, because the column is "
            "protected"
        ) from None
