"""When bias detectors are trained anew, and what of a training is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from app.domain.bias_detectors import ALL_TOGETHER, DetectorCounts, DetectorVersion
from app.domain.deployments import Column
from app.domain.values import Scalar
from app.mitigation.detector import LIBRARY, Detector
from app.mitigation.detector_training import Refusal, train
from app.store.bias_detectors import NewDetector

GROWTH = 0.2
"""The part by which the records known must have grown (after a refusal: changed) to be worth a new version."""


RETRAINED_AFTER = timedelta(days=7)
"""A window of steady size never grows, while the people in it change."""


@dataclass(frozen=True, slots=True, eq=False)
class DetectorEvidence:
    """Records with a monitored value of the attribute and an unfavourable outcome whose outcome as reference is known.

    Oldest first, each once. `rows` are their features, `own_scores` the model's probabilities of the favourable outcome where it
    gives them; `biased` is whether the outcome as reference is favourable.
    """

    attribute: str
    record_ids: Sequence[str]
    rows: Sequence[Sequence[Scalar | None]]
    own_scores: Sequence[float | None]
    biased: Sequence[bool]


def train_detectors(
    columns: Sequence[Column], evidence: Sequence[DetectorEvidence], known: Mapping[str, DetectorVersion], *, now: datetime
) -> list[NewDetector]:
    """What is to be stored as a new version: of each attribute, and of all together, whose training is due.

    `known` are the newest versions for the same basis. A detector is trained where there is none yet, where the biased records known
    grew by a fifth or a week has passed since, and where the library changed; a refusal is stored again where the records known
    changed by a fifth.
    """
    if not evidence:
        return []
    several = [*evidence, pooled(evidence)] if len(evidence) > 1 else list(evidence)
    found = [new for one in several if (new := _trained(columns, one, known.get(one.attribute), now)) is not None]
    if len(evidence) == 1:
        # All together are the records of this one attribute, so the training is the same.
        found += [replace(new, attribute=ALL_TOGETHER) for new in found]
    return found


def pooled(evidence: Sequence[DetectorEvidence]) -> DetectorEvidence:
    """The records of all attributes, each once, biased where it is for any attribute.

    A record is as new as the attribute in whose evidence it stands furthest to the end says.
    """
    ages: dict[str, int] = {}
    records: dict[str, tuple[Sequence[Scalar | None], float | None]] = {}
    biased: set[str] = set()
    for one in evidence:
        parts = zip(one.record_ids, one.rows, one.own_scores, one.biased, strict=True)
        for age, (record_id, row, score, is_biased) in zip(range(len(one.record_ids), 0, -1), parts, strict=True):
            ages[record_id] = min(age, ages.get(record_id, age))
            records[record_id] = row, score
            if is_biased:
                biased.add(record_id)
    ids = sorted(ages, key=lambda record_id: (-ages[record_id], record_id))
    return DetectorEvidence(
        attribute=ALL_TOGETHER,
        record_ids=ids,
        rows=[records[record_id][0] for record_id in ids],
        own_scores=[records[record_id][1] for record_id in ids],
        biased=[record_id in biased for record_id in ids],
    )


def _trained(columns: Sequence[Column], evidence: DetectorEvidence, last: DetectorVersion | None, now: datetime) -> NewDetector | None:
    """The new version of one attribute, if one is due. After a refusal it is tried each time, since a refusal costs nothing."""
    records, biased = len(evidence.biased), sum(map(bool, evidence.biased))
    is_due = last is None or last.made_by != LIBRARY or now - last.trained_at >= RETRAINED_AFTER or _has_grown(biased, last.counts.biased)
    if last is not None and last.reason is None and not is_due:
        return None
    result = train(columns, evidence.rows, own_scores=evidence.own_scores, biased=evidence.biased, ids=evidence.record_ids)
    if isinstance(result, Detector):
        return _new(evidence.attribute, result)
    if last is not None and last.reason is not None and not _have_changed(records, biased, last.counts):
        return None
    return _refused(evidence.attribute, result)


def _has_grown(now: int, before: int) -> bool:
    return now > before and now - before >= GROWTH * before


def _have_changed(records: int, biased: int, before: DetectorCounts) -> bool:
    pairs = (biased, before.biased), (records - biased, before.records - before.biased)
    return any(now != then and abs(now - then) >= GROWTH * then for now, then in pairs)


def _new(attribute: str, detector: Detector) -> NewDetector:
    return NewDetector(
        attribute=attribute,
        counts=detector.counts,
        made_by=LIBRARY,
        threshold=detector.threshold,
        quality=detector.quality,
        model=detector.to_bytes(),
    )


def _refused(attribute: str, refusal: Refusal) -> NewDetector:
    return NewDetector(attribute=attribute, counts=refusal.counts, made_by=LIBRARY, reason=refusal.reason)
