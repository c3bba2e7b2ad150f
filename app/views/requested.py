"""Figures of mitigated data that no check stores, measured from count tables when asked for."""

from collections.abc import Collection, Iterator
from itertools import islice

from sqlalchemy.orm import Session

from ..domain.checks import CheckRun, CheckState, DataSet, Measurement
from ..domain.paging import Paging
from ..metrics.catalogue import CATALOGUE
from ..store.checks.checks import get
from ..store.checks.measurements import Point, SeriesFilter, series
from ..store.checks.series import ended_runs
from .check_source import counted_check, source_of

_MOST_OF_CHECK = 100_000
"""Numbers of the points of one check; those of the next one follow."""


def measure_requested(session: Session, check: CheckRun, metrics: Collection[str]) -> list[Measurement]:
    """Measures metrics that checks do not store, under the present limits; a carried check has its origin's."""
    wanted = [metric for key in metrics if not (metric := CATALOGUE[key]).is_stored]
    data = [one for one in DataSet if any(one.value in metric.data for metric in wanted)]
    source = source_of(session, counted_check(session, check), data=data, metrics=())
    return [
        one
        for metric in wanted
        for (on, comparison), parts in source.tables.items()
        if on in metric.data
        for one in source.measured_again(on, comparison, metric.key, parts.whole)
    ]


def read_points(session: Session, deployment_no: int, wanted: SeriesFilter, paging: Paging) -> list[Point]:
    if all(CATALOGUE[metric].is_stored for metric in wanted.metrics):
        return series(session, deployment_no, wanted, paging)
    return list(islice(_measure_series(session, deployment_no, wanted, paging.after), paging.limit))


def _measure_series(session: Session, deployment_no: int, wanted: SeriesFilter, after_no: int) -> Iterator[Point]:
    last, given = divmod(after_no, _MOST_OF_CHECK)
    runs = ended_runs(session, deployment_no, wanted.since, wanted.until)
    first = next((place for place, run in enumerate(runs) if run.no == last), 0)
    for run in runs[first:]:
        if run.state != CheckState.SUCCEEDED or wanted.check_no not in (None, run.no):
            continue
        for place, one in enumerate(measure_requested(session, get(session, deployment_no, run.id), wanted.metrics), start=1):
            if wanted.lets_through(one) and (run.no != last or place > given):
                yield Point(run.no * _MOST_OF_CHECK + place, run.id, one)
