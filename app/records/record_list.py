"""Lists payload records in the words of the present monitor."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from ..base.errors import Conflict, InvalidInput
from ..base.values import TOGETHER, frozen_by_name, name_value, quote_names
from ..checks.views.view_source import CheckWindow, WindowPart, window_of_check
from ..database.binary_rows import read_row
from ..domain.deployment import Column, FieldKind, RecordSchema
from ..domain.groups import group_test
from ..domain.mitigation import FlaggedRecord
from ..domain.monitor import MonitoredAttribute, ValueTest, find_comparison, list_comparisons, split_group
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
    StoredCopy,
    StoredRecord,
    count_records,
    find_by_gap,
    find_records,
    read_copies,
    read_flags,
    shown_record,
)
from .record_lens import WORDS, Change, Lens, OutcomeWord, RecordGroup, open_lens
from .second_look.words import known_gap

ChangedFilter = Literal["gained", "lost", "any", "none"]


@frozen_by_name
class RecordsWanted:
    """An absent member allows all. Times are half-open [since, until).

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
    """`outcome` None: no monitor. `changes`: of attributes whose copies were scored; `part`:
    of the window.
    """

    record: StoredRecord
    schema: RecordSchema
    outcome: OutcomeWord | None
    groups: tuple[RecordGroup, ...]
    changes: Mapping[str, Change]
    flags: Sequence[FlaggedRecord]
    part: WindowPart | None

    @property
    def gap(self) -> float | None:
        return max((gap for flag in self.flags if (gap := known_gap(flag)) is not None), default=None)


@frozen_by_name
class Records:
    """A page may be short, or empty, and still have a next one (`next_place`): requests read a bounded part
    of the log.
    """

    records: tuple[RecordSummary, ...]
    next_place: RecordPlace | GapPlace | None


def list_matching_records(session: Session, deployment_no: int, query: RecordsWanted) -> Records:
    """A fixed number of statements. Raises NotFound, InvalidInput, and Conflict without a monitor."""
    lens = open_lens(session, deployment_no)
    window = window_of_check(session, deployment_no, query.check_id)
    if window is not None and window.oldest is None:
        return Records(records=(), next_place=None)
    condition = build_record_filter(query, lens, window)
    next_place: RecordPlace | GapPlace | None
    if query.sort is RecordSort.GAP:
        if isinstance(query.after, RecordPlace):
            raise InvalidInput("cursor", "is not a cursor of the list by gap")
        by_gap = find_by_gap(session, deployment_no, condition, after=query.after, limit=query.limit)
        page = by_gap.records
        next_place = by_gap.next_place
    else:
        if isinstance(query.after, GapPlace):
            raise InvalidInput("cursor", "is a cursor of the list by gap")
        matched = find_records(session, deployment_no, condition, after=query.after, limit=query.limit + 1)
        page = matched.records[: query.limit]
        is_full = matched.is_cut or len(matched.records) > query.limit
        next_place = page[-1].place if is_full else matched.looked_through_to
    return Records(
        records=tuple(summaries(session, deployment_no, page, lens, window)), next_place=next_place
    )


def count_matching_records(
    session: Session, deployment_no: int, query: RecordsWanted, *, limit: int
) -> RecordCount:
    """Raises as `list_matching_records`."""
    window = window_of_check(session, deployment_no, query.check_id)
    if window is not None and window.oldest is None:
        return RecordCount(records=0, is_least=False)
    condition = build_record_filter(query, open_lens(session, deployment_no), window)
    return count_records(session, deployment_no, condition, most=limit)


def summaries(
    session: Session,
    deployment_no: int,
    records: Sequence[StoredRecord],
    lens: Lens,
    window: CheckWindow | None,
) -> list[RecordSummary]:
    """Two statements."""
    numbers = [record.record_no for record in records]
    copies = defaultdict[int, list[StoredCopy]](list)
    for copy in read_copies(session, numbers, lens.asked_for()):
        copies[copy.record_no].append(copy)
    flags = defaultdict[int, list[FlaggedRecord]](list)
    for flag in read_flags(session, deployment_no, numbers):
        flags[flag.record_no].append(flag)
    return [
        RecordSummary(
            record=shown_record(record),
            schema=lens.schemas[record.schema_version],
            outcome=WORDS.get(lens.outcome(record)),
            groups=tuple(lens.groups(record)),
            changes=lens.changes(record, copies[record.record_no]),
            flags=flags[record.record_no],
            part=None if window is None else window.part_of(record),
        )
        for record in records
        # One logged under a schema of this very moment is there the next time.
        if record.schema_version in lens.schemas
    ]


def build_record_filter(query: RecordsWanted, lens: Lens, window: CheckWindow | None) -> RecordFilter:
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
            listed = ", ".join(comparison.label for comparison in list_comparisons(monitor))
            raise InvalidInput("attribute", f"is none that the monitor watches, which are: {listed}"[:1000])
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
        else tuple(lens.asked_for([member.feature for member in members] or None)),
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
    tests = [group_test(label if value is None else value, column) for _, _, column in versions_by_column]
    texts = {text for test in tests for text in test.texts}
    ranges = dict.fromkeys(bounds for test in tests for bounds in test.ranges)
    return GroupTest(ValueTest(tuple(sorted(texts)), tuple(ranges)), places)
