"""The bias detector's part in a check: trained on what the copies showed, used on records of the span that the window left out.

The window's own records need no detector: their copies were scored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from app.checks.classifying import outcome_codes
from app.checks.evidence import Evidence
from app.checks.grouping import group_records
from app.checks.subject import Subject
from app.clock import utc_now
from app.domain.bias_detectors import ALL_TOGETHER
from app.domain.checks import Span
from app.domain.mitigation import DetectorUse, FlaggedRecord, Profile
from app.domain.outcomes import Outcome
from app.domain.values import Scalar
from app.mitigation.deciding import favourable_score
from app.mitigation.detecting import DetectorEvidence, train_detectors
from app.mitigation.detector import Detector
from app.mitigation.detector_choosing import bias_scores
from app.mitigation.detector_loading import LoadedDetectors
from app.mitigation.flagging import Flags, monitored_labels
from app.mitigation.treated import UNKNOWN, Treated, monitored, read_probability
from app.store.arrow import ArrowReader
from app.store.bias_detectors import NewDetector, newest_detectors
from app.store.engine import Database
from app.store.window import VALUE_PREFIX, WindowQuery, features_of, newest_payload, probabilities_of

MOST_RECORDS = 50_000
"""Records that are read for training, and records that are marked, the newest of each attribute."""


@dataclass(frozen=True, slots=True)
class Detected:
    """Versions to be stored, and records that are likely treated with bias."""

    new: Sequence[NewDetector] = ()
    likely: Sequence[Flags] = ()
    details: dict[str, object] = field(default_factory=dict)


def detect(
    reader: ArrowReader, database: Database, subject: Subject, evidence: Evidence, treated: Sequence[Treated], profile: Profile
) -> Detected:
    """What a check trains and marks; nothing where the detector is off."""
    if subject.mitigation.bias_detector is DetectorUse.OFF:
        return Detected()
    of_attributes = [_training_records(reader, subject, evidence, found, profile) for found in treated]
    with database.transaction() as session:
        known = newest_detectors(session, subject.deployment.no, profile.basis)
        detectors = LoadedDetectors().of(session, subject.deployment.no, profile.basis)
    new = train_detectors(subject.deployment.schema.features, of_attributes, known, now=utc_now())
    detectors |= {one.attribute: Detector.from_bytes(one.model) for one in new if one.model is not None}
    likely = list(_likely(reader, subject, evidence, treated, (detectors, profile))) if detectors else []
    trained = {one.attribute or "all attributes": "trained" if one.reason is None else one.reason for one in new}
    return Detected(
        new,
        likely,
        {
            "trained": trained,
            "likely": sum(len(flags.found) for flags in likely),
            "attributes_with_detector": sorted(set(detectors) - {ALL_TOGETHER}),
        },
    )


def _training_records(reader: ArrowReader, subject: Subject, evidence: Evidence, found: Treated, profile: Profile) -> DetectorEvidence:
    """The monitored records with an unfavourable outcome whose outcome as reference is known, oldest first."""
    wanted = found.is_monitored() & (found.own == Outcome.UNFAVOURABLE) & (found.as_reference != UNKNOWN)
    places = np.flatnonzero(wanted)[:MOST_RECORDS][::-1]
    window = evidence.window
    record_nos = window.record_nos()[places].tolist()
    rows, own_scores = _records(reader, subject, window.reach(), record_nos, profile)
    return DetectorEvidence(
        attribute=found.grouping.column.name,
        record_ids=[str(window.rows["record_id"][place]) for place in places.tolist()],
        rows=rows,
        own_scores=own_scores,
        biased=(found.as_reference[places] == Outcome.FAVOURABLE).tolist(),
    )


def _records(
    reader: ArrowReader, subject: Subject, span: Span, record_nos: Sequence[int], profile: Profile
) -> tuple[list[list[Scalar | None]], list[float | None]]:
    """Their features and their own scores of the favourable outcome."""
    if not record_nos:
        return [], []
    features = features_of(reader, subject.deployment.no, span, record_nos)
    texts = probabilities_of(reader, subject.deployment.no, span, record_nos)
    scores = [favourable_score(read_probability(texts.get(no)), profile.reading) for no in record_nos]
    return [features[no] for no in record_nos], scores


def _likely(
    reader: ArrowReader, subject: Subject, evidence: Evidence, treated: Sequence[Treated], learnt: tuple[dict[str, Detector], Profile]
) -> Iterator[Flags]:
    """Records of the span beyond the newest that the window holds: monitored, unfavourable, and of the present model."""
    window, monitor, deployment = evidence.window, subject.monitor, subject.deployment
    if window.logged_in_span <= window.own:
        return
    detectors, profile = learnt
    names = tuple(found.grouping.column.name for found in treated)
    query = WindowQuery(deployment.no, deployment.schema, names)
    rows = newest_payload(reader, query, subject.check.span, monitor.max_records + MOST_RECORDS).slice(monitor.max_records)
    present = np.array(rows["model_revision"].to_pylist(), dtype=object) == deployment.model_revision
    unfavourable = present & (outcome_codes(rows["outcome"], monitor.outcomes) == Outcome.UNFAVOURABLE)
    for place, found in enumerate(treated):
        grouping = group_records(subject.fixed(found.grouping), found.grouping.column, rows[f"{VALUE_PREFIX}{place}"])
        chosen: npt.NDArray[np.int64] = np.flatnonzero(unfavourable & monitored(grouping))
        record_nos = rows["record_no"].to_numpy()[chosen].tolist()
        features, own_scores = _records(reader, subject, subject.check.span, record_nos, profile)
        scores = bias_scores(detectors, names[place], features, own_scores) if record_nos else None
        if scores is not None:
            marked = [
                FlaggedRecord(
                    record_no=record_nos[index],
                    attribute=names[place],
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
            yield Flags(names[place], monitored_labels(grouping), record_nos, marked, kinds=("likely",))
