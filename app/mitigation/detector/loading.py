"""Stored bias detectors, ready for use."""

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

import structlog
from sqlalchemy.orm import Session

from ...errors import InvalidInput
from ...store.mitigation.mitigation import model_of, usable_versions
from .model import BiasDetector

MOST_KEPT = 64

log = structlog.get_logger("evenhand.mitigation")

_Key = tuple[int, str, int]


class LoadedDetectors:
    """The detectors of deployments; thread-safe. A version never changes, so none is ever out of date."""

    def __init__(self) -> None:
        self._kept = OrderedDict[_Key, BiasDetector | None]()
        self._lock = Lock()

    def of(self, session: Session, deployment_no: int, basis: str) -> dict[str, BiasDetector]:
        """Returns the newest detectors for that basis, by attribute, without those that this library version cannot read."""
        return self.of_versions(session, deployment_no, usable_versions(session, deployment_no, basis))

    def of_versions(self, session: Session, deployment_no: int, versions: Mapping[str, int]) -> dict[str, BiasDetector]:
        """Returns the detectors of these versions, by attribute, without those that cannot be read."""
        found = {}
        for attribute, version in versions.items():
            key = (deployment_no, attribute, version)
            with self._lock:
                is_kept, detector = key in self._kept, self._kept.get(key)
            if not is_kept:
                # Without the lock, because it takes long: two threads may read the same detector.
                stored = model_of(session, deployment_no, attribute=attribute, version=version)
                try:
                    detector = None if stored is None else BiasDetector.from_bytes(stored)
                except InvalidInput as error:
                    log.warning(
                        "a stored bias detector cannot be used", deployment_no=deployment_no, attribute=attribute, reason=str(error)
                    )
            with self._lock:
                self._kept[key] = detector
                self._kept.move_to_end(key)
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            if detector is not None:
                found[attribute] = detector
        return found
