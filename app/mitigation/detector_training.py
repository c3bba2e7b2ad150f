"""Training a bias detector on records whose outcome as reference is known. Nothing is random: the same records, the same detector."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier

from app.domain.bias_detectors import DetectorCounts
from app.domain.deployments import Column
from app.domain.values import Scalar
from app.metrics.groups import FloatArray
from app.mitigation.detector import THREADS, Detector, predicted
from app.mitigation.detector_features import Encoding
from app.mitigation.detector_quality import BoolArray, quality_of, threshold_of

MOST_RECORDS = 50_000
LEAST = 50
LEAST_HELD_OUT = 10
LEAST_LEARNT_FROM = 20
HELD_OUT_SHARE = 0.3
FOLDS = 5

_SALT = b"evenhand bias detector held out"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no detector was trained, as a sentence, and the records there were."""

    reason: str
    counts: DetectorCounts


@dataclass(frozen=True, slots=True, eq=False)
class _Used:
    """The records that are used, in the order of their digests: so their order of arrival plays no part."""

    rows: list[Sequence[Scalar | None]]
    own_scores: list[float | None]
    biased: BoolArray
    held_out: BoolArray


def train(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Scalar | None]],
    *,
    own_scores: Sequence[float | None],
    biased: Sequence[bool],
    ids: Sequence[str],
) -> Detector | Refusal:
    """A detector from monitored records with an unfavourable outcome, oldest first, each once; the newest MOST_RECORDS are used.

    `rows` are their features in the order of `columns`, `own_scores` the model's probabilities of the favourable outcome, `biased`
    whether the outcome as reference is favourable. The records held out are picked by their `ids`: a record is always on the same side.
    """
    used = _used(rows, own_scores, biased, ids)
    counts = DetectorCounts(
        records=len(biased),
        biased=sum(map(bool, biased)),
        used=len(used.rows),
        used_biased=int(used.biased.sum()),
        held_out=int(used.held_out.sum()),
        held_out_biased=int((used.held_out & used.biased).sum()),
    )
    reason = _too_few(counts)
    if reason is not None:
        return Refusal(reason, counts)
    learnt = ~used.held_out
    encoding = Encoding.learnt(columns, [row for row, is_learnt in zip(used.rows, learnt, strict=True) if is_learnt])
    numbers = encoding.numbers(used.rows, used.own_scores)
    threshold = threshold_of(_crosswise(numbers[learnt], used.biased[learnt], encoding), used.biased[learnt])
    classifier = _fitted(numbers[learnt], used.biased[learnt], encoding)
    quality = quality_of(predicted(classifier, numbers[used.held_out]), used.biased[used.held_out], threshold)
    return Detector(encoding, classifier, threshold, counts, quality)


def _used(rows: Sequence[Sequence[Scalar | None]], own_scores: Sequence[float | None], biased: Sequence[bool], ids: Sequence[str]) -> _Used:
    start = max(0, len(rows) - MOST_RECORDS)
    places = np.array([_place(record_id) for record_id in ids[start:]], dtype=np.float64)
    order = np.argsort(places, kind="stable")
    records = list(zip(rows[start:], own_scores[start:], biased[start:], strict=True))
    ordered = [records[position] for position in order.tolist()]
    return _Used(
        rows=[row for row, _, _ in ordered],
        own_scores=[score for _, score, _ in ordered],
        biased=np.array([is_biased for _, _, is_biased in ordered], dtype=np.bool_),
        held_out=places[order] < HELD_OUT_SHARE,
    )


def _place(record_id: str) -> float:
    """Where in [0, 1) an id falls, evenly; with a salt of its own, so that it goes with nothing else drawn by ids."""
    digest = hashlib.blake2b(record_id.encode(), digest_size=8, key=_SALT).digest()
    return int.from_bytes(digest) / 2**64


def _too_few(counts: DetectorCounts) -> str | None:
    """The first sentence that forbids training, if one does."""
    biased, held_out = counts.used_biased, counts.held_out_biased
    kinds = (("biased", biased, held_out), ("not biased", counts.used - biased, counts.held_out - held_out))
    for kind, of_all, of_held_out in kinds:
        parts = (
            (of_all, LEAST, f"of the {counts.used:,} monitored records with an unfavourable outcome"),
            (of_held_out, LEAST_HELD_OUT, f"of the {counts.held_out:,} records held out to measure quality"),
            (of_all - of_held_out, LEAST_LEARNT_FROM, f"of the {counts.used - counts.held_out:,} records to learn from"),
        )
        for found, least, where in parts:
            if found < least:
                return f"{found:,} {where} are {kind}; at least {least} are needed."
    return None


def _crosswise(numbers: FloatArray, biased: BoolArray, encoding: Encoding) -> FloatArray:
    """Each record's score by a classifier that learnt from the other folds; every fold has its part of both kinds."""
    folds = np.empty(len(biased), dtype=np.int64)
    for kind in (biased, ~biased):
        folds[kind] = np.arange(int(kind.sum())) % FOLDS
    scores: FloatArray = np.empty(len(biased))
    for fold in range(FOLDS):
        others: npt.NDArray[np.bool_] = folds != fold
        scores[~others] = predicted(_fitted(numbers[others], biased[others], encoding), numbers[~others])
    return scores


def _fitted(numbers: FloatArray, biased: BoolArray, encoding: Encoding) -> HistGradientBoostingClassifier:
    """Small trees, slowly added: the biased records may be few. `random_state` matters for nothing here; it is set to keep it so."""
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
    # A quantity without any value cannot be divided into bins; one that is all alike can, and is then never asked.
    known = np.where(np.isfinite(numbers).any(axis=0), numbers, 0.0)
    with THREADS.limit(limits=1, user_api="openmp"):
        return classifier.fit(known, biased)
