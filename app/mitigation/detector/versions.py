"""Decides when bias detectors are trained again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ...domain.bias_detectors import ALL_TOGETHER, DetectorVersion
from ...domain.deployments import Column
from ...domain.values import Scalar
from ...store.mitigation.bias_detectors import NewDetector
from .model import LIBRARY, BiasDetector
from .training import train

GROWTH = 0.2
"""Fraction by which the known records must have grown (after a refusal: changed) for a new version."""


RETRAINED_AFTER = timedelta(days=7)
"""Age at which a detector is trained again: a window of steady size never grows, while the people in it change."""


@dataclass(frozen=True, slots=True, eq=False)
class DetectorEvidence:
    """Records with a monitored value and an unfavourable outcome, whose outcome as reference is known: oldest first, each once.

    `own_scores` are the model's probabilities of the favourable outcome where it gives them; `biased` is whether the outcome as reference
    is favourable.
    """

    attribute: str
    record_ids: Sequence[str]
    rows: Sequence[Sequence[Scalar | None]]
    own_scores: Sequence[float | None]
    biased: Sequence[bool]


def train_detectors(
    columns: Sequence[Column], evidence: Sequence[DetectorEvidence], known: Mapping[str, DetectorVersion], *, now: datetime
) -> list[NewDetector]:
    """Returns the new versions to store: of each attribute, and of all together, whose training is due.

    `known` are the newest versions for the same basis. Training is due where there is none, where biased records grew by a fifth, after a
    week, and where the library changed; a refusal is stored again where the records changed by a fifth.
    """
    if not evidence:
        return []
    several = [*evidence, pool_evidence(evidence)] if len(evidence) > 1 else list(evidence)
    found = [new for one in several if (new := _train_if_due(columns, one, known.get(one.attribute), now)) is not None]
    if len(evidence) == 1:
        found += [replace(new, attribute=ALL_TOGETHER) for new in found]
    return found


def pool_evidence(evidence: Sequence[DetectorEvidence]) -> DetectorEvidence:
    """Returns the records of all attributes, each once, biased where it is for any attribute.

    A record's age is that in the evidence of the attribute that has it furthest to the end.
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


def _train_if_due(columns: Sequence[Column], evidence: DetectorEvidence, last: DetectorVersion | None, now: datetime) -> NewDetector | None:
    records, biased = len(evidence.biased), sum(map(bool, evidence.biased))
    if last is not None and last.reason is None and last.made_by == LIBRARY and now - last.trained_at < RETRAINED_AFTER:
        more = biased - last.counts.biased
        if more <= 0 or more < GROWTH * last.counts.biased:
            return None
    result = train(columns, evidence.rows, own_scores=evidence.own_scores, biased=evidence.biased, ids=evidence.record_ids)
    if isinstance(result, BiasDetector):
        return NewDetector(
            attribute=evidence.attribute,
            counts=result.counts,
            made_by=LIBRARY,
            threshold=result.threshold,
            quality=result.quality,
            model=result.to_bytes(),
        )
    if last is not None and last.reason is not None:
        pairs = (biased, last.counts.biased), (records - biased, last.counts.records - last.counts.biased)
        if not any(count != before and abs(count - before) >= GROWTH * before for count, before in pairs):
            return None
    return NewDetector(attribute=evidence.attribute, counts=result.counts, made_by=LIBRARY, reason=result.reason)
