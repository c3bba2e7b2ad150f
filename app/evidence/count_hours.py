"""Counts the records and labels of whole hours by group, each once, and why others do not count."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Row

from ..base.clock import HOUR
from ..base.errors import InvalidInput
from ..base.values import frozen_arrays
from ..checks.counting.left_out_of_check import count_table
from ..checks.counting.tabulate import EVERYBODY
from ..checks.window.window_records import compare_texts
from ..database.binary_rows import plain_json
from ..database.engine import ArrowReader
from ..domain.check import DataSet, Span
from ..domain.groups import GroupWords
from ..domain.monitor import Monitor, MonitoredAttribute, Outcome, list_comparisons
from ..sources.arrays.read_records import RecordColumns, RecordTable, read_table
from ..sources.stored.window_queries import WindowQuery, name_values
from ..statistics.e_values.state_words import MINUTE
from ..statistics.group_labels import ComparedGroup, FloatArray, Groups, IntArray, union
from ..statistics.sentences.left_out import UNCLASSIFIED, CountedRecords
from ..statistics.tables.count_table import OUTCOMES
from .first_records import ChoosesRecords
from .queries.eras import Era, FollowedDeployment
from .queries.figure_states import KnownFigure
from .queries.hour_counts import COUNTED, CountedHour, CountedPlace, labels_between, records_between
from .watched_figures import WatchedMetric, watched_metrics

Definition = dict[str, Any]


def define_figures(monitor: Monitor, watched: WatchedMetric) -> Definition:
    """JSON of what a metric's figures compare, each with its group.

    Labels name values within one attribute, so the group's label and this are the whole definition.
    """
    definition: Definition = {
        "favourable": monitor.outcomes.favourable,
        "unfavourable": monitor.outcomes.unfavourable,
        "limits": [[limit.direction, limit.value] for limit in watched.limits],
        "attributes": [_define_attribute(attribute) for attribute in watched.comparison.members(monitor)],
        "evidence": {
            name: getattr(monitor.evidence, name)
            for name in ("person", "label_horizon_hours", "false_alarm_hours")
        },
    }
    if watched.definition.is_paired:
        (attribute,) = watched.comparison.members(monitor)
        definition["copies"] = {
            "draws": monitor.draws,
            "seed": monitor.seed,
            "correlated_features": attribute.correlated_features,
        }
    return cast("Definition", plain_json(definition))


def _define_attribute(attribute: MonitoredAttribute) -> Definition:
    for name, part in (("rule", attribute.rule), ("reference", attribute.reference)):
        if part is not None:
            return {"feature": attribute.feature, name: part}
    return {"feature": attribute.feature, "all_but": attribute.monitored}


Mask = npt.NDArray[np.bool_]


@dataclass
class FollowedEra:
    """Hours before `starts_at` (if any) do not count for a figure that appears.

    `changes` of the era are to be stored.
    """

    deployment: FollowedDeployment
    monitor: Monitor
    era: Era
    starts_at: datetime | None = None
    changes: dict[str, Any] = field(default_factory=dict)

    def note(self, **reached: Any) -> None:  # noqa: ANN401 - columns of the era
        self.era = replace(self.era, **reached)
        self.changes |= reached

    @cached_property
    def metrics(self) -> Sequence[WatchedMetric]:
        return tuple(watched_metrics(self.monitor))

    @cached_property
    def definitions(self) -> Mapping[tuple[CountedPlace, str], Definition]:
        return {metric.key: define_figures(self.monitor, metric) for metric in self.metrics}

    def compares(self, figure: KnownFigure) -> bool:
        if figure.definition is None:
            return self.era.monitor_version == self.monitor.version
        stored, now = (
            None
            if definition is None
            else {**definition, "evidence": {**definition["evidence"], "person": None}}
            for definition in (figure.definition, self.definitions.get(figure.metric_key))
        )
        # What is said of persons holds from then on, and begins nothing again.
        return stored == now

    def with_person(self, person: str | None) -> "FollowedEra":
        evidence = replace(self.monitor.evidence, person=person)
        return replace(self, monitor=replace(self.monitor, evidence=evidence))

    @property
    def horizon(self) -> timedelta:
        return timedelta(hours=self.monitor.evidence.label_horizon_hours)


@frozen_arrays
class ReadRecords:
    """Rows, what the monitor reads in them, and the number of each one's hour.

    `left_out` marks records by reason. `repeats` says how many records each row is; None: one.
    """

    rows: pa.Table
    read: RecordTable
    hours: IntArray
    left_out: Mapping[str, Mask] = field(default_factory=dict)
    repeats: IntArray | None = None


def count_payload(
    reader: ArrowReader, followed: FollowedEra, span: Span, people: ChoosesRecords | None
) -> list[CountedHour]:
    """Favourable and all records, for each comparison."""
    batches = _read(
        followed,
        lambda query: records_between(reader, query, span, followed.era.model_revision),
        span,
        people,
    )
    return merge_hours(tabulate_payload(batch, followed.monitor, span) for batch in batches)


def tabulate_payload(batch: ReadRecords, monitor: Monitor, span: Span) -> Iterator[CountedHour]:
    """Counts groups, also of records that are left out: the reason follows the role. Those in no group have
    no role.

    Their label says why none is, if the comparison cannot be made.
    """
    for comparison in list_comparisons(monitor):
        counted, problem = comparison, None
        try:
            batch.read.compare(comparison)
        except InvalidInput as error:
            counted = EVERYBODY
            problem = error.problems[0].message
        for number in np.unique(batch.hours).tolist():
            records = count_table(
                batch.read,
                counted,
                excluded=batch.left_out,
                repeats=batch.repeats,
                where=batch.hours == number,
            )
            groups = [*((group.label, group.role) for group in records.groups), (problem, "")]
            cells = [
                [label, f"{role} {reason}".rstrip(), int(of_group[Outcome.FAVOURABLE]), int(of_group.sum())]
                for reason, counts in {"": records.counts, **records.left_out}.items()
                for (label, role), of_group in zip(groups, counts, strict=True)
                if of_group.any()
            ]
            yield CountedHour(
                place=CountedPlace(DataSet.AS_LOGGED, comparison.label),
                hour=span.start + number * HOUR,
                cells=cells,
            )


def count_labels(
    reader: ArrowReader, followed: FollowedEra, span: Span, people: ChoosesRecords | None
) -> list[CountedHour]:
    """Labels by prediction, in the order of `figures.DEFINITIONS`."""
    revision = followed.era.model_revision
    batches = _read(
        followed, lambda query: labels_between(reader, query, span, revision, followed.horizon), span, people
    )
    return merge_hours(tabulate_labels(batch, followed, span) for batch in batches)


def tabulate_labels(batch: ReadRecords, followed: FollowedEra, span: Span) -> Iterator[CountedHour]:
    """The rows have `label` and `outcome` as JSON texts."""
    predicted = batch.read.outcomes
    rule = followed.monitor.outcomes
    labels = compare_texts(
        batch.rows["label"],
        batch.rows["outcome"],
        predicted,
        rule=rule,
        problem_type=followed.deployment.problem_type,
    )
    is_known = (labels.actual != Outcome.UNCLASSIFIED) & (predicted != Outcome.UNCLASSIFIED)
    is_favourable = predicted == Outcome.FAVOURABLE
    actual = labels.actual
    columns: list[Mask] = []
    for outcome in (Outcome.FAVOURABLE, Outcome.UNFAVOURABLE):
        columns += [is_known & (actual == outcome) & is_favourable, is_known & (actual == outcome)]
    columns += [is_known & (labels.correct == 1), is_known]
    size = int((span.end - span.start) / HOUR)
    for comparison in list_comparisons(batch.read.monitor):
        try:
            named, codes = batch.read.compare(comparison)
        except InvalidInput:
            continue  # the counts of its payload say why
        # Negative codes would count in the hour before.
        placed = ~np.logical_or.reduce([codes < 0, *batch.left_out.values()])
        cell = batch.hours * len(named) + codes
        sums = [np.bincount(cell[placed & column], minlength=size * len(named)) for column in columns]
        counted = np.column_stack(sums).reshape(size, len(named), len(columns))
        place = CountedPlace(DataSet.LABELLED, comparison.label)
        for hour in np.flatnonzero(counted[:, :, -1].any(axis=1)):
            cells = [
                [*group, *counts]
                for group, counts in zip(named, counted[hour].tolist(), strict=True)
                if counts[-1]
            ]
            yield CountedHour(place=place, hour=span.start + int(hour) * HOUR, cells=cells)


def _read(
    followed: FollowedEra, fetch: Callable[[WindowQuery], pa.Table], span: Span, people: ChoosesRecords | None
) -> list[ReadRecords]:
    """A version without the column of people is left out: who its records are of is unknown."""
    person = followed.monitor.evidence.person
    batches: list[ReadRecords] = []
    for schema in followed.deployment.schemas:
        if person is not None and schema.column(person) is None:
            continue
        monitor = followed.monitor.within(schema)
        names = [name for attribute in monitor.attributes for name in attribute.columns]
        columns = tuple(dict.fromkeys(names if person is None else [*names, person]))
        rows = fetch(WindowQuery(followed.deployment.no, schema, columns))
        if not rows.num_rows:
            continue
        values = name_values(rows, columns)
        read = read_table(RecordColumns(values, rows["outcome"]), schema, monitor)
        left_out = (
            {}
            if people is None or person is None
            else {"repeated_person": ~people.choose(values[person], rows)}
        )
        batches.append(ReadRecords(rows, read, number_hours(rows["logged_at"], span), left_out))
    mixed = _hours_of_several_rates(batches)
    return [
        replace(batch, left_out={**batch.left_out, "mixed_hour": np.isin(batch.hours, mixed)})
        for batch in batches
    ]


def _hours_of_several_rates(batches: Sequence[ReadRecords]) -> FloatArray:
    """Records were sampled at different rates.

    They are no evidence: an hour's e-value is proved for records that count alike. Leaving out an hour is
    valid as long as the rates do not depend on outcomes.
    """
    # As complex numbers, pairs are compared at once.
    pairs = [batch.hours + 1j * pc.fill_null(batch.rows["sample_rate"], 1.0).to_numpy() for batch in batches]
    numbers, rates = np.unique(np.unique(np.concatenate([*pairs, []])).real, return_counts=True)
    return numbers[rates > 1]


def number_hours(times: pa.ChunkedArray, span: Span) -> IntArray:
    microseconds = times.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
    return np.asarray((microseconds - int(span.start.timestamp()) * 1_000_000) // 3_600_000_000)


def merge_hours(batches: Iterable[Iterable[CountedHour]]) -> list[CountedHour]:
    merged: dict[tuple[CountedPlace, datetime], dict[tuple[str, str], list[int]]] = {}
    for batch in batches:
        for counted in batch:
            groups = merged.setdefault((counted.place, counted.hour), {})
            for label, role, *counts in counted.cells:
                before = groups.get((label, role))
                groups[label, role] = (
                    counts if before is None else [a + b for a, b in zip(before, counts, strict=True)]
                )
    return [
        CountedHour(place=place, hour=hour, cells=[[*group, *counts] for group, counts in groups.items()])
        for (place, hour), groups in merged.items()
    ]


VANISHED = timedelta(days=1)
"""Without a record, after which a group is said to have been last seen."""

_LEFT_OUT = {DataSet.COUNTERFACTUAL: "not_compared", DataSet.LABELLED: "no_counted_label"}
"""Of a logged record that is not among those of the data set."""


def sum_records(stored: Sequence[Row[Any]], followed: FollowedEra) -> dict[DataSet, list[CountedRecords]]:
    records: dict[DataSet, list[CountedRecords]] = {data: [] for data in (DataSet.AS_LOGGED, *_LEFT_OUT)}
    for comparison in list_comparisons(followed.monitor):
        rows = [row for row in stored if row.attribute == comparison.label]
        logged = [row for row in rows if row.data == DataSet.AS_LOGGED]
        groups = union([tuple(ComparedGroup(row.label, row.role) for row in rows if row.role)])
        for data, listed in records.items():
            of_data = [row for row in rows if row.data == data]
            counted = _count(
                comparison.label,
                groups,
                logged if data is not DataSet.LABELLED else [row for row in logged if row.is_due],
            )
            if of_data and data in _LEFT_OUT:
                answered = _count(comparison.label, groups, of_data).counts
                # A check keeps what it counted where records were erased since.
                counted = counted.leave_out(
                    _LEFT_OUT[data], np.minimum(answered, counted.counts)[:-1, :UNCLASSIFIED]
                )
            if of_data:
                listed.append(counted.named(GroupWords.of(followed.monitor).label))
    return records


def explain_vanished(stored: Sequence[Row[Any]]) -> dict[tuple[str, str], str]:
    last_seen: dict[tuple[str, str], datetime] = {}
    newest: dict[str, datetime] = {}
    for row in stored:
        newest[row.attribute] = max(newest.get(row.attribute, row.last_hour), row.last_hour)
        if row.role == "monitored":
            last_seen[row.attribute, row.label] = max(
                last_seen.get((row.attribute, row.label), row.last_hour), row.last_hour
            )
    unlisted = {row.attribute: row.first_hour for row in stored if row.reason == "in_no_group"}
    reasons = {}
    for (attribute, group), last in last_seen.items():
        if newest[attribute] - last >= VANISHED:
            first = unlisted.get(attribute)
            new = (
                f"new values of {attribute} since {first:{MINUTE}}; "
                if first is not None and first >= last
                else ""
            )
            reasons[attribute, group] = f"{new}the group was last seen {last:{MINUTE}}"
    return reasons


def _count(label: str, groups: Groups, rows: Iterable[Row[Any]]) -> CountedRecords:
    labels = [group.label for group in groups]
    cells = {"": np.zeros((len(groups) + 1, OUTCOMES), np.int64)}
    for row in rows:
        of_reason = cells.setdefault("" if row.reason == COUNTED else row.reason, np.zeros_like(cells[""]))
        of_reason[labels.index(row.label) if row.role else -1] += [
            row.records - row.favourable,
            row.favourable,
            0,
        ]
    return CountedRecords(attribute=label, groups=groups, counts=cells.pop(""), left_out=cells)
