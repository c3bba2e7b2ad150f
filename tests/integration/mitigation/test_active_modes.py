"""The mitigated endpoint where something chooses which records get a second call."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.access.principals import Principal, Role
from app.base.clock import monotonic_seconds, utc_now
from app.base.values import Scalar
from app.calls.egress_policy import EgressPolicy
from app.calls.scoring.live_model import LiveModels
from app.database.engine import Database
from app.intake.logging.ingest_plan import IngestPlan
from app.intake.logging.service import Ingestion
from app.mitigation.detector.bias_detector import LoadedDetectors
from app.mitigation.live.live_plan import ActivePlan, ActivePlans, read_plan
from app.mitigation.live.service import ActiveMitigation, LiveRequest
from tests.builders.row_server import row_server
from tests.integration.mitigation.live import SEX, register
from tests.scenes import PlainSealer
from tests.service import RunningService


class OnlyThePoor:
    """Chooses applicants below an income, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def choose(
        self, rows: Sequence[Sequence[Scalar | None]], own_scores: Sequence[float | None], attributes: Sequence[tuple[str, ...]]
    ) -> list[bool]:
        self.asked.append((len(rows), own_scores, attributes))
        return [float(row[3] or 0) < 12_000 for row in rows]


def test_records_that_are_not_chosen_get_no_copies(service: RunningService, database: Database) -> None:
    chooser = OnlyThePoor()

    def read(records: IngestPlan) -> ActivePlan:
        return replace(read_plan(database, PlainSealer(), LoadedDetectors(), records), chooser=chooser)

    async def answer(body: bytes) -> dict[str, Any]:
        ingestion = Ingestion(database)
        active = ActiveMitigation(ingestion, ActivePlans(ingestion, read), LiveModels(EgressPolicy.of([])))
        request = LiveRequest(body=body, encoding="", began=monotonic_seconds(), timeout_seconds=10)
        try:
            answered = await active.answer("loans", request, caller=Principal("k", Role.ADMIN), now=utc_now())
            return dict(json.loads(answered.body))
        finally:
            await active.stop()
            await ingestion.stop()

    with row_server() as server:
        register(service, server, SEX)
        rows = ",".join(f'["female","green",40,{income}]' for income in (10_000, 14_000, 90_000))
        found = asyncio.run(answer(f'{{"fields":["sex","colour","age","income"],"values":[{rows}]}}'.encode()))

    assert [row[-1] for row in found["values"]] == ["changed", "not_chosen", "not_needed"]
    assert chooser.asked == [(2, [None, None], [("sex",), ("sex",)])]
    assert server.counts.rows == 3 + 1
