"""Outcomes, groups and copies in the words of the present monitor. Reads no record."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from sqlalchemy.orm import Session

from ..base.values import Range, frozen, name_value
from ..deployments.monitor.queries import find_monitor
from ..deployments.training.queries import read_donor_digests
from ..domain.deployment import Column, FieldKind, RecordSchema
from ..domain.groups import Role, list_groups
from ..domain.monitor import Monitor, Outcome
from ..sources.arrays.read_records import ListedGroups
from ..sources.stored.copy_answers import TargetKey
from ..sources.stored.record_queries import StoredCopy, StoredRecord, read_copy_targets, read_schemas

OutcomeWord = Literal["favourable", "unfavourable", "unclassified"]
Change = Literal["gained", "lost", "none"]

WORDS: Mapping[Outcome | None, OutcomeWord] = {
    Outcome.FAVOURABLE: "favourable",
    Outcome.UNFAVOURABLE: "unfavourable",
    Outcome.UNCLASSIFIED: "unclassified",
}


@frozen
class RecordGroup:
    attribute: str
    group: str | None
    role: Role | None


@frozen
class CopyKind:
    """`donated` are the features that a donor of the group lends, of a meta field; `digest` says from which
    donors. `role` None: the present monitor does not ask for it.
    """

    attribute: str
    group: str
    value: str | Range
    role: Role | None
    donated: tuple[str, ...]
    digest: str | None


@frozen
class Lens:
    monitor: Monitor | None
    schemas: Mapping[int, RecordSchema]
    targets: Mapping[int, TargetKey]
    kinds: Mapping[int, CopyKind]

    def outcome(self, answer: StoredRecord | StoredCopy) -> Outcome | None:
        """None without a monitor, which says what is favourable."""
        return (
            None
            if self.monitor is None
            else self.monitor.outcomes.classify(answer.prediction if answer.label is None else answer.label)
        )

    def groups(self, record: StoredRecord) -> list[RecordGroup]:
        schema = self.schemas[record.schema_version]
        values = name_values(schema, record.features, record.meta)
        groups = []
        for attribute in self.monitor.attributes if self.monitor is not None else ():
            column = attribute.column_in(schema)
            value = values.get(attribute.feature)
            if attribute.rule is not None:
                is_met = attribute.rule.is_met_by(values)
                value = name_value((attribute.monitored if is_met else attribute.reference or ())[0])
            group = None
            if column is not None and value is not None:
                (group,) = ListedGroups.of(attribute, column).find([value])
            groups.append(RecordGroup(attribute.feature, *(group or (None, None))))
        return groups

    def changes(self, record: StoredRecord, copies: Iterable[StoredCopy]) -> dict[str, Change]:
        outcome = self.outcome(record)
        changes = dict[str, Change]()
        roles = {group.attribute: group.role for group in self.groups(record)}
        for copy in copies:
            key = self.targets[copy.target_no]
            kind = self.kinds[copy.target_no]
            is_own = (key.model_revision, key.schema_version) == (
                record.model_revision,
                record.schema_version,
            )
            if not is_own or kind.role is None or roles.get(kind.attribute) in (None, kind.role):
                continue
            change = compare_outcomes(outcome, self.outcome(copy))
            if change is not None and changes.get(kind.attribute, "none") == "none":
                changes[kind.attribute] = change
        return changes

    def asked_for(self, attributes: Iterable[str] | None = None) -> list[int]:
        names = None if attributes is None else set(attributes)
        return [
            no
            for no, kind in self.kinds.items()
            if kind.role is not None and (names is None or kind.attribute in names)
        ]


def name_cells(columns: Sequence[Column], cells: Sequence[Any] | None) -> dict[str, Any]:
    return dict(zip((column.name for column in columns), cells or [None] * len(columns), strict=True))


def name_values(
    schema: RecordSchema, features: Sequence[Any] | None, meta: Sequence[Any] | None
) -> dict[str, Any]:
    return name_cells(schema.features, features) | name_cells(schema.meta, meta)


def open_lens(session: Session, deployment_no: int) -> Lens:
    """Four statements."""
    monitor = find_monitor(session, deployment_no)
    attributes = () if monitor is None else monitor.attributes
    through = [attribute.feature for attribute in attributes if attribute.correlated_features]
    digests = read_donor_digests(session, deployment_no, through)
    schemas = read_schemas(session, deployment_no)
    targets = read_copy_targets(session, deployment_no)
    kinds = {
        no: _read_kind(key, schemas[key.schema_version], monitor, digests) for no, key in targets.items()
    }
    return Lens(monitor, schemas, targets, kinds)


def compare_outcomes(original: Outcome | None, copy: Outcome | None) -> Change | None:
    """None where one is in neither outcome list."""
    if original is None or copy is None or Outcome.UNCLASSIFIED in (original, copy):
        return None
    if original is copy:
        return "none"
    return "gained" if copy is Outcome.FAVOURABLE else "lost"


def _read_kind(
    key: TargetKey, schema: RecordSchema, monitor: Monitor | None, digests: Mapping[str, str]
) -> CopyKind:
    column = schema.column(key.feature)
    target = key.target
    donated = ()
    digest = None
    # The model does not see a meta field: its copies take the features of a donor.
    is_donated = any(column.name == key.feature for column in schema.meta)
    if is_donated:
        stored = json.loads(key.target)
        target = stored["target"]
        donated = tuple(stored["features"])
        digest = stored["donors"]
    # A category may begin with a bracket, too: only in a numeric column it is a range.
    is_range = column is not None and column.kind is FieldKind.NUMERIC and target.startswith("[")
    value = Range(*json.loads(target)) if is_range else target
    kind = CopyKind(key.feature, name_value(value), value, None, donated, digest)
    if monitor is None or column is None:
        return kind
    attribute = next(
        (attribute for attribute in monitor.attributes if attribute.feature == key.feature), None
    )
    if attribute is None:
        return kind
    # Of a single value there is nothing to draw.
    drawn = (monitor.draws, monitor.seed) if is_range else (1, 0)
    if key.seed != monitor.seed if is_donated else (key.draws, key.seed) != drawn:
        return kind
    if digest != (digests.get(key.feature) if is_donated else None):
        return kind
    if set(donated) != set(attribute.correlated_features):
        return kind
    groups = list_groups(attribute, column, [] if isinstance(value, Range) else [value])
    return replace(kind, role=next((group.role for group in groups if group.label == kind.group), None))
