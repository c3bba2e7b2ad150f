"""Attributions that are run in this process, as a worker's threads would."""

from datetime import timedelta
from functools import partial

from sqlalchemy import text

from app.database.engine import Database
from app.domain.paging import Paging
from app.evidence.attribution.attribution import AttributionRun
from app.evidence.attribution.queries import page_attributions
from app.worker.attribute import perform_attribution
from app.worker.attributor import QUEUES, Attributor
from tests.scenes import PlainSealer

A_DAY = timedelta(days=1)


def attributor(database: Database) -> Attributor:
    """What a worker runs attributions with."""
    return Attributor(database, partial(perform_attribution, database=database, sealer=PlainSealer()), limit=A_DAY)


def run_all(database: Database) -> None:
    """Runs attributions until none is queued."""
    worker = attributor(database)
    while sum(worker.run_next(triggers) for triggers in QUEUES):
        continue


def all_attributions(database: Database, deployment_no: int) -> list[AttributionRun]:
    """The deployment's attributions, newest first."""
    with database.transaction() as session:
        return page_attributions(session, deployment_no, Paging(100))


def silence_workers(database: Database) -> None:
    """Lets the leases of running attributions run out, as if their workers had been killed."""
    with database.transaction() as session:
        session.execute(text("UPDATE attributions SET claimable_at = now() WHERE state = 'running'"))
