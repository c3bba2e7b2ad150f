"""Changes that mitigation would have made in the window, and the bias detector in a check."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from sqlalchemy.orm import Session

from ...base.clock import utc_now
from ...base.values import Scalar
from ...checks.check import FurtherResults
from ...checks.copies.copy_outcomes import CopyOutcomes
from ...checks.counting.tabulate import PeriodTables, tabulate_revisions
from ...checks.measure import measure_table
from ...checks.subject import Subject
from ...checks.window.labelled_window import LabelledWindow
from ...checks.window.window import PROBABILITY
from ...checks.window.window_records import CheckEvidence
from ...database.engine import ArrowReader, Database, arrow_reader
from ...deployments.mitigation_queries import (
    ALL_TOGETHER,
    NewDetector,
    find_newest_detectors,
    find_usable_versions,
    store_detectors,
)
from ...deployments.monitor.queries import list_monitored_metrics, list_stored_metrics
from ...domain.check import DataSet, Span
from ...domain.mitigation import AttributeProfile, DetectorUse, FlaggedRecord, Profile, Reading
from ...domain.monitor import Comparison, Outcome
from ...sources.arrays.favourable_scores import classify_answers
from ...sources.arrays.read_records import group_records
from ...sources.stored.window_queries import (
    VALUE_PREFIX,
    WindowQuery,
    read_newest_payload,
    read_record_features,
    read_record_probabilities,
)
from ...sources.tables.own_files import FLAG_SCHEMA
from ...statistics.group_labels import build_groups
from ...statistics.tables.record_kinds import MitigatedCells
from ..detector.bias_detector import BiasDetector, LoadedDetectors, score_bias
from ..detector.detector_versions import DetectorEvidence, train_detectors
from ..detector.installed import explain_missing_packages
from ..profile_in_force import find_profile_in_force, fit_profile
from ..rule import UNKNOWN, Judge, read_known_scores
from .flag_queries import clear_flags, drop_unwatched_flags, store_flagged
from .treated_window import (
    Flags,
    LabelTables,
    TreatedWindow,
    describe_flags,
    find_changed,
    find_monitored,
    flag_records,
    is_flagged_already,
    tabulate_labels,
    treat_window,
)

NOTHING_FITTED = "nothing was fitted for it yet"

MAX_RECORDS = 50_000
"""Newest records of each attribute that are read for training, and marked."""


def mitigate_window(
    subject: Subject, evidence: CheckEvidence, labels: LabelledWindow | None, database: Database
) -> FurtherResults:
    """Mitigates the records of a check: tables and measurements before and after, and records to be examined
    again; of records in files only the last.
    """
    if subject.deployment.payload:
        return flag_records_in_files(subject, evidence)
    mitigated = [
        copies for copies in evidence.copies if subject.mitigation.mitigates(copies.grouping.column.name)
    ]
    if not mitigated:
        return FurtherResults()
    profile = find_profile_in_force(
        database, subject.deployment, subject.monitor, subject.mitigation, now=utc_now()
    )
    only_new = is_flagged_already(subject, profile)
    treated = _treat(subject, evidence, mitigated, profile)
    with arrow_reader(database) as reader:
        label_tables_of_windows = [
            tabulate_labels(reader, subject, evidence, labels, treatment)
            if labels and list_monitored_metrics(subject.monitor, DataSet.MITIGATED_LABELLED)
            else None
            for treatment in treated
        ]
        flags = [
            flag_records(reader, subject, evidence.window, treatment, only_new=only_new)
            for treatment in treated
        ]
        new, likely, detected = run_detectors(reader, database, subject, evidence, treated, profile)

    attributes = list(zip(treated, label_tables_of_windows, strict=True))
    tables = []
    for treatment, of_labels in attributes:
        if list_monitored_metrics(subject.monitor, DataSet.MITIGATED):
            tables.append(_tabulate(subject, evidence, treatment))
        tables += [] if of_labels is None else [of_labels.table]
    measurements = [
        measurement
        for table in tables
        for measurement in measure_table(
            table.data,
            table.comparison,
            table.whole,
            monitor=subject.monitor,
            at=subject.at,
            metrics=list_stored_metrics(subject.monitor, table.data),
            labels=None
            if labels is None or table.data is not DataSet.MITIGATED_LABELLED
            else labels.count_cells(table.comparison),
            other_revisions=table.other_revisions,
        )
    ]
    details = {
        "mitigation_profile_version": profile.version,
        "mitigation": {
            "mode": subject.mitigation.mode,
            "profile_is_provisional": profile.is_provisional,
            "attributes": {
                treatment.profile.feature: _count_changes(treatment, of_labels)
                for treatment, of_labels in attributes
            },
        },
    }
    if detected:
        details["bias_detector"] = detected

    def store(session: Session, check_no: int) -> None:
        no = subject.deployment.no
        all_flags = [*flags, *likely]
        if not only_new:
            drop_unwatched_flags(session, no, {flagged.attribute: flagged.groups for flagged in all_flags})
        for flagged in all_flags:
            clear_flags(session, no, flagged.attribute, flagged.examined, flagged.kinds)
        store_flagged(session, no, check_no, [flag for flagged in all_flags for flag in flagged.found])
        store_detectors(session, no, new, check_no=check_no, basis=profile.basis, trained_at=utc_now())

    return FurtherResults(tables=tables, measurements=measurements, details=details, store=store)


def _treat(
    subject: Subject, evidence: CheckEvidence, copied: Sequence[CopyOutcomes], profile: Profile
) -> list[TreatedWindow]:
    judge = Judge.of(subject.monitor.outcomes, profile)
    treated = []
    for copies in copied:
        name = copies.grouping.column.name
        fitted = profile.attribute(name) or AttributeProfile(name, (), 0.0, NOTHING_FITTED)
        treated.append(treat_window(copies, evidence.outcomes, fitted, judge, subject.mitigation.mode))
    return treated


def _tabulate(subject: Subject, evidence: CheckEvidence, treated: TreatedWindow) -> PeriodTables:
    copies = treated.copies
    periods = [
        MitigatedCells.from_records(
            build_groups(treated.grouping.named_groups),
            copies.codes[selected],
            before=treated.own[selected],
            after=treated.after[selected],
            copies_classified=copies.classified[selected],
            copies_before=copies.favourable[selected],
            copies_after=treated.copies_after[selected],
        )
        for selected in evidence.window.parts()
    ]
    return PeriodTables(
        DataSet.MITIGATED,
        Comparison((treated.profile.feature,)),
        periods,
        mitigated=subject.mitigation.mode.value,
        revisions=tabulate_revisions(evidence, copies),
    )


def _count_changes(treated: TreatedWindow, labels: LabelTables | None) -> dict[str, object]:
    counts: dict[str, object] = {
        "monitored": int(treated.mark_monitored().sum()),
        "lifted": int((treated.after > treated.own).sum()),
        "lowered": int((treated.after < treated.own).sum()),
        "undecided": int((treated.mark_monitored() & treated.mark_undecided()).sum()),
        "changed": int((treated.after != treated.own).sum()),
    }
    if labels:
        counts |= labels.left_out
    if treated.profile.reason:
        counts["reason"] = treated.profile.reason
    return counts


def flag_records_in_files(subject: Subject, evidence: CheckEvidence) -> FurtherResults:
    if not evidence.copies:
        return FurtherResults()
    window = evidence.window
    mitigation = subject.mitigation
    profile = fit_profile(
        subject.deployment,
        subject.monitor,
        mitigation,
        donors=subject.donors,
        rows=window.rows,
        values=window.values(),
        basis="",
        now=utc_now(),
    )
    records = np.ones(len(window), dtype=np.bool_)
    flags = []
    positions = []
    counts = {}
    for treated in _treat(subject, evidence, evidence.copies, profile):
        changed = find_changed(treated, records)
        probabilities = window.rows[PROBABILITY].take(pa.array(changed)).to_pylist()
        flags += describe_flags(subject, window, treated, changed, probabilities)
        positions += changed.tolist()
        counts[treated.profile.feature] = len(changed)
    columns = {name: [getattr(flag, name, None) for flag in flags] for name in FLAG_SCHEMA.names}
    columns["record_id"] = window.rows["record_id"].take(pa.array(positions, pa.int64())).to_pylist()
    columns["scored_at"] = [flag.logged_at for flag in flags]
    columns["gap"] = [
        None if flag.own_score is None or flag.reference_score is None else flag.gap for flag in flags
    ]
    columns["check_id"] = [subject.check.id] * len(flags)
    order = [("gap", "descending"), ("record_id", "ascending"), ("attribute", "ascending")]
    return FurtherResults(
        details={"flagged_records": counts}, flagged=pa.table(columns, FLAG_SCHEMA).sort_by(order)
    )


def run_detectors(
    reader: ArrowReader,
    database: Database,
    subject: Subject,
    evidence: CheckEvidence,
    treated: Sequence[TreatedWindow],
    profile: Profile,
) -> tuple[Sequence[NewDetector], Sequence[Flags], dict[str, object]]:
    """Returns new versions, records marked as likely biased, and details of the check.

    Nothing where the detector is off, or its packages are not installed.
    """
    if subject.mitigation.bias_detector is DetectorUse.OFF:
        return (), (), {}
    if reason := explain_missing_packages():
        return (), (), {"left_out": reason}
    window = evidence.window
    training = []
    for treated_window in treated:
        # The window has its newest record first, and training wants the oldest first.
        is_usable = (
            treated_window.mark_monitored()
            & (treated_window.own == Outcome.UNFAVOURABLE)
            & (treated_window.as_reference != UNKNOWN)
        )
        positions = np.flatnonzero(is_usable)[:MAX_RECORDS][::-1]
        rows, own = _read_records(
            reader, subject, window.reach(), window.record_nos()[positions].tolist(), profile.reading
        )
        training.append(
            DetectorEvidence(
                attribute=treated_window.profile.feature,
                record_ids=[str(window.rows["record_id"][position]) for position in positions.tolist()],
                rows=rows,
                own_scores=own,
                biased=(treated_window.as_reference[positions] == Outcome.FAVOURABLE).tolist(),
            )
        )

    with database.transaction() as session:
        versions = find_newest_detectors(session, subject.deployment.no, profile.basis)
        usable = find_usable_versions(session, subject.deployment.no, profile.basis)
        detectors = LoadedDetectors().load(session, subject.deployment.no, usable)
    new = train_detectors(subject.deployment.schema.features, training, versions, now=utc_now())
    detectors |= {
        detector.attribute: BiasDetector.from_bytes(detector.model)
        for detector in new
        if detector.model is not None
    }

    left_out = window.logged_in_span > window.own
    likely = (
        list(_mark_left_out(reader, subject, treated, detectors, profile.reading))
        if detectors and left_out
        else []
    )
    details = {
        "trained": {
            detector.attribute or "all attributes": "trained" if detector.reason is None else detector.reason
            for detector in new
        },
        "likely": sum(len(flags.found) for flags in likely),
        "attributes_with_detector": sorted(set(detectors) - {ALL_TOGETHER}),
    }
    return new, likely, details


def _read_records(
    reader: ArrowReader, subject: Subject, span: Span, record_nos: Sequence[int], reading: Reading | None
) -> tuple[list[list[Scalar | None]], list[float | None]]:
    if not record_nos:
        return [], []
    features = read_record_features(reader, subject.deployment.no, span, record_nos)
    texts = read_record_probabilities(reader, subject.deployment.no, span, record_nos)
    return [features[no] for no in record_nos], read_known_scores(
        [texts.get(no) for no in record_nos], reading
    )


def _mark_left_out(
    reader: ArrowReader,
    subject: Subject,
    treated: Sequence[TreatedWindow],
    detectors: Mapping[str, BiasDetector],
    reading: Reading | None,
) -> Iterator[Flags]:
    monitor = subject.monitor
    deployment = subject.deployment
    query = WindowQuery(deployment.no, deployment.schema, tuple(window.profile.feature for window in treated))
    rows = read_newest_payload(reader, query, subject.check.span, monitor.max_records + MAX_RECORDS).slice(
        monitor.max_records
    )
    present = np.array(rows["model_revision"].to_pylist(), dtype=object) == deployment.model_revision
    unfavourable = present & (classify_answers(rows["outcome"], monitor.outcomes) == Outcome.UNFAVOURABLE)
    for position, window in enumerate(treated):
        grouping = group_records(
            subject.fix_reference(window.grouping), window.grouping.column, rows[f"{VALUE_PREFIX}{position}"]
        )
        chosen = np.flatnonzero(unfavourable & find_monitored(grouping))
        nos = rows["record_no"].to_numpy()[chosen].tolist()
        features, own = _read_records(reader, subject, subject.check.span, nos, reading)
        scores = score_bias(detectors, window.profile.feature, features, own) if nos else None
        if scores is None:
            continue
        marked = [
            FlaggedRecord(
                record_no=nos[index],
                attribute=window.profile.feature,
                logged_at=rows["logged_at"][int(chosen[index])].as_py(),
                model_revision=deployment.model_revision,
                group=grouping.groups[grouping.codes[chosen[index]]].label,
                kind="likely",
                direction="lifted",
                own_score=own[index],
                bias_score=float(scores.scores[index]),
            )
            for index in np.flatnonzero(scores.is_likely).tolist()
        ]
        yield Flags(window.profile.feature, window.monitored_labels, nos, marked, kinds=("likely",))
