"""Records that were answered and could not be kept: counted on disk until the database has the counts."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock

import structlog

from ..clock import hour_of
from ..domain.missing_records import MissingTotals
from ..frozen import frozen
from ..store.database.engine import Database
from ..store.deployments.deployments import find_numbers
from ..store.records.arrivals import put_missing

FILE = "losses.json"

_KEPT = timedelta(hours=2)
"""More may be added to the totals of an hour for that long."""

log = structlog.get_logger("evenhand.spool")


@frozen
class _Place:
    deployment_no: int
    hour: datetime


class Losses:
    """Running totals of one process. Safe for several threads."""

    def __init__(self, sender: str) -> None:
        self._sender = sender
        self._lock = Lock()  # never held while the disk or the database is asked
        self._totals: dict[_Place, int] = {}
        self._unsent: set[_Place] = set()
        self._is_written = True

    def add(self, deployment_no: int, now: datetime, records: int) -> None:
        place = _Place(deployment_no, hour_of(now))
        with self._lock:
            self._totals[place] = self._totals.get(place, 0) + records
            self._unsent.add(place)
            self._is_written = False

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    def write(self, folder: Path) -> None:
        """Writes what the database lacks next to the spool.

        Raises:
            OSError: the disk refuses.
        """
        if self._is_written or not folder.is_dir():
            return
        with self._lock:
            rows = [[place.deployment_no, place.hour.isoformat(), self._totals[place]] for place in self._unsent]
            self._is_written = True
        try:
            new = folder / f"{FILE}.new"
            new.write_text(json.dumps(rows), encoding="ascii")
            new.replace(folder / FILE)
        except OSError:
            self._is_written = False
            raise

    def send(self, database: Database, folder: Path, *, now: datetime) -> None:
        """Stores the totals as missing records of the deployments; blocks.

        Raises:
            Unavailable: the database does not answer.
        """
        with self._lock:
            sent = {place: self._totals[place] for place in self._unsent}
        _store(database, self._sender, sent)
        with self._lock:
            # A total that grew meanwhile is sent again; totals replace each other.
            self._unsent -= {place for place, count in sent.items() if self._totals[place] == count}
            self._is_written = is_all = not self._unsent
            self._totals = {place: count for place, count in self._totals.items() if place in self._unsent or place.hour > now - _KEPT}
        if is_all:
            (folder / FILE).unlink(missing_ok=True)


def send_of_dead(database: Database, folder: Path) -> None:
    """Stores the totals in a dead process's folder, under its name; blocks.

    Raises:
        Unavailable: the database does not answer; they stay.
    """
    try:
        rows = json.loads((folder / FILE).read_text(encoding="ascii"))
        totals = {_Place(no, datetime.fromisoformat(hour)): count for no, hour, count in rows}
    except FileNotFoundError:
        return
    except (ValueError, TypeError) as error:
        log.warning("counts of lost records cannot be read", folder=str(folder), error=str(error))
        totals = {}
    _store(database, folder.name, totals)
    (folder / FILE).unlink(missing_ok=True)


def _store(database: Database, sender: str, totals: Mapping[_Place, int]) -> None:
    with database.transaction() as session:
        present = find_numbers(session, {place.deployment_no for place in totals})
        for no in sorted(present):
            of_one = [
                MissingTotals(hour=place.hour, not_received=count, left_out=0)
                for place, count in totals.items()
                if place.deployment_no == no
            ]
            put_missing(session, no, sender, 1.0, of_one)
