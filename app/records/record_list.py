"""Payload records in the words of the present monitor: their outcomes, groups and changes."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Row
from sqlalchemy.orm import Session

from ..base.errors import Conflict, InvalidInput
from ..base.values import TOGETHER, Range, frozen, frozen_by_name, name_value, quote_names
from ..checks.views.view_source import CheckWindow, WindowPart, read_window_of_check
from ..database.binary_rows import read_row
from ..deployments.monitor.queries import find_monitor
from ..deployments.training.queries import read_donor_digests
from ..domain.deployment import Column, FieldKind, RecordSchema
from ..domain.groups import Role, build_group_test, list_groups
from ..domain.mitigation import FlaggedRecord
from ..domain.monitor import (
    Monitor,
    MonitoredAttribute,
    Outcome,
    ValueTest,
    find_comparison,
    list_comparisons,
    split_group,
)
from ..sources.arrays.read_records import ListedGroups
from ..sources.stored.copy_answers import TargetKey
from ..sources.stored.record_conditions import (
    ColumnPlace,
    GapPlace,
    GroupTest,
    RecordFilter,
    RecordPlace,
    RecordSort,
)
from ..sources.stored.record_queries import (
    RecordCount,
    StoredRecord,
    count_records,
    find_by_gap,
    find_records,
    read_copies,
    read_copy_targets,
    read_flags,
    read_schemas,
    show_record,
)
from .second_look.words import find_known_gap

OutcomeWord = Literal["favourable", "unfavourable", "unclassified"]
Change = Literal["gained", "lost", "none"]

OUTCOME_WORDS: Mapping[Outcome | None, OutcomeWord] = {
    Outcome.FAVOURABLE: "favourable",
    Outcome.UNFAVOURABLE: "unfavourable",
    Outcome.UNCLASSIFIED: "unclassified",
}


@frozen
class RecordGroup:
    """Group of a record by one attribute; None where its value is in neither group, or missing."""

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
    """The present monitor as it reads records: their outcomes, groups, and the changes that copies show.

    Schemas are by version, targets and kinds of copies by target number.
    """

    monitor: Monitor | None
    schemas: Mapping[int, RecordSchema]
    targets: Mapping[int, TargetKey]
    kinds: Mapping[int, CopyKind]

    def classify(self, answer: StoredRecord | Row[Any]) -> Outcome | None:
        if self.monitor is None:
            return None
        return self.monitor.outcomes.classify(answer.prediction if answer.label is None else answer.label)

    def find_groups(self, record: StoredRecord) -> list[RecordGroup]:
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

    def find_changes(self, record: StoredRecord, copies: Iterable[Row[Any]]) -> dict[str, Change]:
        """Changes by attribute; one that a copy shows counts before none."""
        outcome = self.classify(record)
        changes: dict[str, Change] = {}
        roles = {group.attribute: group.role for group in self.find_groups(record)}
        for copy in copies:
            key = self.targets[copy.target_no]
            kind = self.kinds[copy.target_no]
            is_own = (key.model_revision, key.schema_version) == (
                record.model_revision,
                record.schema_version,
            )
            if not is_own or kind.role is None or roles.get(kind.attribute) in (None, kind.role):
                continue
            change = compare_outcomes(outcome, self.classify(copy))
            if change is not None and changes.get(kind.attribute, "none") == "none":
                changes[kind.attribute] = change
        return changes

    def list_present_targets(self, attributes: Iterable[str] | None = None) -> list[int]:
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
    """Reads what a list of records needs. Four statements."""
    monitor = find_monitor(session, deployment_no)
    attributes = () if monitor is None else monitor.attributes
    donor_attributes = [attribute.feature for attribute in attributes if attribute.correlated_features]
    digests = read_donor_digests(session, deployment_no, donor_attributes)
    schemas = read_schemas(session, deployment_no)
    targets = read_copy_targets(session, deployment_no)
    kinds = {
        no: _read_kind(key, schemas[key.schema_version], monitor, digests) for no, key in targets.items()
    }
    return Lens(monitor, schemas, targets, kinds)


def compare_outcomes(original: Outcome | None, copy: Outcome | None) -> Change | None:
    """Returns the change that a copy shows; None where one of the outcomes is in neither outcome list."""
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
    present_draws = (monitor.draws, monitor.seed) if is_range else (1, 0)
    if is_donated and key.seed != monitor.seed:
        return kind
    if not is_donated and (key.draws, key.seed) != present_draws:
        return kind
    if digest != (digests.get(key.feature) if is_donated else None):
        return kind
    if set(donated) != set(attribute.correlated_features):
        return kind
    groups = list_groups(attribute, column, [] if isinstance(value, Range) else [value])
    return replace(kind, role=next((group.role for group in groups if group.label == kind.group), None))


ChangedFilter = Literal["gained", "lost", "any", "none"]


@frozen_by_name
class RecordListQuery:
    """Filter, order and page of a list. An absent member allows all. Times are half-open [since, until).

    `attribute` may be an intersection; by itself it allows all, and says whose `group` and which copies
    (`changed`) are meant. `after` is a `GapPlace` of a list by gap, and a `RecordPlace` of another.
    """

    check_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    attribute: str | None = None
    group: str | None = None
    outcome: OutcomeWord | None = None
    changed: ChangedFilter | None = None
    mitigated: bool = False
    sort: RecordSort = RecordSort.NEWEST
    after: RecordPlace | GapPlace | None = None
    limit: int = 100


@frozen_by_name
class RecordSummary:
    """`outcome` is None without a monitor, `changes` has attributes whose copies were scored."""

    record: StoredRecord
    schema: RecordSchema
    outcome: OutcomeWord | None
    groups: tuple[RecordGroup, ...]
    changes: Mapping[str, Change]
    flags: Sequence[FlaggedRecord]
    part: WindowPart | None
    """Part of the window of the check."""

    @property
    def gap(self) -> float | None:
        gaps = [find_known_gap(flag) for flag in self.flags]
        return max((gap for gap in gaps if gap is not None), default=None)


@frozen_by_name
class RecordListPage:
    """May be short, or empty, and have a next one (`next_place`): requests read a bounded part of the log."""

    records: tuple[RecordSummary, ...]
    next_place: RecordPlace | GapPlace | None


def list_matching_records(session: Session, deployment_no: int, query: RecordListQuery) -> RecordListPage:
    """Raises NotFound, InvalidInput, and Conflict without a monitor."""
    lens = open_lens(session, deployment_no)
    window = read_window_of_check(session, deployment_no, query.check_id)
    if window is not None and window.oldest is None:
        return RecordListPage(records=(), next_place=None)
    condition = build_record_filter(query, lens, window)
    if query.sort is RecordSort.GAP:
        if isinstance(query.after, RecordPlace):
            raise InvalidInput("cursor", "is not a cursor of the list by gap")
        page = find_by_gap(session, deployment_no, condition, after=query.after, limit=query.limit)
    elif isinstance(query.after, GapPlace):
        raise InvalidInput("cursor", "is a cursor of the list by gap")
    else:
        page = find_records(session, deployment_no, condition, after=query.after, limit=query.limit)
    records = summarise_records(session, deployment_no, page.records, lens, window)
    return RecordListPage(records=tuple(records), next_place=page.next_place)


def count_matching_records(
    session: Session, deployment_no: int, query: RecordListQuery, *, limit: int
) -> RecordCount:
    """Counts records up to `limit`. Raises as `list_matching_records`."""
    window = read_window_of_check(session, deployment_no, query.check_id)
    if window is not None and window.oldest is None:
        return RecordCount(records=0, is_least=False)
    condition = build_record_filter(query, open_lens(session, deployment_no), window)
    return count_records(session, deployment_no, condition, most=limit)


def summarise_records(
    session: Session,
    deployment_no: int,
    records: Sequence[StoredRecord],
    lens: Lens,
    window: CheckWindow | None,
) -> list[RecordSummary]:
    numbers = [record.record_no for record in records]
    copies = defaultdict[int, list[Row[Any]]](list)
    for copy in read_copies(session, numbers, lens.list_present_targets()):
        copies[copy.record_no].append(copy)
    flags = defaultdict[int, list[FlaggedRecord]](list)
    for flag in read_flags(session, deployment_no, numbers):
        flags[flag.record_no].append(flag)
    return [
        RecordSummary(
            record=show_record(record),
            schema=lens.schemas[record.schema_version],
            outcome=OUTCOME_WORDS.get(lens.classify(record)),
            groups=tuple(lens.find_groups(record)),
            changes=lens.find_changes(record, copies[record.record_no]),
            flags=flags[record.record_no],
            part=None if window is None else window.find_part(record),
        )
        for record in records
        # One logged under a schema of this very moment is there the next time.
        if record.schema_version in lens.schemas
    ]


def build_record_filter(query: RecordListQuery, lens: Lens, window: CheckWindow | None) -> RecordFilter:
    """Raises InvalidInput (no such attribute or group), Conflict (no monitor)."""
    monitor = lens.monitor
    if monitor is None and (query.attribute, query.group, query.outcome, query.changed) != (None,) * 4:
        raise Conflict(
            "The deployment has no fairness monitor, which says what is favourable and who is in which "
            "group. Set one first."
        )
    if query.group is not None and query.attribute is None:
        raise InvalidInput("attribute", "must say of which attribute the group is")
    members = []
    if monitor is not None and query.attribute is not None:
        comparison = find_comparison(monitor, query.attribute)
        if comparison is None:
            watched = ", ".join(comparison.label for comparison in list_comparisons(monitor))
            raise InvalidInput("attribute", f"is none that the monitor watches, which are: {watched}"[:1000])
        members = comparison.members(monitor)
        if any(member.rule is not None for member in members):
            raise InvalidInput(
                "attribute",
                "has a rule over several columns, by which records cannot be listed; filter by its columns",
            )

    groups: tuple[tuple[GroupTest, ...], ...] = ()
    if query.group is not None:
        # If no way to divide the label fits, it is divided at every ×: the refusal names the attribute
        # without such a group.
        label = query.group
        divisions = (
            [(label,)] if len(members) == 1 else split_group(label, members) or [tuple(label.split(TOGETHER))]
        )
        if len(divisions[0]) != len(members):
            names = TOGETHER.join(member.feature for member in members)
            raise InvalidInput("group", f"must name a group of each of {names}, joined by ×")
        groups = tuple(
            tuple(
                _test_group(member, label, lens.schemas)
                for member, label in zip(members, labels, strict=True)
            )
            for labels in divisions
        )

    end = None if window is None else window.span.end
    return read_row(
        RecordFilter,
        query,
        until=min(filter(None, (query.until, end)), default=None),
        oldest=None if window is None else window.oldest,
        version=None if window is None else window.version,
        favourable=ValueTest() if monitor is None else monitor.outcomes.tests.favourable,
        unfavourable=ValueTest() if monitor is None else monitor.outcomes.tests.unfavourable,
        groups=groups,
        without_flags=False,
        targets=()
        if query.changed is None
        else tuple(lens.list_present_targets([member.feature for member in members] or None)),
    )


def _test_group(attribute: MonitoredAttribute, label: str, schemas: Mapping[int, RecordSchema]) -> GroupTest:
    value = next((value for value in attribute.listed if name_value(value) == label), None)
    if value is None and attribute.labels is not None:
        names = quote_names(attribute.labels)
        raise InvalidInput(
            "group", f"is none of {attribute.feature!r} in the monitor, whose groups are: {names}"
        )
    versions_by_column = defaultdict[tuple[bool, int, Column], list[int]](list)
    for version, schema in schemas.items():
        for in_features, columns in ((True, schema.features), (False, schema.meta)):
            for position, column in enumerate(columns):
                if column.name == attribute.feature:
                    versions_by_column[in_features, position, column].append(version)
    places = tuple(
        ColumnPlace(tuple(versions), in_features, position, column.kind is FieldKind.NUMERIC)
        for (in_features, position, column), versions in versions_by_column.items()
    )
    # With the reference left out, every other value is a group of its own.
    tests = [
        build_group_test(label if value is None else value, column) for _, _, column in versions_by_column
    ]
    texts = {text for test in tests for text in test.texts}
    ranges = dict.fromkeys(bounds for test in tests for bounds in test.ranges)
    return GroupTest(ValueTest(tuple(sorted(texts)), tuple(ranges)), places)
