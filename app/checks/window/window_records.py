"""Everything that one check reads, at one moment of the database: records, labels, and known outcomes of
copies; and its description as JSON, the members of the check's window. Source: spec of the fairness check,
section 2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow.compute as pc

from ...base.errors import InvalidInput
from ...base.strict_json import JsonObject
from ...base.values import frozen
from ...deployments.monitor.monitor_fit import describe_doubts
from ...deployments.monitor.queries import is_needed, list_monitored_metrics
from ...domain.check import DataSet, Measurement
from ...domain.deployment import RecordSchema
from ...domain.groups import MISSPELLED, NEAR_TWINS, describe_twins
from ...domain.monitor import Comparison, Monitor, Outcome, list_outcome_texts
from ...sources.arrays.read_records import Grouping, RecordTable
from ...sources.stored.copy_answers import TargetKey
from ...sources.stored.window_queries import WindowQuery
from ...statistics.group_labels import NEITHER, FloatArray, IntArray
from ...statistics.intervals.verdicts import Verdict
from ...statistics.measures.perturbed_data import UNEQUALLY_SAMPLED
from ..copies.copy_outcomes import CopyOutcomes, fill_stored, make_target_key, plan_copies
from ..copies.repeats import draw_repeats, plan_repeats
from ..subject import Subject
from .window import PROBABILITY, PayloadWindow, Window, WindowSource, read_payload_window, read_window

COPIED_DATA = (DataSet.OPENSCALE, DataSet.COUNTERFACTUAL, DataSet.MITIGATED, DataSet.MITIGATED_LABELLED)
"""Data sets whose figures need copies of records."""

ROUNDED_PROBABILITIES = "rounded_probabilities"
"""Number of probabilities at most 1e-6 outside [0, 1], which count as 0 or 1; absent without any."""

ERASED_RECORDS = "erased_records"
"""Number of records of the window's hours that were erased before the check."""

REVISIONS_IN_SPAN = "revisions_in_span"
"""The model revisions that answered the records of the span, in no order."""

LABELS_OF_SOME = "labels_of_some"
"""Sentence on labels that only some records have, or null."""

SAMPLING = "sampling"
"""Facts on the sample that was logged; absent where every record represents itself."""


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
        try:
            copies.append(
                plan_copies(
                    grouping,
                    outcomes,
                    subject.monitor,
                    seen_by_model=subject.is_feature(name),
                    donors=subject.find_donors(grouping),
                )
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


def describe_window(subject: Subject, evidence: CheckEvidence) -> JsonObject:
    """Describes the rows and the setting of a check, before its copies are scored."""
    window = evidence.window
    reach = window.reach()
    return {
        "records": window.own,
        "additional_records": window.additional,
        "logged_in_span": window.logged_in_span,
        "unclassified_records": int((evidence.outcomes == Outcome.UNCLASSIFIED).sum()),
        "records_of_other_revisions": int((~window.mark_revision(subject.deployment.model_revision)).sum()),
        REVISIONS_IN_SPAN: pc.unique(
            pc.fill_null(
                window.rows["model_revision"].slice(0, window.own), subject.deployment.model_revision
            )
        ).to_pylist(),
        NEAR_TWINS: describe_twins(evidence.table.count_twins()),
        MISSPELLED: evidence.table.describe_misspelled(),
        "perturbed_records": {
            copies.grouping.column.name: int(copies.copy_counts.sum()) for copies in evidence.copies
        },
        "copies_to_score": sum(copies.missing_count for copies in (*evidence.copies, evidence.repeats)),
        "attributes_unseen_by_model": [
            attribute.feature
            for attribute in subject.monitor.attributes
            if attribute.rule is None and not subject.is_feature(attribute.feature)
        ],
        "oldest_record_at": reach.start.isoformat() if len(window) else None,
        "newest_record_at": reach.end.isoformat() if len(window) else None,
        "labelled_records": evidence.feedback.own,
        "additional_labelled_records": evidence.feedback.additional,
        "favourable": list_outcome_texts(subject.monitor.outcomes.favourable),
        "unfavourable": list_outcome_texts(subject.monitor.outcomes.unfavourable),
        **describe_sampling(window.weights()),
        **describe_setting(subject),
        "min_records": subject.monitor.min_records,
        "max_records": subject.monitor.max_records,
    }


def describe_setting(subject: Subject) -> JsonObject:
    setting = {
        "schema_version": subject.deployment.schema.version,
        "with_endpoint": subject.deployment.endpoint is not None,
        "mitigation_settings_version": subject.mitigation.version,
        "mitigation_profile_version": subject.profile_version,
    }
    correlated = {
        attribute.feature: {
            "features": sorted(attribute.correlated_features),
            "donors": subject.donors[attribute.feature].digest
            if attribute.feature in subject.donors
            else None,
            **describe_doubts(attribute.correlated_features, subject.associations.get(attribute.feature, ())),
        }
        for attribute in subject.monitor.attributes
        if attribute.correlated_features
    }
    return setting | ({"correlated_features": correlated} if correlated else {})


def describe_answers(copies: Sequence[CopyOutcomes], rounded: int) -> JsonObject:
    """Describes answers to copies that are in neither outcome list, and so many `rounded` probabilities."""
    unclassified = {
        outcomes.grouping.column.name: int(outcomes.answered.sum() - outcomes.classified.sum())
        for outcomes in copies
    }
    return {"unclassified_copies": unclassified} | ({ROUNDED_PROBABILITIES: rounded} if rounded else {})


def describe_sampling(weights: FloatArray | None) -> JsonObject:
    """Describes a sample with these weights [records]; empty without.

    `represented` is their sum, `effective` the number of equal records that are as certain (Kish 1965).
    """
    if weights is None:
        return {}
    total = float(weights.sum())
    squares = float((weights * weights).sum())
    return {
        SAMPLING: {
            "records": len(weights),
            "represented": round(total),
            # A sum of equal weights may fall short of a whole number by rounding.
            "effective": int(total * total / squares + 1e-6),
            "lowest_rate": 1 / float(weights.max()),
            "highest_rate": 1 / float(weights.min()),
            "is_unequal": is_unequal(weights),
        }
    }


def is_unequal(weights: FloatArray | None) -> bool:
    return (
        weights is not None and weights.size > 0 and not np.allclose(weights, weights[0], rtol=1e-9, atol=0)
    )


def remove_values(measurements: Sequence[Measurement]) -> list[Measurement]:
    return [
        replace(
            measurement,
            value=None,
            lower=None,
            upper=None,
            interval_method=None,
            reason=measurement.reason or UNEQUALLY_SAMPLED,
            verdict=Verdict.NOT_COMPUTABLE,
            worst_of=None if measurement.worst_of is None else 0,
            chosen_lower=None,
            chosen_upper=None,
        )
        for measurement in measurements
    ]
