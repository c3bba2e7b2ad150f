"""Mitigation of a window's records, and its accuracy, from outcomes of copies that are known already."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from ...base.values import frozen, frozen_arrays, read_number
from ...checks.copies.copy_outcomes import CopyOutcomes, fill_stored, make_target_key
from ...checks.counting.other_revisions import OtherRevisions
from ...checks.counting.tabulate import PeriodTables, tabulate_revisions
from ...checks.subject import Subject
from ...checks.window.labelled_window import LabelledWindow
from ...checks.window.window import PayloadWindow
from ...checks.window.window_records import CheckEvidence
from ...database.engine import ArrowReader
from ...domain.check import DataSet, Trigger
from ...domain.mitigation import AttributeProfile, FlaggedRecord, Mode, Profile
from ...domain.monitor import Comparison, Outcome
from ...sources.arrays.favourable_scores import classify_answers, parse_value
from ...sources.arrays.read_records import Grouping
from ...sources.stored.copy_answers import read_stored_outcomes
from ...sources.stored.window_queries import read_record_probabilities
from ...statistics.group_labels import IntArray, build_groups
from ...statistics.tables.count_table import MitigatedLabelledCells
from ..rule import (
    UNKNOWN,
    BoolArray,
    CopyAnswers,
    Judge,
    Probability,
    average_probabilities,
    decide_as_reference,
    read_known_scores,
    read_probability,
    substitute,
    write_probabilities,
)

NO_RECORD = -1
"""Record number of a label that came with features of its own: no copies were scored."""


@frozen_arrays
class TreatedWindow:
    """The records of a window under the mitigation of one attribute.

    `own` and `after` are their outcomes [records] without and with it, `as_reference` [records] those with a
    reference value, and `copies_after` [records, groups] the favourable copies among the classified ones of
    `copies`.
    """

    copies: CopyOutcomes
    profile: AttributeProfile
    judge: Judge
    own: IntArray
    as_reference: IntArray
    after: IntArray
    copies_after: IntArray

    @property
    def grouping(self) -> Grouping:
        """Records of another model revision are in no group."""
        return self.copies.grouping

    @property
    def monitored_labels(self) -> list[str]:
        return [group.label for group in self.grouping.groups if group.role == "monitored"]

    def mark_new(self) -> BoolArray:
        """Mask [records] of those with copies that this check scored."""
        is_new = np.zeros(len(self.own), dtype=np.bool_)
        for answers in self.copies.answers:
            if answers.are_new:
                is_new[answers.records] = True
        return is_new

    def mark_undecided(self) -> BoolArray:
        """Mask [records] of those whose answered copies decide nothing."""
        decides_nothing: BoolArray = (self.copies.answered.sum(axis=1) > 0) & (self.as_reference == UNKNOWN)
        return decides_nothing

    def mark_monitored(self) -> BoolArray:
        """Mask [records] of monitored ones with a classified outcome."""
        takes_part: BoolArray = find_monitored(self.grouping) & (self.own != UNKNOWN)
        return takes_part


def treat_window(
    copies: CopyOutcomes, outcomes: IntArray, profile: AttributeProfile, judge: Judge, mode: Mode
) -> TreatedWindow:
    as_reference = find_outcomes_as_reference(copies, profile, judge)
    after = substitute(outcomes, as_reference, find_monitored(copies.grouping), mode)
    # A synthetic monitored record is compared with the reference record it was copied from; copies into
    # reference values stay.
    favourable = (outcomes == Outcome.FAVOURABLE)[:, None]
    stays = copies.favourable if mode is Mode.LIFT_ONLY else np.zeros_like(copies.favourable)
    substituted = np.where(favourable, copies.classified, stays)
    copies_after = np.where(copies.grouping.mark_monitored()[None, :], substituted, copies.favourable)
    return TreatedWindow(copies, profile, judge, outcomes, as_reference, after, copies_after)


def find_monitored(grouping: Grouping) -> BoolArray:
    is_monitored: BoolArray = np.append(grouping.mark_monitored(), False)[grouping.codes]
    return is_monitored


def find_outcomes_as_reference(copies: CopyOutcomes, profile: AttributeProfile, judge: Judge) -> IntArray:
    """Outcome of each record with a reference value [records], UNKNOWN where its copies do not
    decide.
    """
    counted = find_counted_references(copies.grouping, profile)
    return decide_as_reference(
        copies.classified[:, counted].sum(axis=1),
        copies.favourable[:, counted].sum(axis=1),
        partial(read_reference_answers, copies, profile, judge),
        judge,
    )


def find_counted_references(grouping: Grouping, profile: AttributeProfile) -> list[int]:
    """Reference groups whose copies decide: those with logged records; all, where none has any."""
    shares = profile.shares()
    reference = [position for position, group in enumerate(grouping.groups) if group.role == "reference"]
    return [
        position for position in reference if shares.get(grouping.groups[position].label, 0) > 0
    ] or reference


def read_reference_answers(
    copies: CopyOutcomes, profile: AttributeProfile, judge: Judge, records: IntArray
) -> CopyAnswers:
    shares = profile.shares()
    counted = find_counted_references(copies.grouping, profile)
    positions = [np.zeros(0, dtype=np.int64)]
    outcomes = list(positions)
    weights = [np.zeros(0)]
    probabilities: list[Probability] = []
    numbers = []
    for answers in copies.answers:
        if answers.target not in counted:
            continue
        chosen = np.flatnonzero(np.isin(answers.records, records))
        texts = answers.outcomes.take(pa.array(chosen))
        share = (
            shares.get(copies.grouping.groups[answers.target].label, 0.0)
            / copies.targets[answers.target].draws
        )
        positions.append(answers.records[chosen])
        outcomes.append(classify_answers(texts, judge.rule))
        weights.append(np.full(len(chosen), share))
        probabilities += map(read_probability, answers.probabilities.take(pa.array(chosen)).to_pylist())
        numbers += [
            read_number(parse_value(text)) if judge.predicts_numbers else None for text in texts.to_pylist()
        ]
    return CopyAnswers(
        np.concatenate(positions),
        np.concatenate(outcomes),
        np.concatenate(weights),
        probabilities,
        np.array(numbers, dtype=np.float64),
    )


@frozen_arrays
class LabelTables:
    """Labels that could not be compared are counted by reason."""

    table: PeriodTables
    left_out: Mapping[str, object]


def tabulate_labels(
    reader: ArrowReader,
    subject: Subject,
    evidence: CheckEvidence,
    labels: LabelledWindow,
    treated: TreatedWindow,
) -> LabelTables:
    """Tabulates the accuracy of one attribute's mitigation.

    A label of a monitored record whose copies were not scored is in neither figure, whatever its
    prediction: left out by their outcome, those that stay would not represent their group. So is one that
    another model revision predicted.
    """
    name = treated.grouping.column.name
    grouping = labels.table.grouping(name)
    revisions = labels.window.rows["model_revision"]
    revision = subject.deployment.model_revision
    # A prediction without a revision was requested in this check.
    present = np.array(
        [record_revision in (None, revision) for record_revision in revisions.to_pylist()], dtype=np.bool_
    )
    before = labels.comparison.predicted
    is_monitored = find_monitored(grouping)
    needs = present & is_monitored & (before != Outcome.UNCLASSIFIED)
    record_nos = labels.window.rows["record_no"].fill_null(NO_RECORD).to_numpy().astype(np.int64)
    as_reference, are_known = _find_as_reference(
        reader, subject, evidence, record_nos, grouping, treated, needs=needs
    )
    after = substitute(before, as_reference, is_monitored, subject.mitigation.mode)
    unknown = needs & ~are_known

    # Of a changed outcome only the side of the label is known; where an outcome is one class, that is the
    # same.
    compared = labels.comparison
    correct = np.where(after == before, compared.correct, after == compared.actual).astype(np.int64)
    parts = labels.window.parts()
    periods = [
        MitigatedLabelledCells.from_records(
            build_groups(grouping.named_groups),
            grouping.codes[selected],
            actual=compared.actual[selected],
            before=before[selected],
            after=after[selected],
            correct_before=compared.correct[selected],
            correct_after=correct[selected],
        )
        for selected in (present & ~unknown & part for part in parts)
    ]
    # Repeats are those of the window: labelled records have too few.
    of_window = zip(parts, tabulate_revisions(evidence, treated.copies), strict=True)
    table = PeriodTables(
        DataSet.MITIGATED_LABELLED,
        Comparison((name,)),
        periods,
        mitigated=subject.mitigation.mode.value,
        revisions=tuple(
            OtherRevisions.of_records(grouping, revisions, revision, part, window.repeats)
            for part, window in of_window
        ),
    )
    left_out = {
        "labels_without_copies": int(unknown.sum()),
        "labels_of_other_revisions": int((~present).sum()),
    }
    return LabelTables(table, left_out)


def _find_as_reference(
    reader: ArrowReader,
    subject: Subject,
    evidence: CheckEvidence,
    record_nos: IntArray,
    grouping: Grouping,
    treated: TreatedWindow,
    *,
    needs: BoolArray,
) -> tuple[IntArray, BoolArray]:
    """Outcome of each labelled record as reference, and whether all the copies that decide it are
    known.

    From the window where the record is in it, else from earlier checks. Copies that decide nothing still
    count as known.
    """
    outcomes = np.full(len(record_nos), UNKNOWN, dtype=np.int64)
    targets = treated.copies.targets
    is_copied = subject.is_feature(grouping.column.name) or any(target.donors for target in targets)
    are_known = np.full(len(record_nos), not is_copied)
    in_window = evidence.window.record_nos()
    if len(in_window):
        order = np.argsort(in_window)
        positions = order[np.minimum(np.searchsorted(in_window, record_nos, sorter=order), len(order) - 1)]
        is_in_window = needs & (in_window[positions] == record_nos) & ~treated.copies.not_scored[positions]
        outcomes[is_in_window] = treated.as_reference[positions[is_in_window]]
        are_known |= is_in_window

    remaining = np.flatnonzero(needs & ~are_known & (record_nos != NO_RECORD))
    if len(remaining):
        nos = record_nos[remaining]
        is_reference = ~grouping.mark_monitored()
        copies = CopyOutcomes(
            replace(grouping, codes=grouping.codes[remaining]),
            targets,
            np.tile(is_reference, (len(remaining), 1)),
        )
        revision = subject.deployment.model_revision
        version = subject.deployment.schema.version
        for position in np.flatnonzero(is_reference).tolist():
            number = evidence.known_targets.get(
                make_target_key(targets[position], model_revision=revision, schema_version=version)
            )
            if number is not None:
                bounds = (int(nos.min()), int(nos.max()))
                stored = read_stored_outcomes(
                    reader, number, bounds, with_probabilities=True, only=nos.tolist()
                )
                fill_stored(copies, position, stored, record_nos=nos, rule=subject.monitor.outcomes)
        counted = find_counted_references(grouping, treated.profile)
        draws = np.array([targets[position].draws for position in counted], dtype=np.int64)
        are_known[remaining] = (copies.answered[:, counted] >= draws).all(axis=1)
        outcomes[remaining] = np.where(
            are_known[remaining], find_outcomes_as_reference(copies, treated.profile, treated.judge), UNKNOWN
        )
    return outcomes, are_known


@frozen
class Flags:
    """Flags that a check sets among the records that it `examined` for an attribute, in place of earlier
    flags of these `kinds`.

    `groups` are the labels of the attribute's monitored groups.
    """

    attribute: str
    groups: Sequence[str]
    examined: Sequence[int]
    found: Sequence[FlaggedRecord]
    kinds: Sequence[str] = ("changed", "likely")


def is_flagged_already(subject: Subject, profile: Profile) -> bool:
    """Whether earlier checks flagged these records, so that only records with new copies need examining.

    Not for a requested range, or the first window of a changed monitor.
    """
    last = subject.newest_success
    if (
        subject.check.trigger is Trigger.RANGE
        or last is None
        or last.monitor_version != subject.monitor.version
    ):
        return False
    return (last.window or {}).get("mitigation_profile_version") == profile.version


def flag_records(
    reader: ArrowReader, subject: Subject, window: PayloadWindow, treated: TreatedWindow, *, only_new: bool
) -> Flags:
    examined = treated.mark_new() if only_new else np.ones(len(window), dtype=np.bool_)
    changed = find_changed(treated, examined)
    nos = window.record_nos()[changed].tolist()
    probabilities = (
        read_record_probabilities(reader, subject.deployment.no, window.reach(), nos) if nos else {}
    )
    flags = describe_flags(subject, window, treated, changed, [probabilities.get(no) for no in nos])
    return Flags(
        treated.profile.feature, treated.monitored_labels, window.record_nos()[examined].tolist(), flags
    )


def find_changed(treated: TreatedWindow, examined: BoolArray) -> IntArray:
    """Positions of the examined records whose outcome as reference is another."""
    is_other = (treated.as_reference != UNKNOWN) & (treated.as_reference != treated.own)
    return np.flatnonzero(examined & treated.mark_monitored() & is_other)


def describe_flags(
    subject: Subject,
    window: PayloadWindow,
    treated: TreatedWindow,
    changed: IntArray,
    probabilities: Sequence[str | None],
) -> list[FlaggedRecord]:
    if not len(changed):
        return []
    times = window.rows["logged_at"]
    reading = treated.judge.reading
    means = average_probabilities(
        read_reference_answers(treated.copies, treated.profile, treated.judge, changed), len(window)
    )
    own_scores = read_known_scores(probabilities, reading)
    of_reference = read_known_scores(
        write_probabilities([means[record] for record in changed.tolist()]), reading
    )
    nos = window.record_nos()[changed].tolist()
    return [
        FlaggedRecord(
            record_no=no,
            attribute=treated.profile.feature,
            logged_at=times[record].as_py(),
            model_revision=subject.deployment.model_revision,
            group=treated.grouping.groups[treated.grouping.codes[record]].label,
            kind="changed",
            direction="lifted" if treated.as_reference[record] > treated.own[record] else "lowered",
            own_score=own_score,
            reference_score=reference_score,
            gap=0.0 if own_score is None or reference_score is None else abs(reference_score - own_score),
        )
        for no, record, own_score, reference_score in zip(
            nos, changed.tolist(), own_scores, of_reference, strict=True
        )
    ]
