"""Trains bias detectors, and decides when they are trained again."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from ...base.values import frozen, frozen_arrays
from ...deployments.mitigation_queries import ALL_TOGETHER, DetectorCounts, DetectorVersion, NewDetector
from ...domain.deployment import Column
from ...statistics.group_labels import FloatArray
from .bias_detector import (
    LIBRARY,
    BiasDetector,
    BoolArray,
    Encoding,
    Rows,
    find_threshold,
    limit_threads,
    measure_quality,
    predict,
)

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

MAX_RECORDS = 50_000

MIN_RECORDS = 50
MIN_HELD_OUT = 10
MIN_LEARNED_FROM = 20
"""Min numbers of biased records, and of records that are not: of all, of those held out, and of the others.
"""

HELD_OUT_SHARE = 0.3
"""Share of the records that measures the quality only."""

FOLDS = 5
"""Parts of the records to learn from: each is scored by a classifier that has not seen it."""

_SALT = b"evenhand bias detector held out"


@frozen
class TrainingRefusal:
    reason: str
    counts: DetectorCounts


def train(
    columns: Sequence[Column],
    rows: Rows,
    *,
    own_scores: Sequence[float | None],
    biased: Sequence[bool],
    ids: Sequence[str],
) -> BiasDetector | TrainingRefusal:
    """Trains a detector on monitored records with an unfavourable outcome, oldest first, each once.

    `own_scores` are the model's probabilities of the favourable outcome, `biased` whether the outcome as
    reference is favourable. The records held out are picked by their `ids`: a record is always on the same
    side.
    """
    start = max(0, len(rows) - MAX_RECORDS)
    # In [0, 1); a salt of their own makes the places independent of other draws by id.
    digests = (
        hashlib.blake2b(record_id.encode(), digest_size=8, key=_SALT).digest() for record_id in ids[start:]
    )
    draws = np.array([int.from_bytes(digest) / 2**64 for digest in digests], dtype=np.float64)
    order = np.argsort(draws, kind="stable")
    records = list(zip(rows[start:], own_scores[start:], biased[start:], strict=True))
    used = [records[position] for position in order.tolist()]
    is_biased = np.array([is_biased for _, _, is_biased in used], dtype=np.bool_)
    held_out = draws[order] < HELD_OUT_SHARE
    counts = DetectorCounts(
        records=len(biased),
        biased=sum(map(bool, biased)),
        used=len(used),
        used_biased=int(is_biased.sum()),
        held_out=int(held_out.sum()),
        held_out_biased=int((held_out & is_biased).sum()),
    )
    reason = _find_shortage(counts)
    if reason is not None:
        return TrainingRefusal(reason, counts)

    encoding = Encoding.fit(
        columns, [row for (row, _, _), is_held_out in zip(used, held_out, strict=True) if not is_held_out]
    )
    numbers = encoding.encode([row for row, _, _ in used], [score for _, score, _ in used])
    # The records held out measure quality only: neither encoding, classifier nor threshold may depend on
    # them.
    learned = numbers[~held_out]
    labels = is_biased[~held_out]
    # Each record's score by a classifier fitted to the other folds; every fold has its part of both
    # kinds.
    folds = np.empty(len(labels), dtype=np.int64)
    for kind in (labels, ~labels):
        folds[kind] = np.arange(int(kind.sum())) % FOLDS
    scores = np.empty(len(labels))
    for fold in range(FOLDS):
        fitted: BoolArray = folds != fold
        scores[~fitted] = predict(
            _fit_classifier(learned[fitted], labels[fitted], encoding), learned[~fitted]
        )
    threshold = find_threshold(scores, labels)
    classifier = _fit_classifier(learned, labels, encoding)
    quality = measure_quality(predict(classifier, numbers[held_out]), is_biased[held_out], threshold)
    return BiasDetector(encoding, classifier, threshold, counts, quality)


def _find_shortage(counts: DetectorCounts) -> str | None:
    biased = counts.used_biased
    held_out = counts.held_out_biased
    kinds = (("biased", biased, held_out), ("not biased", counts.used - biased, counts.held_out - held_out))
    for kind, of_all, of_held_out in kinds:
        requirements = (
            (of_all, MIN_RECORDS, f"of the {counts.used:,} monitored records with an unfavourable outcome"),
            (of_held_out, MIN_HELD_OUT, f"of the {counts.held_out:,} records held out to measure quality"),
            (
                of_all - of_held_out,
                MIN_LEARNED_FROM,
                f"of the {counts.used - counts.held_out:,} records to learn from",
            ),
        )
        for count, least, where in requirements:
            if count < least:
                return f"{count:,} {where} are {kind}; at least {least} are needed."
    return None


def _fit_classifier(
    numbers: FloatArray, biased: BoolArray, encoding: Encoding
) -> "HistGradientBoostingClassifier":
    """Fits small trees, slowly added: the biased records may be few. `random_state` has no effect."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415

    classifier = HistGradientBoostingClassifier(
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=15,
        min_samples_leaf=10,
        l2_regularization=1.0,
        categorical_features=encoding.categorical,
        early_stopping=False,
        random_state=0,
    )
    # A quantity without any value cannot be divided into bins.
    complete = np.where(np.isfinite(numbers).any(axis=0), numbers, 0.0)
    with limit_threads():
        return classifier.fit(complete, biased)


MIN_GROWTH = 0.2
"""Growth of the known records (after a refusal: change) for a new version."""


MAX_DETECTOR_AGE = timedelta(days=7)
"""A window of steady size never grows, while the people in it change."""


@frozen_arrays
class DetectorEvidence:
    """Records that a detector is trained on: with a monitored value, an unfavourable outcome and a known
    outcome as reference; oldest first, each once.

    `own_scores` are probabilities of the favourable outcome; `biased`: the outcome as reference is
    favourable.
    """

    attribute: str
    record_ids: Sequence[str]
    rows: Rows
    own_scores: Sequence[float | None]
    biased: Sequence[bool]


def train_detectors(
    columns: Sequence[Column],
    evidence: Sequence[DetectorEvidence],
    newest: Mapping[str, DetectorVersion],
    *,
    now: datetime,
) -> list[NewDetector]:
    """Trains versions of each attribute, and of all together, whose training is due.

    `newest` are for the same basis. Training is due without one, where biased records grew by a fifth, after
    a week, and where the library changed; a refusal is stored again where the records changed by a fifth.
    """
    if not evidence:
        return []
    evidence_with_pool = [*evidence, pool_evidence(evidence)] if len(evidence) > 1 else evidence
    trained = (
        _train_if_due(columns, of_attribute, newest.get(of_attribute.attribute), now)
        for of_attribute in evidence_with_pool
    )
    new_versions = [new for new in trained if new is not None]
    if len(evidence) == 1:
        new_versions += [replace(new, attribute=ALL_TOGETHER) for new in new_versions]
    return new_versions


def pool_evidence(evidence: Sequence[DetectorEvidence]) -> DetectorEvidence:
    """Joins the evidence of all attributes: each record once, biased where it is for any attribute.

    A record's age is that in the evidence of the attribute that has it furthest to the end.
    """
    ages: dict[str, int] = {}
    records = {}
    biased = set()
    for single in evidence:
        of_records = zip(single.record_ids, single.rows, single.own_scores, single.biased, strict=True)
        for age, (record_id, row, score, is_biased) in zip(
            range(len(single.record_ids), 0, -1), of_records, strict=True
        ):
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


def _train_if_due(
    columns: Sequence[Column], evidence: DetectorEvidence, last: DetectorVersion | None, now: datetime
) -> NewDetector | None:
    records = len(evidence.biased)
    biased = sum(map(bool, evidence.biased))
    if (
        last is not None
        and last.reason is None
        and last.made_by == LIBRARY
        and now - last.trained_at < MAX_DETECTOR_AGE
    ):
        growth = biased - last.counts.biased
        if growth <= 0 or growth < MIN_GROWTH * last.counts.biased:
            return None
    result = train(
        columns,
        evidence.rows,
        own_scores=evidence.own_scores,
        biased=evidence.biased,
        ids=evidence.record_ids,
    )
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
        if not any(count != before and abs(count - before) >= MIN_GROWTH * before for count, before in pairs):
            return None
    return NewDetector(
        attribute=evidence.attribute, counts=result.counts, made_by=LIBRARY, reason=result.reason
    )
