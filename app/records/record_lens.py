"""Outcomes, groups and copies in the words of the present monitor. Reads no record."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from sqlalchemy.orm import Session

from ..base.frozen import frozen
from ..base.values import Range, Scalar, name_value
from ..deployments.monitor.queries import find_monitor
from ..deployments.training.queries import read_donor_digests
from ..domain.deployment import Column, FieldKind, RecordSchema
from ..domain.groups import Group, Role, list_groups
from ..domain.monitor import Monitor, Outcome
from ..sources.arrays.group_of_records import ListedGroups
from ..sources.stored.copy_answers import TargetKey
from ..sources.stored.record_queries import StoredCopy, StoredRecord, read_copy_targets, read_schemas

OutcomeWord = Literal["favourable", "unfavourable", "unclassified"]
Change = Literal["gained", "lost", "none"]

WORDS: Mapping[Outcome, OutcomeWord] = {
    Outcome.FAVOURABLE: "favourable",
    Outcome.UNFAVOURABLE: "unfavourable",
    Outcome.UNCLASSIFIED: "unclassified",
}


@frozen
class RecordGroup:
    """Both None where the value is in neither, or missing."""

    attribute: str
    group: str | None
    role: Role | None


@frozen
class CopyKind:
    """Kind of copy, by the change it makes.

    `donated` are the features that a donor of the group lends, of a meta field; `digest` says from which
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
    """Present monitor or None, every schema version, and every kind of copy ever scored."""

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
        values = name_cells(schema.features, record.features) | name_cells(schema.meta, record.meta)
        groups = []
        for attribute in self.monitor.attributes if self.monitor is not None else ():
            column, value = attribute.column_in(schema), values.get(attribute.feature)
            if attribute.rule is not None:
                value = name_value(
                    (attribute.monitored if attribute.rule.is_met_by(values) else attribute.reference or ())[
                        0
                    ]
                )
            group = (
                None
                if column is None or value is None
                else ListedGroups.of(attribute, column).find([value])[0]
            )
            groups.append(RecordGroup(attribute.feature, *(group or (None, None))))
        return groups

    def changes(self, record: StoredRecord, copies: Iterable[StoredCopy]) -> dict[str, Change]:
        """Changes by the present monitor's copies; an attribute without a classified copy is left out."""
        outcome, changes = self.outcome(record), dict[str, Change]()
        roles = {group.attribute: group.role for group in self.groups(record)}
        for copy in copies:
            key, kind = self.targets[copy.target_no], self.kinds[copy.target_no]
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
    """Cells by their columns' names; without cells, each is None."""
    return dict(zip((column.name for column in columns), cells or [None] * len(columns), strict=True))


def open_lens(session: Session, deployment_no: int) -> Lens:
    """Takes four statements."""
    monitor = find_monitor(session, deployment_no)
    through = (
        [attribute.feature for attribute in monitor.attributes if attribute.correlated_features]
        if monitor is not None
        else []
    )
    digests = read_donor_digests(session, deployment_no, through)
    schemas, targets = read_schemas(session, deployment_no), read_copy_targets(session, deployment_no)
    kinds = {
        no: _read_kind(key, schemas[key.schema_version], monitor, digests) for no, key in targets.items()
    }
    return Lens(monitor, schemas, targets, kinds)


def compare_outcomes(original: Outcome | None, copy: Outcome | None) -> Change | None:
    """None where one of the two is in neither outcome list."""
    if original is None or copy is None or Outcome.UNCLASSIFIED in (original, copy):
        return None
    if original is copy:
        return "none"
    return "gained" if copy is Outcome.FAVOURABLE else "lost"


def _read_kind(
    key: TargetKey, schema: RecordSchema, monitor: Monitor | None, digests: Mapping[str, str]
) -> CopyKind:
    """With a role where the present monitor asks for the same copy."""
    column = schema.column(key.feature)
    target, donated, digest = key.target, (), None
    # The model does not see a meta field: its copies take the features of a donor.
    is_donated = any(column.name == key.feature for column in schema.meta)
    if is_donated:
        stored = json.loads(key.target)
        target, donated, digest = stored["target"], tuple(stored["features"]), stored["donors"]
    # A category may begin with a bracket, too: only in a numeric column it is a range.
    is_range = column is not None and column.kind is FieldKind.NUMERIC and target.startswith("[")
    value = Range(*json.loads(target)) if is_range else target
    kind = CopyKind(
        key.feature, value.label if isinstance(value, Range) else value, value, None, donated, digest
    )

    attribute = (
        next((attribute for attribute in monitor.attributes if attribute.feature == key.feature), None)
        if monitor is not None
        else None
    )
    if monitor is None or attribute is None or column is None:
        return kind
    # Of a single value there is nothing to draw.
    drawn = (monitor.draws, monitor.seed) if is_range else (1, 0)
    if key.seed != monitor.seed if is_donated else (key.draws, key.seed) != drawn:
        return kind
    if (kind.digest, set(kind.donated)) != (
        digests.get(key.feature) if is_donated else None,
        set(attribute.correlated_features),
    ):
        return kind
    values: list[Scalar] = [] if isinstance(kind.value, Range) else [kind.value]
    groups: tuple[Group, ...] = list_groups(attribute, column, values)
    return replace(kind, role=next((group.role for group in groups if group.label == kind.group), None))
