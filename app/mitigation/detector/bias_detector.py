"""Trained bias detectors, which choose the live records that get a second call of the model, and mark
records.

Stored by skops, which builds only objects of the types listed here; never by pickle, which runs what it
reads.
"""

import hashlib
import math
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import TYPE_CHECKING, Self

import msgspec
import numpy as np
import numpy.typing as npt
import structlog
from sqlalchemy.orm import Session

from ...base.errors import InvalidInput
from ...base.values import Scalar, canonical, frozen, frozen_arrays, read_number
from ...deployments.mitigation_queries import (
    ALL_TOGETHER,
    DetectorCounts,
    DetectorQuality,
    QualityFigure,
    find_detector_model,
)
from ...domain.deployment import Column, FieldKind
from ...statistics.formulas.score_figures import find_roc_limits, measure_roc_area
from ...statistics.group_labels import FloatArray
from ...statistics.intervals.intervals import build_wilson_interval
from ...statistics.tables.score_bins import ScoreBins

MAX_CATEGORIES = 254
"""The classifier takes 255, one being NO_CATEGORY; rarer values count as that."""

NO_CATEGORY = 0
"""Code of a missing or unknown category. Not NaN: where one category is left next to NaN, scikit-learn 1.9
predicts wrongly.
"""

MAX_NUMBER = 1e300
"""The classifier adds neighbours, and their sum has to stay finite."""

BoolArray = npt.NDArray[np.bool_]
Rows = Sequence[Sequence[Scalar | None]]

MIN_RECALL = 0.9
"""Share of the biased records that the threshold reaches."""

MISSED_WEIGHT = 4
"""Needless second calls that count as much as one missed record."""


@frozen
class Encoding:
    """Numbers for the values of columns: `codes` has that of each known value of a category, and None for a
    quantity.

    A quantity that is missing or not a number becomes NaN.
    """

    codes: tuple[Mapping[str, int] | None, ...]

    @classmethod
    def fit(cls, columns: Sequence[Column], rows: Rows) -> Self:
        codes: list[dict[str, int] | None] = []
        for index, column in enumerate(columns):
            if column.kind is not FieldKind.CATEGORICAL:
                codes.append(None)
                continue
            counts = Counter(canonical(cell) for row in rows if (cell := row[index]) is not None)
            categories = sorted(counts, key=lambda text: (-counts[text], text))[:MAX_CATEGORIES]
            codes.append({text: code for code, text in enumerate(categories, start=NO_CATEGORY + 1)})
        return cls(tuple(codes))

    @property
    def categorical(self) -> list[int]:
        return [index for index, codes in enumerate(self.codes) if codes is not None]

    def encode(self, rows: Rows, own_scores: Sequence[float | None]) -> FloatArray:
        """Numbers [rows, columns + 1]; the last is the model's own score."""
        encoded = np.full((len(rows), len(self.codes) + 1), np.nan)
        for numbers, row, score in zip(encoded, rows, own_scores, strict=True):
            for index, (cell, codes) in enumerate(zip(row, self.codes, strict=True)):
                if codes is not None:
                    numbers[index] = NO_CATEGORY if cell is None else codes.get(canonical(cell), NO_CATEGORY)
                elif (number := float(cell) if isinstance(cell, bool) else read_number(cell)) is not None:
                    numbers[index] = number
            numbers[-1] = np.nan if score is None else score
        encoded[~np.isfinite(encoded)] = np.nan
        return encoded.clip(-MAX_NUMBER, MAX_NUMBER)


# An extra, and seconds to import.
if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import ThreadpoolController

# Only the version that wrote a classifier reads it: no other promises the same scores.
try:
    LIBRARY = f"scikit-learn {version('scikit-learn')}"
except PackageNotFoundError:
    LIBRARY = "no scikit-learn"

TRUSTED_TYPES = (
    "functools.partial",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils.validation.check_array",
)
"""Types that skops itself does not trust: the classifier's trees, and its check of categorical columns."""

_FILE_START = b"evenhand bias detector 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size


@frozen_arrays
class BiasDetector:
    """Predicts biased treatment of a monitored record with an unfavourable outcome.

    A score at or above `threshold` means yes. `quality` is of the records held out.
    """

    encoding: Encoding
    classifier: "HistGradientBoostingClassifier"
    threshold: float
    counts: DetectorCounts
    quality: DetectorQuality

    def score(self, rows: Rows, own_scores: Sequence[float | None]) -> FloatArray:
        """Probability of bias in [0, 1], by features in the order of training and the model's own score."""
        numbers = self.encoding.encode(rows, own_scores)
        return predict(self.classifier, numbers) if len(numbers) else np.zeros(0)

    def to_bytes(self) -> bytes:
        """Bytes of equal detectors may differ, but give the same scores."""
        from skops import io  # noqa: PLC0415

        description = _Description(LIBRARY, self.encoding, self.threshold, self.counts, self.quality)
        content = {"classifier": self.classifier, "description": msgspec.json.encode(description).decode()}
        packed: bytes = io.dumps(content, compression=zipfile.ZIP_DEFLATED)
        return _FILE_START + hashlib.sha256(packed).digest() + packed

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        """Raises InvalidInput: the bytes are damaged, of another version of the library, or hold an object of
        a type that is not trusted.
        """
        from skops import io  # noqa: PLC0415
        from skops.io.exceptions import UntrustedTypesFoundException  # noqa: PLC0415

        start = len(_FILE_START) + _DIGEST_BYTES
        packed = stored[start:]
        # The digest comes first, because a damaged archive fails in many ways.
        if (
            not stored.startswith(_FILE_START)
            or stored[len(_FILE_START) : start] != hashlib.sha256(packed).digest()
        ):
            raise InvalidInput("model", "is no bias detector, or was damaged")
        try:
            content = io.loads(packed, trusted=list(TRUSTED_TYPES))
        except UntrustedTypesFoundException as error:
            raise InvalidInput("model", f"holds objects of types that are not trusted: {error}") from error
        except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
            raise InvalidInput("model", f"cannot be read as a bias detector: {error}") from error
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415

        if not isinstance(content, dict) or not isinstance(
            classifier := content.get("classifier"), HistGradientBoostingClassifier
        ):
            raise InvalidInput("model", "holds no classifier of a bias detector")
        text = content.get("description")
        try:
            description = msgspec.json.decode(text if isinstance(text, str) else "", type=_Description)
        except msgspec.DecodeError as error:
            raise InvalidInput("model", f"has no description of a bias detector: {error}") from error
        if description.made_by != LIBRARY:
            raise InvalidInput(
                "model", f"was written by {description.made_by} and cannot be used by {LIBRARY}"
            )
        return cls(
            description.encoding, classifier, description.threshold, description.counts, description.quality
        )


def limit_threads() -> AbstractContextManager[object]:
    """Uses one thread: on busy cores, threads wait for each other far longer than they work."""
    limit: AbstractContextManager[object] = _build_thread_limiter().limit(limits=1, user_api="openmp")
    return limit


@cache
def _build_thread_limiter() -> "ThreadpoolController":
    # A controller knows only the libraries that are loaded when it is made, and making it takes longer than a
    # prediction.
    import sklearn.ensemble  # noqa: F401, PLC0415
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415

    return ThreadpoolController()


def predict(classifier: "HistGradientBoostingClassifier", numbers: FloatArray) -> FloatArray:
    """Probability of bias of each row, of which there must be one."""
    with limit_threads():
        scores: FloatArray = classifier.predict_proba(numbers)[:, 1]
    return scores


class _Description(msgspec.Struct, frozen=True):
    made_by: str
    encoding: Encoding
    threshold: float
    counts: DetectorCounts
    quality: DetectorQuality


def find_threshold(scores: FloatArray, biased: BoolArray) -> float:
    """The threshold with the greatest F2 of those that nine tenths of the biased records reach; the greatest
    of equal ones.

    It lies midway to the next lower score, because scores of one kind of record differ a little between
    classifiers.
    """
    of_biased = np.sort(scores[biased])
    of_others = np.sort(scores[~biased])
    reached = of_biased[::-1][math.ceil(MIN_RECALL * len(of_biased)) - 1 :]
    missed = np.searchsorted(of_biased, reached)
    hits = len(of_biased) - missed
    needless = len(of_others) - np.searchsorted(of_others, reached)
    gain = (1 + MISSED_WEIGHT) * hits
    best = reached[np.argmax(gain / (gain + MISSED_WEIGHT * missed + needless))]
    below = scores[scores < best]
    return float((best + (below.max() if below.size else 0.0)) / 2)


def measure_quality(scores: FloatArray, biased: BoolArray, threshold: float) -> DetectorQuality:
    selected = scores >= threshold
    hits, chosen, all_biased, records = (
        int(marks.sum()) for marks in (selected & biased, selected, biased, np.ones_like(biased))
    )
    roc_area = measure_roc_area(
        ScoreBins.from_records(biased.astype(np.int64), 2, scores, np.ones(len(scores)))
    )
    limits = find_roc_limits(roc_area, np.array([[(~biased).sum(), biased.sum()]], dtype=np.float64))
    area = float(roc_area.area[0])
    # Rounding must not leave the area outside its own interval.
    lower = min(area, float(limits.lower[0]))
    upper = max(area, float(limits.upper[0]))
    return DetectorQuality(
        roc_auc=QualityFigure(value=area, lower=lower, upper=upper, method="delong_wilson", n=len(biased)),
        precision=_measure_share(hits, chosen, "no record held out is at or above the threshold"),
        recall=_measure_share(hits, all_biased, "no record held out is biased"),
        selected=_measure_share(chosen, records, "no record is held out"),
    )


def _measure_share(count: int, total: int, lacking: str) -> QualityFigure:
    if total == 0:
        return QualityFigure(value=None, n=0, reason=lacking)
    lower, upper, method = build_wilson_interval(count, total)
    return QualityFigure(value=count / total, lower=lower, upper=upper, method=method, n=total)


MAX_LOADED = 64

log = structlog.get_logger("evenhand.mitigation")


class LoadedDetectors:
    """Thread-safe. A version never changes, so no detector is ever out of date."""

    def __init__(self) -> None:
        self._detectors = OrderedDict[tuple[int, str, int], BiasDetector | None]()
        self._lock = Lock()

    def load(
        self, session: Session, deployment_no: int, versions: Mapping[str, int]
    ) -> dict[str, BiasDetector]:
        detectors = {}
        for attribute, number in versions.items():
            key = (deployment_no, attribute, number)
            with self._lock:
                is_loaded = key in self._detectors
                detector = self._detectors.get(key)
            if not is_loaded:
                # Without the lock, because it takes long: two threads may read the same detector.
                stored = find_detector_model(session, deployment_no, attribute=attribute, version=number)
                try:
                    detector = None if stored is None else BiasDetector.from_bytes(stored)
                except InvalidInput as error:
                    about = {"deployment_no": deployment_no, "attribute": attribute, "reason": str(error)}
                    log.warning("a stored bias detector cannot be used", **about)
            with self._lock:
                self._detectors[key] = detector
                self._detectors.move_to_end(key)
                while len(self._detectors) > MAX_LOADED:
                    self._detectors.popitem(last=False)
            if detector is not None:
                detectors[attribute] = detector
        return detectors


@frozen
class BiasScores:
    """`is_likely` [records] of those that reach the threshold."""

    scores: FloatArray
    is_likely: BoolArray


def score_bias(
    detectors: Mapping[str, BiasDetector], attribute: str, rows: Rows, own_scores: Sequence[float | None]
) -> BiasScores | None:
    """Scores records with a monitored value of the attribute and an unfavourable outcome.

    Without a detector of the attribute, that of all together scores them; None without either.
    """
    detector = detectors.get(attribute, detectors.get(ALL_TOGETHER))
    if detector is None:
        return None
    scores = detector.score(rows, own_scores)
    return BiasScores(scores, scores >= detector.threshold)


@frozen
class DetectorChooser:
    """Chooses records whose reference copies are worth scoring.

    The detectors know only records with an unfavourable outcome.
    """

    detectors: Mapping[str, BiasDetector]

    def choose(
        self, rows: Rows, own_scores: Sequence[float | None], attributes: Sequence[tuple[str, ...]]
    ) -> list[bool]:
        """Whether any attribute is likely to bias each record; without any detector, whether it has a
        monitored attribute.

        `rows` are in the order of the schema, `own_scores` of the favourable outcome, `attributes` those of
        which the record has a monitored value.
        """
        chosen = np.zeros(len(rows), dtype=np.bool_)
        named = [
            {attribute if attribute in self.detectors else ALL_TOGETHER for attribute in monitored}
            for _, _, monitored in zip(rows, own_scores, attributes, strict=True)
        ]
        for attribute in set().union(*named):
            positions = [position for position, monitored in enumerate(named) if attribute in monitored]
            scores = score_bias(
                self.detectors,
                attribute,
                [rows[position] for position in positions],
                [own_scores[position] for position in positions],
            )
            chosen[positions] |= True if scores is None else scores.is_likely
        return chosen.tolist()
