"""All that is read from the database for one check, at one moment of it."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.checks.classifying import outcome_codes
from app.checks.grouping import NEITHER, Grouping, group_records
from app.checks.outcomes_of_copies import CopyOutcomes, fill_stored, plan_copies, target_key
from app.checks.picking import is_needed, picked_on
from app.checks.subject import Subject
from app.checks.window import PayloadWindow, Window, read_feedback_window, read_payload_window
from app.domain.checks import DataSet
from app.domain.mitigation import Mode
from app.store.arrow import ArrowReader
from app.store.counterfactuals import TargetKey, stored_outcomes, stored_targets
from app.store.window import WindowQuery

COPIED = (DataSet.PAYLOAD_PERTURBED, DataSet.BALANCED, DataSet.DEBIASED, DataSet.DEBIASED_FEEDBACK)
"""The data sets that need the outcomes of copies."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A check's records in their groups, their outcomes, and what is known already of their copies.

    `copies` has one entry per attribute, or none where the deployment has no endpoint to score copies, or no picked metric is of
    balanced data. Records of other model revisions than `model_revision`, the present one, are in no group there: what the present
    model says of a copy cannot be held against what another said of the record.
    """

    window: PayloadWindow
    feedback: Window
    outcomes: npt.NDArray[np.int64]
    groupings: tuple[Grouping, ...]
    copies: tuple[CopyOutcomes, ...]
    known_targets: dict[TargetKey, int]
    model_revision: str


def read_evidence(reader: ArrowReader, subject: Subject) -> Evidence:
    """Reads the window, groups it, and looks up which copies were scored before."""
    deployment, monitor, span = subject.deployment, subject.monitor, subject.check.span
    query = WindowQuery(deployment.no, deployment.schema, _columns(subject))
    window = read_payload_window(reader, query, span, monitor)
    outcomes = outcome_codes(window.rows["outcome"], monitor.outcomes)
    groupings = tuple(
        group_records(attribute, subject.column(attribute.feature), window.values(attribute.feature)) for attribute in monitor.attributes
    )
    of_present_model = np.array(window.rows["model_revision"].to_pylist(), dtype=object) == deployment.model_revision
    comparable = [replace(grouping, codes=np.where(of_present_model, grouping.codes, NEITHER)) for grouping in groupings]
    is_copied = deployment.endpoint is not None and any(picked_on(monitor, data) for data in COPIED)
    copies = tuple(_planned(subject, grouping, outcomes) for grouping in comparable if is_copied)
    has_scores = is_needed(monitor, "scores") or subject.mitigation.mode is Mode.PARITY
    evidence = Evidence(
        window,
        read_feedback_window(reader, replace(query, with_probabilities=has_scores), span, monitor),
        outcomes,
        groupings,
        copies,
        stored_targets(reader, deployment.no),
        deployment.model_revision,
    )
    for attribute in evidence.copies:
        _fill(reader, subject, evidence, attribute)
    return evidence


def _columns(subject: Subject) -> tuple[str, ...]:
    """The columns that are read: the attributes, the strata, and for the metrics of records what says who is alike."""
    names = [attribute.feature for attribute in subject.monitor.attributes]
    if subject.monitor.strata is not None:
        subject.column(subject.monitor.strata, "strata")
        names.append(subject.monitor.strata)
    if is_needed(subject.monitor, "rows"):
        names += subject.numeric_features()
    return tuple(dict.fromkeys(names))


def _planned(subject: Subject, grouping: Grouping, outcomes: npt.NDArray[np.int64]) -> CopyOutcomes:
    seen = subject.is_feature(grouping.column.name)
    # Thresholds are held against the probabilities of copies, too; the other modes only ask what a reference value would do.
    keeps_all = subject.mitigation.mode is Mode.PARITY
    return plan_copies(grouping, outcomes, subject.monitor, seen_by_model=seen, donors=subject.donors_for(grouping), keeps_all=keeps_all)


def _fill(reader: ArrowReader, subject: Subject, evidence: Evidence, copies: CopyOutcomes) -> None:
    """Fills in the outcomes of copies that need no model call."""
    if not copies.needed.any():
        return
    record_nos, deployment = evidence.window.record_nos(), subject.deployment
    for position, target in enumerate(copies.targets):
        key = target_key(target, model_revision=deployment.model_revision, schema_version=deployment.schema.version)
        if key in evidence.known_targets:
            bounds = (int(record_nos.min()), int(record_nos.max()))
            stored = stored_outcomes(reader, evidence.known_targets[key], bounds, with_probabilities=copies.keeps(position))
            fill_stored(copies, position, stored, record_nos=record_nos, rule=subject.monitor.outcomes)
