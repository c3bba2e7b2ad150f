"""Count tables of hours whose records were corrected, with the values of a cut-off.

Such an hour is counted twice from its records: with the values that its check read, which must give the
tables of the check again, and with those of the cut-off.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

import pyarrow as pa
from sqlalchemy.orm import Session

from ...base.errors import InvalidInput
from ...base.strict_json import JsonObject
from ...base.values import frozen_by_name
from ...database.binary_rows import read_rows
from ...database.engine import ArrowReader
from ...domain.check import CheckRun, DataSet, Span
from ...domain.deployment import Deployment
from ...domain.monitor import Comparison, Monitor
from ...sources.stored.window_queries import WindowQuery, read_newest_feedback, read_newest_payload
from ...statistics.measures.period_figures import RATIO
from ..counting.tabulate import tabulate
from ..result_queries import Corrected
from ..subject import Subject
from ..window.labelled_window import keep_scored, read_labels
from ..window.window import LoggedRecords
from ..window.window_records import read_evidence

MAX_RECOUNTED_HOURS = 200
"""Max hours of a report that are counted again, the newest; each takes about as long as a check."""

FURTHER_METRICS = {
    DataSet.COUNTERFACTUAL: (RATIO,),
    DataSet.LABELLED: ("true_positive_rate_difference", "false_positive_rate_difference"),
}
"""Metrics of a period in addition to those of its logged records, by data."""

_COMMIT_DELAY = timedelta(minutes=1)
"""Max time from `made_at` of a correction until a check can read it."""

# A label may have become usable after the prediction was corrected.
_CORRECTIONS = """
    SELECT corrected.no, corrected.what, corrected.record_id, corrected.made_at,
        coalesce(corrected.old::text, 'null'), date_trunc('hour', corrected.logged_at, 'UTC'),
        date_trunc('hour', coalesce(label.usable_at, corrected.usable_at), 'UTC'),
        coalesce(record.label, record.prediction)::text
    FROM corrections corrected
    LEFT JOIN payload_keys key ON key.deployment_no = corrected.deployment_no
        AND key.record_id = corrected.record_id
    LEFT JOIN payload_records record ON record.deployment_no = key.deployment_no
        AND record.logged_at = key.logged_at AND record.record_no = key.record_no
    LEFT JOIN feedback_records label ON label.deployment_no = corrected.deployment_no
        AND label.feedback_id = corrected.record_id
    WHERE corrected.deployment_no = %(deployment_no)s
        AND corrected.logged_at >= %(start)s AND corrected.logged_at < %(end)s
    ORDER BY corrected.no
"""

CorrectedValue = tuple[str, str | int]
"""Kind of a value, and id of its record; of an erased record, number of the correction."""

HourCells = Mapping[tuple[DataSet, Comparison], JsonObject]
"""Stored tables of an hour."""


class MadeCorrection(NamedTuple):
    """Correction of a record that was `scored` in that hour, and whose label `arrived` in that one.

    `old` and `prediction`, the present one, are JSON texts. `record_id` is None after an erasure.
    """

    no: int
    what: Corrected
    record_id: str | None
    made_at: datetime
    old: str
    scored: datetime
    arrived: datetime | None
    prediction: str | None

    @property
    def value(self) -> CorrectedValue:
        return self.what, self.no if self.record_id is None else self.record_id

    def list_tables(self) -> Iterator[tuple[datetime, DataSet]]:
        """Yields the hours of checks that read the value, with the data that it is in."""
        if self.what == Corrected.PREDICTION:
            yield self.scored, DataSet.AS_LOGGED
            yield self.scored, DataSet.COUNTERFACTUAL
        if self.arrived is not None:
            yield self.arrived, DataSet.LABELLED


def read_corrections(session: Session, deployment_no: int, span: Span) -> list[MadeCorrection]:
    """Reads corrections of records that were scored in the span, in order."""
    values = {"deployment_no": deployment_no, "start": span.start, "end": span.end}
    return list(map(MadeCorrection._make, read_rows(session, _CORRECTIONS, values)))


def divide_by_hour(corrections: Sequence[MadeCorrection]) -> Mapping[datetime, list[MadeCorrection]]:
    """Divides corrections by the hours of the checks that read the values; one may be in two."""
    corrections_by_hour = defaultdict[datetime, list[MadeCorrection]](list)
    for correction in corrections:
        for hour in {hour for hour, _ in correction.list_tables()}:
            corrections_by_hour[hour].append(correction)
    return corrections_by_hour


def list_misread(
    corrections: Sequence[MadeCorrection], check: CheckRun, cut_off: datetime
) -> Mapping[DataSet, set[CorrectedValue]]:
    """Lists the values, by data, that the check may have read otherwise than at the cut-off."""
    started = check.started_at or check.created_at
    since = min(started - _COMMIT_DELAY, cut_off)
    until = max(check.finished_at or started, cut_off)
    misread = defaultdict[DataSet, set[CorrectedValue]](set)
    for correction in corrections:
        if since <= correction.made_at < until:
            for hour, data in correction.list_tables():
                if hour == check.span.start:
                    misread[data].add(correction.value)
    return misread


@frozen_by_name
class HourRecount:
    """Counts records of a deployment again, by its present monitor and columns."""

    reader: ArrowReader
    deployment: Deployment
    monitor: Monitor

    def count_as_read(self, check: CheckRun, corrections: Sequence[MadeCorrection]) -> list[HourCells]:
        """Counts with the values of the check's start, and with those of its end if they differ."""
        start = check.started_at or check.created_at
        end = check.finished_at or start
        is_disputed = any(start <= correction.made_at < end for correction in corrections)
        return [
            self.count(check, corrections, moment) for moment in ((start, end) if is_disputed else (start,))
        ]

    def count(self, check: CheckRun, corrections: Sequence[MadeCorrection], at: datetime) -> HourCells:
        """Counts the values of that moment; empty if the columns of the monitor are gone.

        `corrections` are all of the hour, in their order.
        """
        # Neither scores nor strata are in the figures of a period.
        monitor = replace(self.monitor, metrics=(RATIO, *FURTHER_METRICS[DataSet.LABELLED]), strata=None)
        deployment = replace(
            self.deployment, model_revision=check.model_revision or self.deployment.model_revision
        )
        if all(correction.what == Corrected.LABEL for correction in corrections):
            deployment = replace(deployment, endpoint=None)  # copies, of predictions, take most of the time
        subject = Subject(check, deployment, monitor)
        try:
            evidence = read_evidence(RecordsAt(self.reader, deployment.no, corrections, at), subject)
        except InvalidInput:
            return {}
        subject = subject.without(evidence.find_unmeasured())
        labels = read_labels(subject, evidence.table.groupings, keep_scored(evidence.feedback), None)
        return {
            (table.data, table.comparison): table.list_stored()[0].cells
            for table in tabulate(evidence, labels, subject.monitor)
        }


class RecordsAt(LoggedRecords):
    """Logged records with the values that they had at a moment."""

    def __init__(
        self, reader: ArrowReader, deployment_no: int, corrections: Sequence[MadeCorrection], at: datetime
    ) -> None:
        super().__init__(reader, deployment_no)
        self._predictions: dict[str, str] = {}
        self._labels: dict[str, str] = {}
        # The first correction from then on has the value of that moment.
        for correction in reversed(corrections):
            if correction.record_id is None:
                continue
            if correction.what == Corrected.LABEL and correction.prediction is not None:
                self._predictions.setdefault(correction.record_id, correction.prediction)
            if correction.made_at >= at:
                changed = self._labels if correction.what == Corrected.LABEL else self._predictions
                changed[correction.record_id] = correction.old
        self.read_payload = partial(self._read_payload_at)
        self.read_feedback = partial(self._read_feedback_at)

    def read_cohort(self, *_: object) -> None:
        """Reads none: a period counts the labelled among all scored records itself."""

    def _read_payload_at(self, query: WindowQuery, span: Span, limit: int) -> pa.Table:
        rows = read_newest_payload(self._reader, query, span, limit)
        outcomes = _overlay(self._predictions, rows["record_id"].to_pylist(), rows["outcome"])
        return _replace_texts(rows, "outcome", outcomes)

    def _read_feedback_at(self, query: WindowQuery, span: Span, limit: int) -> pa.Table:
        rows = read_newest_feedback(self._reader, query, span, limit)
        ids = rows["feedback_id"].to_pylist()
        labels = _overlay(self._labels, ids, rows["label"])
        predicted = _overlay(self._predictions, ids, rows["predicted"])
        # A label that was taken away takes its pair with it.
        pairs = ["null" if label == "null" else text for label, text in zip(labels, predicted, strict=True)]
        return _replace_texts(_replace_texts(rows, "label", labels), "predicted", pairs)


def _overlay(values: Mapping[str, str], ids: Sequence[str], column: pa.ChunkedArray) -> list[str | None]:
    return [values.get(record_id, text) for record_id, text in zip(ids, column.to_pylist(), strict=True)]


def _replace_texts(rows: pa.Table, name: str, texts: Sequence[str | None]) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, pa.array(texts, pa.string()))
