"""The passive mitigation of a check: what it would have changed in the window, from the outcomes that the check knows already.

No call of the model: `app.checks.check` calls `mitigate_window` once all copies are scored.

    profile → each attribute's records before and after → tables, labels, flagged records, bias detectors → stored with the check
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlalchemy.orm import Session

from app.checks.evidence import Evidence
from app.checks.further import Further
from app.checks.labelled import Labelled
from app.checks.measuring import measure_table
from app.checks.outcomes_of_copies import CopyOutcomes
from app.checks.picking import picked_on
from app.checks.revisions import explained
from app.checks.scores import scores_by
from app.checks.subject import Subject
from app.checks.tabulation import Tabulated, revisions_of
from app.clock import utc_now
from app.domain.checks import DataSet
from app.domain.mitigation import AttributeProfile, Mode, Profile
from app.metrics.groups import FloatArray
from app.metrics.tables import DebiasedCells
from app.mitigation.deciding import Judge
from app.mitigation.flagging import Flags, flag_records, is_flagged_already
from app.mitigation.labels import Known, LabelTables, tabulate_labels
from app.mitigation.marking import detect
from app.mitigation.profiles import completed_profile
from app.mitigation.treated import Treated, treated
from app.store.arrow import ArrowReader, arrow_reader
from app.store.bias_detectors import NewDetector, store_detectors
from app.store.engine import Database
from app.store.flagged_records import clear_flags, keep_flags_of, store_flagged
from app.store.window import probabilities_of

NOT_LEARNT = "nothing was learnt of it yet"


@dataclass(frozen=True, slots=True)
class _Attribute:
    """One mitigated attribute, and what became of the window and of the labels under it."""

    profile: AttributeProfile
    treated: Treated
    labels: LabelTables | None


@dataclass(frozen=True, slots=True)
class _ToStore:
    """What is written with the check beside tables and measurements."""

    deployment_no: int
    flags: Sequence[Flags]
    only_new: bool
    detectors: Sequence[NewDetector]
    basis: str

    def store(self, session: Session, check_no: int) -> None:
        if not self.only_new:
            keep_flags_of(session, self.deployment_no, {flags.attribute: flags.groups for flags in self.flags})
        for flags in self.flags:
            clear_flags(session, self.deployment_no, flags.attribute, flags.looked_at, flags.kinds)
        store_flagged(session, self.deployment_no, check_no, [flag for flags in self.flags for flag in flags.found])
        store_detectors(session, self.deployment_no, self.detectors, check_no=check_no, basis=self.basis, trained_at=utc_now())


def mitigate_window(subject: Subject, evidence: Evidence, labels: Labelled | None, database: Database) -> Further:
    """Tables and measurements before and after mitigation, in the mode that is set; records to be looked at again.

    Raises:
        InvalidInput: the monitor cannot be applied to what was logged.
    """
    mitigated = [copies for copies in evidence.copies if subject.mitigation.mitigates(copies.grouping.column.name)]
    if not mitigated:
        return Further()
    profile = completed_profile(database, subject.deployment, subject.monitor, subject.mitigation, now=utc_now())
    with database.transaction() as session:
        only_new = is_flagged_already(session, subject, profile)
    with arrow_reader(database.url) as reader:
        attributes = list(_attributes(reader, subject, (evidence, labels), mitigated, profile))
        flags = [
            flag_records(reader, subject, evidence.window, one.treated, (one.profile, profile), only_new=only_new) for one in attributes
        ]
        detected = detect(reader, database, subject, evidence, [one.treated for one in attributes], profile)
    tables = [table for one in attributes for table in _tables(subject, evidence, one)]
    measurements = [
        measurement
        for table in tables
        for measurement in explained(
            measure_table(table.data, table.attribute, table.whole, monitor=subject.monitor, at=subject.at),
            table.own.groups,
            table.other_revisions,
        )
    ]
    found = _ToStore(subject.deployment.no, [*flags, *detected.likely], only_new, detected.new, profile.basis)
    details = _details(subject, profile, attributes) | ({"bias_detector": detected.details} if detected.details else {})
    return Further(tables=tables, measurements=measurements, details=details, store=found.store)


def _attributes(
    reader: ArrowReader, subject: Subject, read: tuple[Evidence, Labelled | None], mitigated: Sequence[CopyOutcomes], profile: Profile
) -> Iterator[_Attribute]:
    evidence, labels = read
    judge, known = Judge.of(subject.monitor.outcomes, profile), Known(evidence.window.record_nos(), evidence.known_targets)
    own_scores = _own_scores(reader, subject, evidence, profile)
    for copies in mitigated:
        name = copies.grouping.column.name
        learnt = profile.attribute(name) or AttributeProfile(name, (), 0.0, NOT_LEARNT)
        found = treated(copies, evidence.outcomes, learnt, judge, subject.mitigation.mode, own_scores)
        compared = None
        if labels is not None and picked_on(subject.monitor, DataSet.DEBIASED_FEEDBACK):
            compared = tabulate_labels(reader, subject, labels, (found, known), (learnt, judge))
        yield _Attribute(learnt, found, compared)


def _own_scores(reader: ArrowReader, subject: Subject, evidence: Evidence, profile: Profile) -> FloatArray:
    """The records' own scores [records], where the mode holds them against thresholds; else NaN."""
    window = evidence.window
    scores = np.full(len(window), np.nan)
    if subject.mitigation.mode is Mode.PARITY and profile.reading is not None:
        record_nos = window.record_nos().tolist()
        texts = probabilities_of(reader, subject.deployment.no, window.reach(), record_nos)
        scores = scores_by(profile.reading, pa.chunked_array([pa.array([texts.get(no) for no in record_nos], pa.string())]))
    return scores


def _tables(subject: Subject, evidence: Evidence, one: _Attribute) -> Iterator[Tabulated]:
    name = one.profile.feature
    way = subject.mitigation.way_of(name)
    if picked_on(subject.monitor, DataSet.DEBIASED):
        own = evidence.window.is_own()
        before_and_after = (_cells(one.treated, own), _cells(one.treated, ~own))
        yield Tabulated(DataSet.DEBIASED, name, *before_and_after, mitigated=way, revisions=revisions_of(evidence, name))
    if one.labels is not None:
        labels = one.labels
        yield Tabulated(DataSet.DEBIASED_FEEDBACK, name, labels.own, labels.additional, mitigated=way, revisions=labels.revisions)


def _cells(found: Treated, part: npt.NDArray[np.bool_]) -> DebiasedCells:
    copies = found.copies
    return DebiasedCells.from_records(
        found.grouping.named,
        found.grouping.codes[part],
        found.own[part],
        after=found.after[part],
        copies_classified=copies.classified[part],
        copies_before=copies.favourable[part],
        copies_after=found.copies_after[part],
    )


def _details(subject: Subject, profile: Profile, attributes: Sequence[_Attribute]) -> dict[str, object]:
    return {
        "mitigation_profile_version": profile.version,
        "mitigation": {
            "mode": subject.mitigation.mode.value,
            "profile_is_provisional": profile.is_provisional,
            "attributes": {one.profile.feature: _counts(one, subject.mitigation.mode) for one in attributes},
        },
    }


def _counts(one: _Attribute, mode: Mode) -> dict[str, object]:
    """How many monitored records mitigation changes, and what it could not say."""
    found = one.treated
    counts: dict[str, object] = {
        "monitored": int(found.is_monitored().sum()),
        "lifted": int((found.after > found.own).sum()),
        "lowered": int((found.after < found.own).sum()),
    }
    if mode is not Mode.PARITY:
        counts["undecided"] = int((found.is_monitored() & found.is_undecided()).sum())
    counts["changed"] = int((found.after != found.own).sum())
    if one.labels is not None:
        counts |= {"labels_without_copies": one.labels.without_copies, "labels_of_other_revisions": one.labels.of_other_revisions}
    if one.profile.reason is not None:
        counts["reason"] = one.profile.reason
    return counts
