"""Rules about the storage of protected columns."""

from collections.abc import Callable, Iterator

from ..base.errors import FieldProblem
from ..base.values import Scalar, name_problem
from .deployment import Column, FieldKind, FieldType, Storage, StorageKind, build_sent_column
from .groups import NEITHER, Group, find_group_positions
from .monitor_rules import MAX_GROUPS, check_group_values


def build_label_finder(column: Column) -> Callable[[Scalar], str | None]:
    """Builds a function from a value to its group's label: None without a group, a label of itself."""
    groups = column.storage.groups if column.storage else ()
    labels = {group.label for group in groups}
    members = [Group(group.label, "monitored", value) for group in groups for value in group.values]
    column_as_sent = build_sent_column(column)

    def find(value: Scalar) -> str | None:
        (position,) = find_group_positions(members, column_as_sent, (value,))
        if position != NEITHER:
            return members[position].label
        return value if isinstance(value, str) and value in labels else None

    return find


def find_storage_problems(
    field: str, column: Column, *, is_feature: bool, has_endpoint: bool, is_batch: bool
) -> Iterator[FieldProblem]:
    storage = column.storage
    if storage is None:
        return
    if column.type is not FieldType.STRING or column.kind is not FieldKind.CATEGORICAL:
        message = (
            "must be string and categorical with a storage: text is stored. Name the type of the "
            "values that are sent as storage.sent"
        )
        yield FieldProblem(f"{field}.type", message)
    if is_feature and has_endpoint:
        yield FieldProblem(
            f"{field}.storage",
            "must be left out for a feature of a deployment with an endpoint: its model cannot be asked "
            "again without the value. Log the column as a meta field, or leave the endpoint out; no copies "
            "of records are then scored",
        )
    if is_batch:
        yield FieldProblem(
            f"{field}.storage",
            "must be left out where the records lie in your own tables, which Evenhand reads and does not "
            "store",
        )
    yield from _check_groups(f"{field}.storage.groups", column, storage)


def _check_groups(field: str, column: Column, storage: Storage) -> Iterator[FieldProblem]:
    groups = storage.groups
    if storage.kind is StorageKind.PSEUDONYM:
        if groups:
            yield FieldProblem(field, "are for the kind groups; every value has a pseudonym of its own")
        return
    if not 1 <= len(groups) <= MAX_GROUPS:
        yield FieldProblem(field, f"must list 1 to {MAX_GROUPS} groups, found {len(groups):,}")
        return
    labels = set()
    for index, group in enumerate(groups):
        problem = name_problem(group.label)
        if group.label in labels:
            problem = f"{group.label!r:.100} is the label of two groups"
        if problem:
            yield FieldProblem(f"{field}[{index}].label", problem)
        labels.add(group.label)
        yield from check_group_values(f"{field}[{index}].values", group.values, build_sent_column(column))
