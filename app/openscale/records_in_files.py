"""Months of a data set that lie in files: what would be without them is refused, for the SDK has no place for a caution."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from ..domain.archives import ArchiveState, MonthArchive
from ..errors import MonthsAway
from ..store.openscale.record_searches import RecordSearch
from ..store.retention.archives import find_archives


@dataclass(frozen=True, slots=True)
class FiledMonths:
    """Months of a deployment that lie in files, as a data set sees them: by the times of its records, or of its labels."""

    months: tuple[MonthArchive, ...]
    of_labels: bool

    @classmethod
    def of(cls, session: Session, deployment_no: int, *, of_labels: bool) -> "FiledMonths":
        """Returns those of a deployment."""
        found = find_archives(session, deployment_no=deployment_no)
        return cls(tuple(one for one in found if one.state is ArchiveState.STORED), of_labels)

    def require_here(self, since: datetime | None, until: datetime | None) -> None:
        """Returns if no record of [since, until) lies in these months.

        Raises:
            MonthsAway: some may.
        """
        away = [one for one in self.months if self._may_reach(one, since, until)]
        if away:
            raise MonthsAway(away[0].deployment_id, [str(one.month) for one in away])

    def count(self, wanted: RecordSearch) -> int:
        """Returns how many records that the search finds lie in files.

        Raises:
            MonthsAway: it is not known without them. Labels may have been sent again meanwhile, so none are counted.
        """
        away = [one for one in self.months if self._may_reach(one, wanted.since, wanted.until)]
        is_known = not self.of_labels and not wanted.tests and all(_is_within(one, wanted) for one in away)
        if not is_known:
            self.require_here(wanted.since, wanted.until)
        return sum(one.count("payload_records") for one in away)

    def _may_reach(self, one: MonthArchive, since: datetime | None, until: datetime | None) -> bool:
        if self.of_labels:
            # A label may have been logged before its record, so the end leaves none out.
            return one.labels_until is not None and (since is None or one.labels_until >= since)
        return (until is None or one.month.start < until) and (since is None or one.month.end > since)


def _is_within(one: MonthArchive, wanted: RecordSearch) -> bool:
    starts = wanted.since is None or wanted.since <= one.month.start
    return starts and (wanted.until is None or one.month.end <= wanted.until)
