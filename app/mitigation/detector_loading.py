"""Stored bias detectors, ready for use. Reading one takes far longer than asking it, so those read lately are kept."""

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

import structlog
from sqlalchemy.orm import Session

from app.errors import InvalidInput
from app.mitigation.detector import Detector
from app.store.bias_detectors import model_of, usable_versions

MOST_KEPT = 64

log = structlog.get_logger("evenhand.mitigation")

_Key = tuple[int, str, int]


class LoadedDetectors:
    """The detectors of deployments; safe to be asked by several threads. A version never changes, so none is ever out of date."""

    def __init__(self) -> None:
        self._kept = OrderedDict[_Key, Detector | None]()
        self._lock = Lock()

    def of(self, session: Session, deployment_no: int, basis: str) -> dict[str, Detector]:
        """The newest detectors trained for that basis, by attribute, without those that this version of the library cannot read."""
        return self.of_versions(session, deployment_no, usable_versions(session, deployment_no, basis))

    def of_versions(self, session: Session, deployment_no: int, versions: Mapping[str, int]) -> dict[str, Detector]:
        """The detectors of these versions, by attribute, without those that cannot be read."""
        found = {attribute: self._detector(session, (deployment_no, attribute, version)) for attribute, version in versions.items()}
        return {attribute: detector for attribute, detector in found.items() if detector is not None}

    def _detector(self, session: Session, key: _Key) -> Detector | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        detector = _read(session, key)
        with self._lock:
            self._kept[key] = detector
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return detector


def _read(session: Session, key: _Key) -> Detector | None:
    deployment_no, attribute, version = key
    stored = model_of(session, deployment_no, attribute=attribute, version=version)
    if stored is None:
        return None
    try:
        return Detector.from_bytes(stored)
    except InvalidInput as error:
        log.warning("a stored bias detector cannot be used", deployment_no=deployment_no, attribute=attribute, reason=str(error))
        return None
