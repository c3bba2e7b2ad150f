"""Counts the records and labels of whole hours by group, each once, and why others do not count."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..base.clock import HOUR
from ..base.errors import InvalidInput
from ..base.values import frozen_arrays
from ..checks.counting.left_out_of_check import count_table_records
from ..checks.counting.tabulate import EVERYBODY
from ..checks.window.labelled_window import compare_labels
from ..database.engine import ArrowReader
from ..domain.check import DataSet, Span
from ..domain.monitor import Monitor, Outcome, list_comparisons
from ..sources.arrays.read_records import RecordColumns, RecordTable, read_table
from ..sources.stored.window_queries import WindowQuery, name_values
from ..statistics.group_labels import FloatArray, IntArray
from .first_records import FirstRecordChoice
from .queries.hour_counts import CountedHour, CountedPlace, read_labels_between, read_records_between
from .watched_figures import FollowedEra

Mask = npt.NDArray[np.bool_]


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
    reader: ArrowReader, followed: FollowedEra, span: Span, people: FirstRecordChoice | None
) -> list[CountedHour]:
    """Counts favourable and all records, for each comparison."""
    batches = _read_batches(
        followed,
        lambda query: read_records_between(reader, query, span, followed.era.model_revision),
        span,
        people,
    )
    return merge_hours(tabulate_payload(batch, followed.monitor, span) for batch in batches)


def tabulate_payload(batch: ReadRecords, monitor: Monitor, span: Span) -> Iterator[CountedHour]:
    """Yields counts of groups, also of records that are left out: the reason follows the role.

    Records in no group have no role; if the comparison cannot be made, their label says why.
    """
    for comparison in list_comparisons(monitor):
        counted = comparison
        problem = None
        try:
            batch.read.compare(comparison)
        except InvalidInput as error:
            counted = EVERYBODY
            problem = error.problems[0].message
        for number in np.unique(batch.hours).tolist():
            records = count_table_records(
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
    reader: ArrowReader, followed: FollowedEra, span: Span, people: FirstRecordChoice | None
) -> list[CountedHour]:
    """Counts labels by prediction, in the order of `watched_figures.DEFINITIONS`."""
    revision = followed.era.model_revision
    batches = _read_batches(
        followed,
        lambda query: read_labels_between(reader, query, span, revision, followed.horizon),
        span,
        people,
    )
    return merge_hours(tabulate_labels(batch, followed, span) for batch in batches)


def tabulate_labels(batch: ReadRecords, followed: FollowedEra, span: Span) -> Iterator[CountedHour]:
    """Yields counts of labels by prediction; the rows have `label` and `outcome` as JSON texts."""
    predicted = batch.read.outcomes
    rule = followed.monitor.outcomes
    labels = compare_labels(
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
        is_placed = ~np.logical_or.reduce([codes < 0, *batch.left_out.values()])
        cell = batch.hours * len(named) + codes
        sums = [np.bincount(cell[is_placed & column], minlength=size * len(named)) for column in columns]
        counted = np.column_stack(sums).reshape(size, len(named), len(columns))
        place = CountedPlace(DataSet.LABELLED, comparison.label)
        for hour in np.flatnonzero(counted[:, :, -1].any(axis=1)):
            cells = [
                [*group, *counts]
                for group, counts in zip(named, counted[hour].tolist(), strict=True)
                if counts[-1]
            ]
            yield CountedHour(place=place, hour=span.start + int(hour) * HOUR, cells=cells)


def _read_batches(
    followed: FollowedEra,
    fetch: Callable[[WindowQuery], pa.Table],
    span: Span,
    people: FirstRecordChoice | None,
) -> list[ReadRecords]:
    """Reads the rows of each schema version.

    A version without the column of persons is left out: whose its records are is unknown.
    """
    person = followed.monitor.evidence.person
    batches: list[ReadRecords] = []
    for schema in followed.deployment.schemas:
        if person is not None and schema.column(person) is None:
            continue
        monitor = followed.monitor.restrict_to(schema)
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
    mixed_hours = _find_mixed_hours(batches)
    return [
        replace(batch, left_out={**batch.left_out, "mixed_hour": np.isin(batch.hours, mixed_hours)})
        for batch in batches
    ]


def _find_mixed_hours(batches: Sequence[ReadRecords]) -> FloatArray:
    """Numbers of the hours whose records were sampled at different rates.

    They are no evidence, as an hour's e-value is proved for records that count alike.
    """
    # As complex numbers, pairs are compared at once.
    pairs = [batch.hours + 1j * pc.fill_null(batch.rows["sample_rate"], 1.0).to_numpy() for batch in batches]
    numbers, rates = np.unique(np.unique(np.concatenate([*pairs, []])).real, return_counts=True)
    return numbers[rates > 1]


def number_hours(times: pa.ChunkedArray, span: Span) -> IntArray:
    """Number of each time's hour [rows], from 0 at the start of the span."""
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
