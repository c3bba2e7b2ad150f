"""A trained bias detector, and its safe stored form.

Stored by skops, which builds only objects of the types listed here; never by pickle, which runs what it reads.
"""

import hashlib
import zipfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Self

import msgspec
import numpy as np

from ...domain.bias_detectors import DetectorCounts, DetectorQuality
from ...domain.values import Scalar
from ...errors import InvalidInput
from ...frozen import frozen
from ...metrics.groups import FloatArray
from .features import Encoding

# An extra, and seconds to import.
if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import ThreadpoolController

# Only the version that wrote a classifier reads it: no other promises the same scores.
try:
    LIBRARY = f"scikit-learn {version('scikit-learn')}"
except PackageNotFoundError:
    LIBRARY = "no scikit-learn"

TRUSTED = (
    "functools.partial",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.utils.validation.check_array",
)
"""Types that skops does not trust by itself: its trees, and its check of categorical columns."""

_MARK = b"evenhand bias detector 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size


@frozen(eq=False)
class BiasDetector:
    """Predicts whether the model would act in a biased way on a monitored record with an unfavourable outcome.

    A score at or above `threshold` means yes. `quality` is of the records held out.
    """

    encoding: Encoding
    classifier: "HistGradientBoostingClassifier"
    threshold: float
    counts: DetectorCounts
    quality: DetectorQuality

    def scores(self, rows: Sequence[Sequence[Scalar | None]], own_scores: Sequence[float | None]) -> FloatArray:
        """Returns each record's probability in [0, 1], by its features in the order of training and the model's own score."""
        numbers = self.encoding.encode(rows, own_scores)
        return predict(self.classifier, numbers) if len(numbers) else np.zeros(0)

    def to_bytes(self) -> bytes:
        """Returns the stored form. Those of equal detectors may differ, but give the same scores."""
        from skops import io  # noqa: PLC0415

        description = _Description(LIBRARY, self.encoding, self.threshold, self.counts, self.quality)
        content = {"classifier": self.classifier, "description": msgspec.json.encode(description).decode()}
        packed: bytes = io.dumps(content, compression=zipfile.ZIP_DEFLATED)
        return _MARK + hashlib.sha256(packed).digest() + packed

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        """Returns the detector that `to_bytes` wrote.

        Raises:
        InvalidInput: the bytes are damaged, of another version of the library, or hold an object of a type that is not trusted.
        """
        from skops import io  # noqa: PLC0415
        from skops.io.exceptions import UntrustedTypesFoundException  # noqa: PLC0415

        start = len(_MARK) + _DIGEST_BYTES
        packed = stored[start:]
        # The digest comes first, because a damaged archive fails in many ways.
        if not stored.startswith(_MARK) or stored[len(_MARK) : start] != hashlib.sha256(packed).digest():
            raise InvalidInput.of("model", "is no bias detector, or was damaged")
        try:
            content = io.loads(packed, trusted=list(TRUSTED))
        except UntrustedTypesFoundException as error:
            raise InvalidInput.of("model", f"holds objects of types that are not trusted: {error}") from error
        except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
            raise InvalidInput.of("model", f"cannot be read as a bias detector: {error}") from error
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415

        if not isinstance(content, dict) or not isinstance(classifier := content.get("classifier"), HistGradientBoostingClassifier):
            raise InvalidInput.of("model", "holds no classifier of a bias detector")
        text = content.get("description")
        try:
            description = msgspec.json.decode(text if isinstance(text, str) else "", type=_Description)
        except msgspec.DecodeError as error:
            raise InvalidInput.of("model", f"has no description of a bias detector: {error}") from error
        if description.made_by != LIBRARY:
            raise InvalidInput.of("model", f"was written by {description.made_by} and cannot be used by {LIBRARY}")
        return cls(description.encoding, classifier, description.threshold, description.counts, description.quality)


def limit_threads() -> AbstractContextManager[object]:
    """Limits the classifier to one thread: on busy cores, threads wait for each other far longer than they work."""
    limit: AbstractContextManager[object] = _threads().limit(limits=1, user_api="openmp")
    return limit


@cache
def _threads() -> "ThreadpoolController":
    # It knows only the libraries that are loaded when it is made, and making it takes longer than a prediction.
    import sklearn.ensemble  # noqa: F401, PLC0415
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415

    return ThreadpoolController()


def predict(classifier: "HistGradientBoostingClassifier", numbers: FloatArray) -> FloatArray:
    """Returns the probability that each record is biased; needs at least one record."""
    with limit_threads():
        scores: FloatArray = classifier.predict_proba(numbers)[:, 1]
    return scores


class _Description(msgspec.Struct, frozen=True):
    made_by: str
    encoding: Encoding
    threshold: float
    counts: DetectorCounts
    quality: DetectorQuality
