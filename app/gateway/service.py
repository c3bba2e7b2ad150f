"""The gateway of one process."""

from datetime import datetime
from pathlib import Path

from ..clock import utc_now
from ..domain.intake import IntakeOutcome
from ..errors import EvenhandError
from ..ingest import Ingestion
from ..outbound.egress import EgressPolicy
from ..payloads.codec import Codec
from ..payloads.tables import Table
from ..store.database.engine import Database
from ..store.database.sealer import Sealer
from ..telemetry.metrics import spool_entries
from .delivery import Delivery
from .entries import CallHalf, CallSource, CompleteCall, Entry, encode_entry
from .losses import Losses
from .plans import CallPlan, CallPlans
from .spool import Spool
from .storing import CallStore

SPOOL_FOLDER = "spool"


class Gateway:
    """Keeps calls until they are stored. Belongs to one event loop."""

    def __init__(
        self, database: Database, sealer: Sealer, ingestion: Ingestion, policy: EgressPolicy, *, data_dir: Path, spool_bytes: int
    ) -> None:
        self._plans = CallPlans(database, sealer, policy)
        self._spool = Spool(data_dir / SPOOL_FOLDER, max_bytes=spool_bytes)
        self._losses = Losses(self._spool.owner)
        self._store = CallStore(database, ingestion, self._plans, clock=utc_now)
        self._delivery = Delivery(self._spool, self._store, self._losses, database)

    async def start(self) -> None:
        self._delivery.start()

    async def stop(self) -> None:
        await self._delivery.stop()
        await self._plans.stop()

    async def plan(self, deployment_id: str) -> CallPlan:
        """Deployment and its model; raises as `CallPlans.current`."""
        return await self._plans.current(deployment_id)

    def keep(self, entry: Entry, plan: CallPlan) -> bool:
        """Keeps an entry, which survives this process; False and counted as lost where there is no room."""
        if self._spool.append(encode_entry(entry)):
            spool_entries.labels("kept").inc()
            self._delivery.wake()
            return True
        self.lose(entry, plan)
        return False

    def lose(self, entry: Entry, plan: CallPlan) -> None:
        spool_entries.labels("dropped").inc()
        # Of an event's call only the answer, or the call would count twice.
        if isinstance(entry, CompleteCall):
            self._losses.add(entry.deployment_no, entry.received_at, count_rows(entry, plan.codec, plan))
        elif entry.side == "response":
            self._losses.add(entry.deployment_no, entry.received_at, 1)

    def ignore(self, deployment_no: int, reason: str, *, now: datetime) -> None:
        self._store.counts.add(deployment_no, CallSource.EVENTS, IntakeOutcome.IGNORED, 1, received_at=now, reason=reason)


def count_rows(call: CompleteCall, codec: Codec | None, plan: CallPlan) -> int:
    """Number of records in a call; 1 where its request cannot be read."""
    columns = [column.name for column in plan.deployment.schema.features]
    try:
        table: Table | None = None if codec is None else codec.read_request(call.exchange.request.read(), columns)
    except EvenhandError:
        table = None
    return 1 if table is None else len(table.values)


__all__ = ["CallHalf", "CallPlan", "CallSource", "CompleteCall", "Gateway"]
