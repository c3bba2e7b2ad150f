"""Many checks of a deployment, put into the store as a check puts its figures there: a thirtieth of the time of running each."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from app.checks.lease_queries import finish_check
from app.checks.result_queries import store_measurements, store_tables
from app.domain.check import CheckState, Span
from tests.scenes import HOUR, Result, Scene


def repeat_check(stage: Scene, result: Result, starts: Iterable[datetime]) -> None:
    """Stores a check of each of these hours, with the figures and counts of one that ran."""
    used = result.run
    assert used.monitor_version is not None
    assert used.model_revision is not None
    for start in starts:
        run = stage.queue(Span(start=start, end=start + HOUR), used.trigger)
        with stage.database.transaction() as session:
            finish_check(
                session,
                run,
                state=CheckState.SUCCEEDED,
                window=used.window,
                alerts_due=False,
                monitor_version=used.monitor_version,
                model_revision=used.model_revision,
            )
            store_tables(session, run.no, result.tables)
            store_measurements(session, run.no, run.deployment_no, [replace(figure, at=run.span.end) for figure in result.measurements])
