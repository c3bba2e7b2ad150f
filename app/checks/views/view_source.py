"""Stored tables and figures of one check, the part of the log that it read, and notes on both."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from ...base.clock import HOUR, floor_to_hour
from ...base.errors import InvalidInput, NotFound
from ...base.strict_json import JsonObject
from ...base.values import frozen
from ...database.tables import CheckRow, CheckTableRow
from ...deployments.monitor.monitor_fit import list_notes_on_doubts
from ...deployments.monitor.queries import find_monitor
from ...domain.check import CheckRun, CheckState, DataSet, Measurement, Span
from ...domain.groups import NEAR_TWINS
from ...domain.monitor import Comparison, Monitor, OutcomeRule
from ...sources.stored.record_conditions import RecordPlace
from ...sources.stored.record_queries import StoredRecord, find_nth_newest
from ...statistics.catalogue import CATALOGUE
from ...statistics.sentences.left_out import add_lost_records, list_lines
from ..advice.advice import count_records
from ..copies.refusals import explain_not_scored
from ..counting.left_out_of_check import LEFT_OUT
from ..counting.other_revisions import merge_revisions
from ..counting.tabulate import ADDITIONAL, TABLE_TYPES, Table, find_table_data, merge_tables
from ..measure import measure_table
from ..queries import SELECT_RUNS, build_run, get_check, select_under_way
from ..result_queries import (
    MissingRecords,
    count_not_stored,
    describe_corrected,
    read_measurements,
    read_stored_tables,
)
from ..window.window_records import ERASED_RECORDS, LABELS_OF_SOME, SAMPLING

WindowPart = Literal["span", "additional"]

CheckRecords = Mapping[str, JsonObject]
"""Counted and left out records, by data set and label of the comparison."""

_DATA_SETS = (
    select(func.array_agg(CheckTableRow.data.distinct()))
    .where(CheckTableRow.check_no == CheckRow.no)
    .scalar_subquery()
)

SAMPLED_OUT = (
    "Sampled at {rate}: the programs that log left {records} of the hours from {start} to {end} UTC out on "
    "purpose. Every figure and every number of records is of those that were logged."
)
REPRESENTED = (
    "Sampled at {rate}: {records} represent {represented:,}. In rates and comparisons each counts for as "
    "many as it represents; the intervals are as wide as those of {effective:,} records that all count "
    "alike. Numbers of records are of those that were logged."
)
RATES_DIFFER = (
    " The rates differ: figures that cannot allow for that are not computable, and evidence over time leaves "
    "out the hours in which they differ."
)
LOGGED_RATES_DIFFER = (
    " The rates differ, so a logged record does not always represent the same number of decisions; "
    "figures do not allow for that."
)
UNSEEN = (
    "The model does not see {attribute}, and no correlated features are set for it: it answers every copy as "
    "it answered the record, so the counterfactual figures say nothing that those as logged do not."
)
SEEN_THROUGH_FEATURES = (
    "The model does not see {attribute}. Its copies take {features} from training records of the other "
    "group, so counterfactual figures measure what goes through these features."
)


@frozen
class StoredParts:
    """Count table of the `whole` window, and of its `additional` records; `cells` are as stored."""

    whole: Table
    additional: Table
    cells: tuple[JsonObject, ...]


@frozen
class CountedCheck:
    """A check, and the one that measured its figures: itself, unless they are carried forward.

    `data_sets` are those that have tables.
    """

    check: CheckRun
    origin: CheckRun
    data_sets: frozenset[DataSet]

    @property
    def window(self) -> JsonObject:
        return self.origin.window or {}

    @property
    def hours(self) -> Span:
        """Whole hours from the oldest record of the window to the end of the span."""
        span = self.origin.span
        oldest = self.window.get("oldest_record_at")
        start = span.start if oldest is None else min(span.start, datetime.fromisoformat(oldest))
        # The first moment after the span belongs to no hour of it.
        return Span(floor_to_hour(start), floor_to_hour(span.end - timedelta.resolution) + HOUR)


@frozen
class CheckSource:
    """Everything stored that the views of a check show: tables, figures, records left out."""

    counted: CountedCheck
    tables: Mapping[tuple[DataSet, Comparison], StoredParts]
    figures: tuple[Measurement, ...]
    monitor: Monitor
    records: CheckRecords

    @property
    def window(self) -> JsonObject:
        return self.counted.window

    def records_on(self, data: DataSet, comparison: Comparison) -> JsonObject | None:
        return self.records.get(data.value, {}).get(comparison.label)

    def list_comparisons(self) -> list[Comparison]:
        """Lists comparisons of logged records: combinations last, else in the order of the stored figures."""
        measured = dict.fromkeys(
            figure.comparison for figure in self.figures if figure.data is DataSet.AS_LOGGED
        )
        order = {comparison: position for position, comparison in enumerate(measured)}
        return sorted(
            (comparison for data, comparison in self.tables if data is DataSet.AS_LOGGED),
            key=lambda comparison: (
                comparison.is_combination,
                order.get(comparison, len(order)),
                comparison.label,
            ),
        )

    def list_stored(self, data: DataSet, comparison: Comparison, metric: str) -> Iterator[Measurement]:
        return (
            figure
            for figure in self.figures
            if (figure.data, figure.comparison, figure.metric) == (data, comparison, metric)
        )

    def list_or_measure(
        self, data: DataSet, comparison: Comparison, metric: str, table: Table | None = None
    ) -> list[Measurement]:
        """Lists the stored figures; without any, measures them on the table, by default the stored one."""
        stored = self.tables.get((find_table_data(data), comparison))
        if table is None and stored:
            table = stored.whole
        figures = list(self.list_stored(data, comparison, metric))
        if figures or table is None:
            return figures
        return self.measure(data, comparison, metric, table)

    def measure(self, data: DataSet, comparison: Comparison, metric: str, table: Table) -> list[Measurement]:
        check = self.counted.check
        stored = self.tables.get((data, comparison))
        measurements = measure_table(
            data,
            comparison,
            table,
            monitor=self.monitor,
            at=check.span.end,
            metrics=[CATALOGUE[metric]],
            other_revisions=merge_revisions(stored.cells if stored else ()),
        )
        is_carried = self.counted.origin.no != check.no
        return [
            replace(measurement, carried_forward=is_carried)
            for measurement in explain_not_scored(measurements, self.window)
        ]


def read_counted_check(session: Session, check: CheckRun) -> CountedCheck:
    return _find_origin(check, _read_counted(session, CheckRow.id == (check.carried_from or check.id)))


def _read_counted(session: Session, *conditions: ColumnElement[bool]) -> dict[str, CountedCheck]:
    """Reads checks that meet all conditions, by id, each as the origin of its own figures."""
    checks_by_id = {}
    for row, deployment_id, data_sets in session.execute(
        SELECT_RUNS.add_columns(_DATA_SETS).where(*conditions)
    ):
        run = build_run(row, deployment_id)
        checks_by_id[run.id] = CountedCheck(run, run, frozenset(map(DataSet, data_sets or ())))
    return checks_by_id


def _find_origin(check: CheckRun, counted: Mapping[str, CountedCheck]) -> CountedCheck:
    origin_id = check.carried_from or check.id
    if origin_id not in counted:
        raise NotFound("check", origin_id)
    return replace(counted[origin_id], check=check)


@frozen
class PresentChecks:
    newest: CountedCheck | None
    under_way: CheckRun | None


def read_present(session: Session, deployment_no: int, newest_no: int | None) -> PresentChecks:
    """Reads both in one statement; `newest_no` is the number of the newest check with figures."""
    carried_from = select(CheckRow.window["carried_from"].astext).where(CheckRow.no == newest_no)
    is_present = or_(
        CheckRow.no.in_((newest_no, select_under_way(deployment_no))),
        CheckRow.id == carried_from.scalar_subquery(),
    )
    checks_by_id = _read_counted(session, CheckRow.deployment_no == deployment_no, is_present)
    runs = [counted_check.check for counted_check in checks_by_id.values()]
    newest = next((run for run in runs if run.no == newest_no), None)
    open_states = {CheckState.QUEUED, CheckState.RUNNING}
    return PresentChecks(
        None if newest is None else _find_origin(newest, checks_by_id),
        next((run for run in runs if run.state in open_states), None),
    )


def read_left_out(counted: CountedCheck, lost: MissingRecords) -> CheckRecords:
    """Returns the check's counted and left out records, with the `lost` ones, which were never stored."""
    counts = {
        "rejected": lost.rejected,
        "dropped": lost.not_received,
        "erased": counted.window.get(ERASED_RECORDS, 0),
    }
    return {
        data: {label: add_lost_records(records, **counts) for label, records in records_by_label.items()}
        for data, records_by_label in counted.window.get(LEFT_OUT, {}).items()
    }


def count_lost(session: Session, counted: CountedCheck) -> MissingRecords:
    return count_not_stored(session, counted.check.deployment_no, counted.hours, check_no=counted.origin.no)


def read_check_source(
    session: Session, counted: CountedCheck, *, data: Sequence[DataSet], metrics: Collection[str]
) -> CheckSource:
    cells_by_part: dict[tuple[DataSet, Comparison], dict[str, JsonObject]] = {}
    for stored in read_stored_tables(session, counted.origin.no, data=data):
        cells_by_part.setdefault((stored.data, stored.comparison), {})[stored.part] = stored.cells

    tables: dict[tuple[DataSet, Comparison], StoredParts] = {}
    for (table_data, comparison), cells in cells_by_part.items():
        parts = {part: TABLE_TYPES[table_data].from_json(cells[part]) for part in cells}
        tables[table_data, comparison] = StoredParts(
            merge_tables(table_data, list(parts.values())),
            merge_tables(table_data, [parts[ADDITIONAL]] if ADDITIONAL in parts else []),
            tuple(cells.values()),
        )

    monitor = find_monitor(session, counted.check.deployment_no)
    return CheckSource(
        counted,
        tables,
        # A carried check stores the measurements of its origin again, but not its tables.
        tuple(read_measurements(session, counted.check.no, metrics=metrics)),
        monitor or Monitor(outcomes=OutcomeRule(favourable=(), unfavourable=()), attributes=()),
        read_left_out(counted, count_lost(session, counted)),
    )


@frozen
class CheckWindow:
    """Part of the log that a check read: the span's newest records, and those right before it if too few.

    The window holds records of one schema version (None: of all) back to `oldest` (None: it holds none).
    """

    span: Span
    version: int | None
    oldest: RecordPlace | None

    def find_part(self, record: StoredRecord) -> WindowPart | None:
        """Finds the part that a record is in; None outside the window."""
        oldest = self.oldest
        at = record.logged_at
        is_read = at < self.span.end and self.version in (None, record.schema_version)
        if not is_read or oldest is None or (at, record.record_no) < (oldest.logged_at, oldest.record_no):
            return None
        return "span" if at >= self.span.start else "additional"


def read_window_of_check(session: Session, deployment_no: int, check_id: str | None) -> CheckWindow | None:
    """Reads the window of the check that measured the figures; None if no check is named.

    It is found by times and counts: records placed into past hours after the check are taken for its own.

    Raises:
        NotFound: the deployment has no check of that id.
        InvalidInput: the check has not read any records.
    """
    if check_id is None:
        return None
    check = get_check(session, deployment_no, check_id)
    if check.carried_from:
        check = get_check(session, deployment_no, check.carried_from)
    if check.window is None:
        raise InvalidInput("check", f"has read no records: it is {check.state.value}")
    window = check.window
    span = check.span
    version = window.get("schema_version")
    in_span = window.get("records", 0)
    additional = window.get("additional_records", 0)
    if in_span + additional == 0:
        return CheckWindow(span, version, None)
    if not additional and in_span == window.get("logged_in_span"):
        return CheckWindow(span, version, RecordPlace(span.start, 0))
    since = datetime.fromisoformat(window["oldest_record_at"])
    oldest = find_nth_newest(
        session, deployment_no, version, before=span.end, since=since, count=in_span + additional
    )
    return CheckWindow(span, version, oldest or RecordPlace(since, 0))


def list_notes_of_check(session: Session, counted: CountedCheck, attribute: str | None) -> tuple[str, ...]:
    lost = count_lost(session, counted)
    logged = read_left_out(counted, lost).get(DataSet.AS_LOGGED.value, {})
    records = logged.get(attribute or "")
    notes = [] if records is None else [f"{attribute}: {line}" for line in list_lines(records)]
    if labels := counted.window.get(LABELS_OF_SOME):
        notes.append(labels)
    return (*notes, *list_notes_on_records(counted, lost))


def list_notes_on_records(counted: CountedCheck, lost: MissingRecords) -> tuple[str, ...]:
    sampling = counted.window.get(SAMPLING)
    hours = counted.hours
    notes = []
    if sampling:
        note = REPRESENTED.format(
            rate=_describe_rates(sampling["lowest_rate"], sampling["highest_rate"]),
            records=count_records(sampling["records"]),
            represented=sampling["represented"],
            effective=sampling["effective"],
        )
        notes.append(note + RATES_DIFFER if sampling["is_unequal"] else note)
    elif lost.sampled_out and lost.lowest_rate is not None and lost.highest_rate is not None:
        note = SAMPLED_OUT.format(
            rate=_describe_rates(lost.lowest_rate, lost.highest_rate),
            records=count_records(lost.sampled_out),
            start=f"{hours.start:%Y-%m-%d %H:%M}",
            end=f"{hours.end:%Y-%m-%d %H:%M}",
        )
        notes.append(note if lost.lowest_rate == lost.highest_rate else note + LOGGED_RATES_DIFFER)
    if lost.corrected:
        notes.append(describe_corrected(lost.corrected, f"{counted.origin.started_at:%-d %b %Y}"))
    return (*notes, *(f"{twin}." for twin in counted.window.get(NEAR_TWINS, ())))


def _describe_rates(lowest: float, highest: float) -> str:
    low = f"{lowest:.4g}"
    high = f"{highest:.4g}"
    return low if low == high else f"{low} to {high}"


def list_notes_on_unseen(window: JsonObject) -> dict[str, tuple[str, ...]]:
    correlated = window.get("correlated_features", {})
    notes: dict[str, tuple[str, ...]] = {
        name: (UNSEEN.format(attribute=name),)
        for name in window.get("attributes_unseen_by_model", ())
        if name not in correlated
    }
    for name, facts in correlated.items():
        notes[name] = (
            SEEN_THROUGH_FEATURES.format(attribute=name, features=", ".join(facts["features"])),
            *list_notes_on_doubts(name, facts),
        )
    return notes
