"""Accuracy before and after mitigation: labelled records whose debiased outcome is known without asking the model."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.checks.feedback import PROBABILITY
from app.checks.grouping import Grouping
from app.checks.labelled import Labelled
from app.checks.outcomes_of_copies import CopyOutcomes, fill_stored, target_key
from app.checks.revisions import OtherRevisions
from app.checks.scores import scores_by
from app.checks.subject import Subject
from app.domain.mitigation import AttributeProfile, Mode
from app.domain.outcomes import Outcome
from app.metrics.groups import IntArray
from app.metrics.tables import DebiasedFeedback
from app.mitigation.deciding import Judge
from app.mitigation.treated import (
    UNKNOWN,
    Treated,
    counted_references,
    lifted,
    monitored,
    outcomes_as_reference,
    substituted,
    thresholds_of,
)
from app.store.arrow import ArrowReader
from app.store.counterfactuals import TargetKey, stored_outcomes

NO_RECORD = -1
"""The record number of a label that came with features of its own: nobody scored copies of it."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelTables:
    """The labels of the span and the additional ones, before and after; how many could not be compared, and why.

    `revisions` counts, for the span and the additional ones, whose predictions were labelled.
    """

    own: DebiasedFeedback
    additional: DebiasedFeedback
    without_copies: int
    of_other_revisions: int
    revisions: tuple[OtherRevisions, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of copies: of the window's records by record number, and under which numbers the answers are stored."""

    record_nos: npt.NDArray[np.int64]
    targets: dict[TargetKey, int]


def tabulate_labels(
    reader: ArrowReader, subject: Subject, labels: Labelled, window: tuple[Treated, Known], how: tuple[AttributeProfile, Judge]
) -> LabelTables:
    """The table of one attribute's mitigation.

    A label of a monitored record whose copies nobody has scored is in neither figure, so that both speak of the same records,
    whatever its prediction: left out by their outcome, those that stay would be no picture of their group. So is one that another
    model revision predicted.
    """
    treated, _ = window
    profile, judge = how
    mode = subject.mitigation.mode
    grouping = next(one for one in labels.groupings if one.column.name == treated.grouping.column.name)
    before = labels.comparison.predicted
    present = _of_present_model(labels, subject)
    if mode is Mode.PARITY:
        after, unknown = _by_thresholds(labels, grouping, profile, judge), np.zeros(len(before), dtype=np.bool_)
    else:
        needs = present & monitored(grouping) & (before != Outcome.UNCLASSIFIED)
        as_reference, are_known = _as_reference(reader, subject, (labels, grouping), window, how, needs=needs)
        after, unknown = substituted(before, as_reference, grouping, mode), needs & ~are_known
    kept = present & ~unknown
    parts = (labels.window.is_own(), ~labels.window.is_own())
    own, additional = (_table(labels, grouping, after, kept & part) for part in parts)
    made_by, revision = labels.window.rows["model_revision"], subject.deployment.model_revision
    revisions = tuple(OtherRevisions.of_records(grouping, made_by, revision, part) for part in parts)
    return LabelTables(own, additional, int(unknown.sum()), int((~present).sum()), revisions)


def _of_present_model(labels: Labelled, subject: Subject) -> npt.NDArray[np.bool_]:
    """Whether the present model made each prediction; one that is not stored yet was asked for in this check."""
    revision = subject.deployment.model_revision
    return np.array([made_by in (None, revision) for made_by in labels.window.rows["model_revision"].to_pylist()], dtype=np.bool_)


def _by_thresholds(labels: Labelled, grouping: Grouping, profile: AttributeProfile, judge: Judge) -> IntArray:
    before = labels.comparison.predicted
    if judge.reading is None:
        return before
    scores = scores_by(judge.reading, labels.window.rows[PROBABILITY])
    return lifted(before, scores, thresholds_of(grouping, dict(profile.thresholds)))


def _as_reference(
    reader: ArrowReader,
    subject: Subject,
    labelled: tuple[Labelled, Grouping],
    window: tuple[Treated, Known],
    how: tuple[AttributeProfile, Judge],
    *,
    needs: npt.NDArray[np.bool_],
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """The outcome of each labelled record as reference, and whether all the copies that decide it are known.

    From the window where the record is in it, else from what earlier checks stored. Copies that tell nothing are known all the same.
    """
    (labels, grouping), (treated, known) = labelled, window
    record_nos = labels.window.rows["record_no"].fill_null(NO_RECORD).to_numpy().astype(np.int64)
    found = np.full(len(record_nos), UNKNOWN, dtype=np.int64)
    # What the model never sees has no copies, and nothing changes.
    are_known = np.full(len(record_nos), not _is_copied(subject, treated.copies))
    if len(known.record_nos):
        order = np.argsort(known.record_nos)
        places = order[np.minimum(np.searchsorted(known.record_nos, record_nos, sorter=order), len(order) - 1)]
        inside = needs & (known.record_nos[places] == record_nos)
        found[inside] = treated.as_reference[places[inside]]
        are_known |= inside
    rest = np.flatnonzero(needs & ~are_known & (record_nos != NO_RECORD))
    if len(rest):
        copies = _stored(reader, subject, replace(grouping, codes=grouping.codes[rest]), (treated, known), record_nos=record_nos[rest])
        counted = counted_references(grouping, how[0])
        draws = np.array([copies.targets[place].draws for place in counted], dtype=np.int64)
        are_known[rest] = (copies.known[:, counted] >= draws).all(axis=1)
        found[rest] = np.where(are_known[rest], outcomes_as_reference(copies, *how), UNKNOWN)
    return found, are_known


def _is_copied(subject: Subject, copies: CopyOutcomes) -> bool:
    return subject.is_feature(copies.grouping.column.name) or any(target.donors is not None for target in copies.targets)


def _stored(
    reader: ArrowReader, subject: Subject, grouping: Grouping, window: tuple[Treated, Known], *, record_nos: npt.NDArray[np.int64]
) -> CopyOutcomes:
    """What earlier checks stored of these records' copies into reference groups."""
    treated, known = window
    is_reference = ~grouping.is_monitored()
    copies = CopyOutcomes(grouping, treated.copies.targets, np.tile(is_reference, (len(record_nos), 1)))
    bounds = (int(record_nos.min()), int(record_nos.max()))
    revision, version = subject.deployment.model_revision, subject.deployment.schema.version
    for position in np.flatnonzero(is_reference).tolist():
        number = known.targets.get(target_key(copies.targets[position], model_revision=revision, schema_version=version))
        if number is not None:
            stored = stored_outcomes(reader, number, bounds, with_probabilities=True, only=record_nos.tolist())
            fill_stored(copies, position, stored, record_nos=record_nos, rule=subject.monitor.outcomes)
    return copies


def _table(labels: Labelled, grouping: Grouping, after: IntArray, kept: npt.NDArray[np.bool_]) -> DebiasedFeedback:
    comparison = labels.comparison
    # Of a changed outcome the label is not known, only its side; where an outcome is one class, that is the same.
    correct = np.where(after == comparison.predicted, comparison.correct, after == comparison.actual).astype(np.int64)
    return DebiasedFeedback.from_records(
        grouping.named,
        grouping.codes[kept],
        actual=comparison.actual[kept],
        before=comparison.predicted[kept],
        after=after[kept],
        correct_before=comparison.correct[kept],
        correct_after=correct[kept],
    )
