"""Members of a check's window: counts and facts on the records that it read, as JSON."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from ...base.strict_json import JsonObject
from ...deployments.monitor.monitor_fit import describe_doubts
from ...domain.check import Measurement
from ...domain.groups import MISSPELLED, NEAR_TWINS, describe_twins
from ...domain.monitor import Outcome, list_outcome_texts
from ...statistics.group_labels import FloatArray
from ...statistics.intervals.verdicts import Verdict
from ...statistics.measures.perturbed_data import UNEQUALLY_SAMPLED
from ..copies.copy_outcomes import CopyOutcomes
from ..subject import Subject
from .window_records import CheckEvidence

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
    """Removes the values of figures that cannot allow for an unequal sample."""
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
