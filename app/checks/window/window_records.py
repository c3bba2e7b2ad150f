"""Everything that one check reads, at one moment of the database."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...base.errors import InvalidInput
from ...base.frozen import frozen
from ...deployments.monitor.picked_metrics import is_needed, picked_on
from ...domain.check import DataSet
from ...domain.comparison import Comparison
from ...sources.arrays.group_of_records import Grouping
from ...sources.arrays.read_records import RecordColumns, RecordTable, read_table
from ...sources.stored.copy_answers import TargetKey
from ...sources.stored.window_queries import WindowQuery
from ...statistics.group_labels import NEITHER, IntArray
from ..copies.copy_outcomes import CopyOutcomes, fill_stored, plan_copies, target_key
from ..copies.repeats import draw_repeats, plan_repeats
from ..subject import Subject, require_attributes
from .observed_labels import PROBABILITY
from .window import PayloadWindow, Window, read_feedback_window, read_payload_window
from .window_sources import WindowSource

COPIED = (DataSet.PAYLOAD_PERTURBED, DataSet.BALANCED, DataSet.DEBIASED, DataSet.DEBIASED_FEEDBACK)
"""Data sets that need the outcomes of copies."""


@frozen
class CheckEvidence:
    """A check's records as the monitor reads them, and the known outcomes of their copies.

    `cohort` are records as old as those of the labels, with the mark of a label. `copies` has an entry per attribute but those by a rule
    and those `without_copies`, which says why; none without an endpoint or metrics of balanced data. Records of other revisions than
    `model_revision` are in no group there: one model's answers to copies cannot be compared with another's. `repeats` are unchanged
    copies of some records. Labels in files may lack their record.
    """

    window: PayloadWindow
    feedback: Window
    cohort: Window | None
    read: RecordTable
    copies: tuple[CopyOutcomes, ...]
    repeats: CopyOutcomes
    without_copies: Mapping[str, str]
    known_targets: dict[TargetKey, int]
    model_revision: str
    labels_without_record: int

    @property
    def outcomes(self) -> IntArray:
        return self.read.outcomes

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        return self.read.groupings

    def find_unmeasured(self) -> dict[Comparison, str]:
        """Intersections whose groups cannot be made, with why."""
        reasons = {}
        for features in self.read.monitor.intersections:
            try:
                self.read.compare(Comparison(features))
            except InvalidInput as error:
                reasons[Comparison(features)] = error.problems[0].message
        return reasons


def read_evidence(source: WindowSource, subject: Subject) -> CheckEvidence:
    deployment, monitor, span = subject.deployment, subject.monitor, subject.check.span
    # Required here: a name that the schema lacks could not be read.
    names = require_attributes(deployment, monitor.attributes)
    names += [] if monitor.strata is None else [subject.column(monitor.strata, "strata").name]
    names += subject.numeric_features() if is_needed(monitor, "rows") else []  # similarity metrics compare records by them
    query = WindowQuery(deployment.no, deployment.schema, tuple(dict.fromkeys(names)))
    compares_scores = is_needed(monitor, "scores", on=[DataSet.PAYLOAD])
    is_copied = deployment.endpoint is not None and any(picked_on(monitor, data) for data in COPIED)
    reads_scores = compares_scores or (is_copied and deployment.payload is not None)
    window = read_payload_window(source, replace(query, with_probabilities=reads_scores), span, monitor)
    probabilities = window.rows[PROBABILITY] if compares_scores else None
    read = read_table(RecordColumns(window.values(), window.rows["outcome"], probabilities), deployment.schema, monitor)
    of_present_model = np.array(window.rows["model_revision"].to_pylist(), dtype=object) == deployment.model_revision
    comparable = [replace(grouping, codes=np.where(of_present_model, grouping.codes, NEITHER)) for grouping in read.groupings]
    copies: list[CopyOutcomes] = []
    without_copies: dict[str, str] = {}
    for grouping in comparable:
        name = grouping.column.name
        if not is_copied or subject.attribute(grouping).rule is not None:
            continue
        try:
            donors = subject.donors_for(grouping)
            copies.append(plan_copies(grouping, read.outcomes, monitor, seen_by_model=subject.is_feature(name), donors=donors))
        except InvalidInput as error:
            without_copies[name] = str(error)
    feedback = read_feedback_window(source, replace(query, with_probabilities=is_needed(monitor, "scores")), span, monitor)
    cohort = source.cohort(query, window.rows, feedback.rows, span.end)
    evidence = CheckEvidence(
        window,
        feedback,
        None if cohort is None else Window(cohort, len(cohort), query.columns),
        read,
        tuple(copies),
        plan_repeats(comparable[0], copies),
        without_copies,
        source.targets(),
        deployment.model_revision,
        source.labels_without_record,
    )
    for attribute in (*evidence.copies, evidence.repeats):
        _fill_known(source, subject, evidence, attribute)
    draw_repeats(evidence.repeats, copies, subject)
    return evidence


def _fill_known(source: WindowSource, subject: Subject, evidence: CheckEvidence, copies: CopyOutcomes) -> None:
    if not copies.needed.any():
        return
    record_nos, deployment = evidence.window.record_nos(), subject.deployment
    for position, target in enumerate(copies.targets):
        key = target_key(target, model_revision=deployment.model_revision, schema_version=deployment.schema.version)
        stored = source.answers(key, record_nos, with_probabilities=copies.keeps(position))
        if stored is not None:
            fill_stored(copies, position, stored, record_nos=record_nos, rule=subject.monitor.outcomes)
