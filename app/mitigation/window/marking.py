"""The bias detector in a check: trained on the copies' outcomes, used on records of the span that the window left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np

from ...checks.evidence import CheckEvidence
from ...checks.subject import Subject
from ...clock import utc_now
from ...domain.bias_detectors import ALL_TOGETHER
from ...domain.checks import Span
from ...domain.mitigation import DetectorUse, FlaggedRecord, Profile, Reading
from ...domain.outcomes import Outcome
from ...domain.values import Scalar
from ...frozen import frozen
from ...records.grouping import group_records
from ...records.outcomes import outcome_codes
from ...store.database.arrow import ArrowReader
from ...store.database.engine import Database
from ...store.mitigation.mitigation import NewDetector, newest_detectors
from ...store.records.window import VALUE_PREFIX, WindowQuery, features_of, newest_payload, probabilities_of
from ..detector.choosing import bias_scores
from ..detector.installed import why_missing
from ..detector.loading import LoadedDetectors
from ..detector.model import BiasDetector
from ..detector.versions import DetectorEvidence, train_detectors
from ..rule import UNKNOWN, known_scores
from .flagging import Flags
from .treated import TreatedWindow, find_monitored

MOST_RECORDS = 50_000
"""Max records that are read for training, and that are marked: the newest of each attribute."""


@frozen
class DetectedRecords:
    new: Sequence[NewDetector] = ()
    likely: Sequence[Flags] = ()
    details: dict[str, object] = field(default_factory=dict)


def detect(
    reader: ArrowReader, database: Database, subject: Subject, evidence: CheckEvidence, treated: Sequence[TreatedWindow], profile: Profile
) -> DetectedRecords:
    """Trains detectors and marks records; nothing where the detector is off, or its packages are not installed."""
    if subject.mitigation.bias_detector is DetectorUse.OFF:
        return DetectedRecords()
    if (reason := why_missing()) is not None:
        return DetectedRecords(details={"left_out": reason})
    window, known_records = evidence.window, []
    for one in treated:
        # The window has its newest record first, and training wants the oldest first.
        is_wanted = one.is_monitored() & (one.own == Outcome.UNFAVOURABLE) & (one.as_reference != UNKNOWN)
        places = np.flatnonzero(is_wanted)[:MOST_RECORDS][::-1]
        rows, own_scores = _read_records(reader, subject, window.reach(), window.record_nos()[places].tolist(), profile.reading)
        known_records.append(
            DetectorEvidence(
                attribute=one.profile.feature,
                record_ids=[str(window.rows["record_id"][place]) for place in places.tolist()],
                rows=rows,
                own_scores=own_scores,
                biased=(one.as_reference[places] == Outcome.FAVOURABLE).tolist(),
            )
        )

    with database.transaction() as session:
        known = newest_detectors(session, subject.deployment.no, profile.basis)
        detectors = LoadedDetectors().of(session, subject.deployment.no, profile.basis)
    new = train_detectors(subject.deployment.schema.features, known_records, known, now=utc_now())
    detectors |= {one.attribute: BiasDetector.from_bytes(one.model) for one in new if one.model is not None}

    is_left_out = window.logged_in_span > window.own
    likely = list(_mark_left_out(reader, subject, treated, detectors, profile.reading)) if detectors and is_left_out else []
    details: dict[str, object] = {
        "trained": {one.attribute or "all attributes": "trained" if one.reason is None else one.reason for one in new},
        "likely": sum(len(flags.found) for flags in likely),
        "attributes_with_detector": sorted(set(detectors) - {ALL_TOGETHER}),
    }
    return DetectedRecords(new, likely, details)


def _read_records(
    reader: ArrowReader, subject: Subject, span: Span, record_nos: Sequence[int], reading: Reading | None
) -> tuple[list[list[Scalar | None]], list[float | None]]:
    if not record_nos:
        return [], []
    features = features_of(reader, subject.deployment.no, span, record_nos)
    texts = probabilities_of(reader, subject.deployment.no, span, record_nos)
    return [features[no] for no in record_nos], known_scores([texts.get(no) for no in record_nos], reading)


def _mark_left_out(
    reader: ArrowReader,
    subject: Subject,
    treated: Sequence[TreatedWindow],
    detectors: Mapping[str, BiasDetector],
    reading: Reading | None,
) -> Iterator[Flags]:
    """Returns likely biased records of the span that the window leaves out: monitored, unfavourable, and of the present model."""
    monitor, deployment = subject.monitor, subject.deployment
    query = WindowQuery(deployment.no, deployment.schema, tuple(one.profile.feature for one in treated))
    rows = newest_payload(reader, query, subject.check.span, monitor.max_records + MOST_RECORDS).slice(monitor.max_records)
    present = np.array(rows["model_revision"].to_pylist(), dtype=object) == deployment.model_revision
    unfavourable = present & (outcome_codes(rows["outcome"], monitor.outcomes) == Outcome.UNFAVOURABLE)
    for position, one in enumerate(treated):
        grouping = group_records(subject.fixed(one.grouping), one.grouping.column, rows[f"{VALUE_PREFIX}{position}"])
        chosen = np.flatnonzero(unfavourable & find_monitored(grouping))
        record_nos = rows["record_no"].to_numpy()[chosen].tolist()
        features, own_scores = _read_records(reader, subject, subject.check.span, record_nos, reading)
        scores = bias_scores(detectors, one.profile.feature, features, own_scores) if record_nos else None
        if scores is None:
            continue
        marked = [
            FlaggedRecord(
                record_no=record_nos[index],
                attribute=one.profile.feature,
                logged_at=rows["logged_at"][int(chosen[index])].as_py(),
                model_revision=deployment.model_revision,
                group=grouping.groups[grouping.codes[chosen[index]]].label,
                kind="likely",
                direction="lifted",
                own_score=own_scores[index],
                bias_score=float(scores.scores[index]),
            )
            for index in np.flatnonzero(scores.is_likely).tolist()
        ]
        yield Flags(one.profile.feature, one.monitored_labels, record_nos, marked, kinds=("likely",))
