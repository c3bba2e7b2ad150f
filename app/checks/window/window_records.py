"""Everything that one check reads, at one moment of the database: records, labels, and known outcomes of
copies. Source: spec of the fairness check, section 2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...base.errors import InvalidInput
from ...base.values import frozen
from ...deployments.monitor.queries import is_needed, list_monitored_metrics
from ...domain.check import DataSet
from ...domain.deployment import RecordSchema
from ...domain.monitor import Comparison, Monitor
from ...sources.arrays.read_records import Grouping, RecordTable
from ...sources.stored.copy_answers import TargetKey
from ...sources.stored.window_queries import WindowQuery
from ...statistics.group_labels import NEITHER, IntArray
from ..copies.copy_outcomes import CopyOutcomes, fill_stored, make_target_key, plan_copies
from ..copies.repeats import draw_repeats, plan_repeats
from ..subject import Subject
from .window import PROBABILITY, PayloadWindow, Window, WindowSource, read_payload_window, read_window

COPIED_DATA = (DataSet.OPENSCALE, DataSet.COUNTERFACTUAL, DataSet.MITIGATED, DataSet.MITIGATED_LABELLED)
"""Data sets whose figures need copies of records."""


@frozen
class CheckEvidence:
    """A check's records, as the monitor reads them in `table`, and the known outcomes of their copies.

    `cohort` are records as old as those of the labels, each marked if it has a label. `copies` has an entry
    for each attribute, but not for those by a rule and those of `without_copies`, which says why; it is empty
    without an endpoint or metrics of counterfactual data. Records of other revisions than `model_revision`
    are in no group of `copies`: answers of two models cannot be compared. `repeats` are unchanged copies of
    some records.
    """

    window: PayloadWindow
    feedback: Window
    cohort: Window | None
    table: RecordTable
    copies: tuple[CopyOutcomes, ...]
    repeats: CopyOutcomes
    without_copies: Mapping[str, str]
    known_targets: dict[TargetKey, int]
    model_revision: str
    labels_without_record: int

    @property
    def outcomes(self) -> IntArray:
        return self.table.outcomes

    def find_unmeasured(self) -> dict[Comparison, str]:
        """Finds combinations with too many groups or equal labels, each with the reason."""
        reasons = {}
        for features in self.table.monitor.intersections:
            try:
                self.table.compare(Comparison(features))
            except InvalidInput as error:
                reasons[Comparison(features)] = error.problems[0].message
        return reasons


def read_evidence(source: WindowSource, subject: Subject) -> CheckEvidence:
    """Reads the records of a check, and plans their copies.

    Raises:
        InvalidInput: the schema lacks a column of the monitor, or files cannot be read.
    """
    deployment = subject.deployment
    monitor = subject.monitor
    span = subject.check.span
    names = subject.list_columns()
    if is_needed(monitor, "rows"):
        names += subject.list_numeric_features()  # similarity metrics compare records by them
    query = WindowQuery(deployment.no, deployment.schema, tuple(dict.fromkeys(names)))
    with_scores = is_needed(monitor, "scores", on=[DataSet.AS_LOGGED])
    is_copied = deployment.endpoint is not None and any(
        list_monitored_metrics(monitor, data) for data in COPIED_DATA
    )
    reads_scores = with_scores or (is_copied and deployment.payload is not None)
    window = read_payload_window(source, replace(query, with_probabilities=reads_scores), span, monitor)
    probabilities = window.rows[PROBABILITY] if with_scores else None
    table = window.read_table("outcome", deployment.schema, monitor, probabilities)
    is_comparable = window.mark_revision(deployment.model_revision)
    comparable = [
        replace(grouping, codes=np.where(is_comparable, grouping.codes, NEITHER))
        for grouping in table.groupings
    ]
    copies, without_copies = _plan_all_copies(subject, comparable, table.outcomes) if is_copied else ([], {})
    label_query = replace(query, with_probabilities=is_needed(monitor, "scores"))
    feedback = read_window(partial(source.read_feedback, label_query), span, monitor, query.columns)
    cohort = source.read_cohort(query, window.rows, feedback.rows, span.end)
    evidence = CheckEvidence(
        window,
        feedback,
        None if cohort is None else Window(cohort, len(cohort), query.columns),
        table,
        tuple(copies),
        plan_repeats(comparable[0], copies),
        without_copies,
        source.targets,
        deployment.model_revision,
        source.labels_without_record,
    )
    for outcomes in (*copies, evidence.repeats):
        read_answers_so_far(source, window, outcomes, deployment.schema, monitor, deployment.model_revision)
    draw_repeats(evidence.repeats, copies, subject)
    return evidence


def _plan_all_copies(
    subject: Subject, groupings: Sequence[Grouping], outcomes: IntArray
) -> tuple[list[CopyOutcomes], dict[str, str]]:
    copies = []
    reasons = {}
    for grouping in groupings:
        if subject.find_attribute(grouping).rule:
            continue
        name = grouping.column.name
        seen_by_model = subject.is_feature(name)
        try:
            donors = subject.find_donors(grouping)
            copies.append(
                plan_copies(grouping, outcomes, subject.monitor, seen_by_model=seen_by_model, donors=donors)
            )
        except InvalidInput as error:
            reasons[name] = str(error)
    return copies, reasons


def read_answers_so_far(
    source: WindowSource,
    window: PayloadWindow,
    copies: CopyOutcomes,
    schema: RecordSchema,
    monitor: Monitor,
    revision: str,
) -> None:
    """Adds the answers of that model revision to the copies."""
    record_nos = window.record_nos()
    for position, target in enumerate(copies.targets if copies.needed.any() else ()):
        key = make_target_key(target, model_revision=revision, schema_version=schema.version)
        stored = source.read_answers(key, record_nos, with_probabilities=copies.keeps_answers(position))
        if stored is not None:
            fill_stored(copies, position, stored, record_nos=record_nos, rule=monitor.outcomes)
