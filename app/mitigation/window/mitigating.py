"""Changes that mitigation would have made in the window, from outcomes that the check knows, without a call of the model."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from sqlalchemy.orm import Session

from ...batch.own_files import FLAGS
from ...checks.evidence import CheckEvidence
from ...checks.feedback import PROBABILITY
from ...checks.further import Further
from ...checks.labelled import Labelled
from ...checks.measuring import measure_table
from ...checks.picking import picked_on, stored_on
from ...checks.revisions import explain_nulls
from ...checks.subject import Subject
from ...checks.tabulation import Tabulated, revisions_of
from ...clock import utc_now
from ...domain.checks import DataSet
from ...domain.comparisons import Comparison
from ...domain.mitigation import AttributeProfile, FlaggedRecord, Profile
from ...frozen import frozen
from ...metrics.groups import as_groups
from ...metrics.tables import DebiasedCells
from ...store.database.arrow import ArrowReader, arrow_reader
from ...store.database.engine import Database
from ...store.mitigation.mitigation import NewDetector, store_detectors
from ...store.records.flagged_records import clear_flags, keep_flags_of, store_flagged
from ..fitting import Goal, Payload, fit_to
from ..profiles import current_profile
from ..rule import Judge
from .flagging import Flags, describe_flags, find_changed, flag_records, is_flagged_already
from .labels import KnownCopies, LabelTables, tabulate_labels
from .marking import detect
from .treated import TreatedWindow, treat_window

NOTHING_FITTED = "nothing was fitted for it yet"

NOT_FITTED = "nothing was fitted for it"


@frozen
class _Attribute:
    treated: TreatedWindow
    labels: LabelTables | None

    @property
    def name(self) -> str:
        return self.treated.profile.feature


@frozen
class _ToStore:
    deployment_no: int
    flags: Sequence[Flags]
    only_new: bool
    detectors: Sequence[NewDetector]
    basis: str

    def store(self, session: Session, check_no: int) -> None:
        if not self.only_new:
            keep_flags_of(session, self.deployment_no, {flags.attribute: flags.groups for flags in self.flags})
        for flags in self.flags:
            clear_flags(session, self.deployment_no, flags.attribute, flags.examined, flags.kinds)
        store_flagged(session, self.deployment_no, check_no, [flag for flags in self.flags for flag in flags.found])
        store_detectors(session, self.deployment_no, self.detectors, check_no=check_no, basis=self.basis, trained_at=utc_now())


def mitigate_window(subject: Subject, evidence: CheckEvidence, labels: Labelled | None, database: Database) -> Further:
    """Returns tables and measurements before and after mitigation; records to be examined again. Of records in files only the last."""
    if subject.deployment.payload is not None:
        return flag_records_in_files(subject, evidence)
    if not any(subject.mitigation.mitigates(copies.grouping.column.name) for copies in evidence.copies):
        return Further()
    profile = current_profile(database, subject.deployment, subject.monitor, subject.mitigation, now=utc_now())
    with database.transaction() as session:
        only_new = is_flagged_already(session, subject, profile)
    with arrow_reader(database) as reader:
        attributes = list(_treat_attributes(reader, subject, evidence, labels, profile))
        treated = [one.treated for one in attributes]
        flags = [flag_records(reader, subject, evidence.window, one, only_new=only_new) for one in treated]
        detected = detect(reader, database, subject, evidence, treated, profile)

    tables = [table for one in attributes for table in _tabulate(subject, evidence, one)]
    measurements = [
        measurement
        for table in tables
        for measurement in explain_nulls(
            measure_table(
                table.data,
                table.comparison,
                table.whole,
                monitor=subject.monitor,
                at=subject.at,
                picked=stored_on(subject.monitor, table.data),
                labels=None if labels is None or table.data is not DataSet.DEBIASED_FEEDBACK else labels.count_cells(table.comparison),
            ),
            table.own.groups,
            table.other_revisions,
        )
    ]
    details: dict[str, object] = {
        "mitigation_profile_version": profile.version,
        "mitigation": {
            "mode": subject.mitigation.mode.value,
            "profile_is_provisional": profile.is_provisional,
            "attributes": {one.name: _count_changes(one) for one in attributes},
        },
    }
    if detected.details:
        details["bias_detector"] = detected.details
    to_store = _ToStore(subject.deployment.no, [*flags, *detected.likely], only_new, detected.new, profile.basis)
    return Further(tables=tables, measurements=measurements, details=details, store=to_store.store)


def _treat_attributes(
    reader: ArrowReader, subject: Subject, evidence: CheckEvidence, labels: Labelled | None, profile: Profile
) -> Iterator[_Attribute]:
    judge = Judge.of(subject.monitor.outcomes, profile)
    known = KnownCopies(evidence.window.record_nos(), evidence.known_targets)
    for copies in evidence.copies:
        name = copies.grouping.column.name
        if subject.mitigation.mitigates(name):
            fitted = profile.attribute(name) or AttributeProfile(name, (), 0.0, NOTHING_FITTED)
            treated = treat_window(copies, evidence.outcomes, fitted, judge, subject.mitigation.mode)
            compared = None
            if labels is not None and picked_on(subject.monitor, DataSet.DEBIASED_FEEDBACK):
                compared = tabulate_labels(reader, subject, labels, treated, known)
            yield _Attribute(treated, compared)


def _tabulate(subject: Subject, evidence: CheckEvidence, one: _Attribute) -> Iterator[Tabulated]:
    mode, comparison = subject.mitigation.mode.value, Comparison((one.name,))
    treated, copies = one.treated, one.treated.copies
    if picked_on(subject.monitor, DataSet.DEBIASED):
        is_own = evidence.window.is_own()
        own, additional = (
            DebiasedCells.from_records(
                as_groups(treated.grouping.named),
                copies.codes[part],
                before=treated.own[part],
                after=treated.after[part],
                copies_classified=copies.classified[part],
                copies_before=copies.favourable[part],
                copies_after=treated.copies_after[part],
            )
            for part in (is_own, ~is_own)
        )
        yield Tabulated(DataSet.DEBIASED, comparison, own, additional, mitigated=mode, revisions=revisions_of(evidence, one.name))
    if one.labels is not None:
        labels = one.labels
        yield Tabulated(DataSet.DEBIASED_FEEDBACK, comparison, labels.own, labels.additional, mitigated=mode, revisions=labels.revisions)


def _count_changes(one: _Attribute) -> dict[str, object]:
    treated = one.treated
    counts: dict[str, object] = {
        "monitored": int(treated.is_monitored().sum()),
        "lifted": int((treated.after > treated.own).sum()),
        "lowered": int((treated.after < treated.own).sum()),
        "undecided": int((treated.is_monitored() & treated.is_undecided()).sum()),
        "changed": int((treated.after != treated.own).sum()),
    }
    if one.labels is not None:
        counts |= {"labels_without_copies": one.labels.without_copies, "labels_of_other_revisions": one.labels.of_other_revisions}
    if treated.profile.reason is not None:
        counts["reason"] = treated.profile.reason
    return counts


def flag_records_in_files(subject: Subject, evidence: CheckEvidence) -> Further:
    if not evidence.copies:
        return Further()
    window, mitigation = evidence.window, subject.mitigation
    goal = Goal(deployment=subject.deployment, monitor=subject.monitor, settings=mitigation, donors=subject.donors, basis="")
    profile = fit_to(goal, Payload.of(goal, window.rows, window.values()), now=utc_now())
    judge, everything = Judge.of(subject.monitor.outcomes, profile), np.ones(len(window), dtype=np.bool_)
    flags: list[FlaggedRecord] = []
    positions: list[int] = []
    counts: dict[str, int] = {}
    for copies in evidence.copies:
        name = copies.grouping.column.name
        fitted = profile.attribute(name) or AttributeProfile(name, (), 0.0, NOT_FITTED)
        treated = treat_window(copies, evidence.outcomes, fitted, judge, mitigation.mode)
        changed = find_changed(treated, everything)
        own = window.rows[PROBABILITY].take(pa.array(changed)).to_pylist()
        flags += describe_flags(subject, window, treated, changed, own)
        positions += changed.tolist()
        counts[name] = len(changed)
    return Further(details={"flagged_records": counts}, flagged=_to_table(subject, evidence, flags, positions))


def _to_table(subject: Subject, evidence: CheckEvidence, flags: list[FlaggedRecord], positions: list[int]) -> pa.Table:
    columns = {name: [getattr(one, name, None) for one in flags] for name in FLAGS.names}
    columns["record_id"] = evidence.window.rows["record_id"].take(pa.array(positions, pa.int64())).to_pylist()
    columns["scored_at"] = [one.logged_at for one in flags]
    columns["gap"] = [None if one.own_score is None or one.reference_score is None else one.gap for one in flags]
    columns["check_id"] = [subject.check.id] * len(flags)
    order = [("gap", "descending"), ("record_id", "ascending"), ("attribute", "ascending")]
    return pa.table(columns, FLAGS).sort_by(order)
