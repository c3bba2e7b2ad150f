"""Flags records as a check does, and reads the lines of CSV answers."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import httpx
from sqlalchemy import select

from app.checks.queries import queue_requested
from app.database.tables import DeploymentRow, PayloadKeyRow
from app.domain.check import Span, Trigger
from app.domain.mitigation import FlaggedRecord
from app.mitigation.window.flag_queries import store_flagged
from tests.scenes import HOUR, NOON
from tests.service import RunningService


def flag(service: RunningService, flags: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Flags records by their id, as a check does."""
    with service.database.transaction() as session:
        no = session.scalars(select(DeploymentRow.no).where(DeploymentRow.id == "credit-risk")).one()
        run = queue_requested(session, no, span=Span(start=NOON, end=NOON + HOUR), trigger=Trigger.RANGE, requested_by="test")
        keys = {key.record_id: key for key in session.scalars(select(PayloadKeyRow).where(PayloadKeyRow.deployment_no == no))}
        store_flagged(session, no, run.no, [flagged(keys[record_id], changes) for record_id, changes in flags])


def flagged(key: PayloadKeyRow, changes: dict[str, Any]) -> FlaggedRecord:
    """The flag of a stored record: women lifted by the sex, unless the changes differ."""
    given: dict[str, Any] = {"attribute": "Sex", "model_revision": "r1", "group": "female", "kind": "changed", "direction": "lifted"}
    scores: dict[str, Any] = {"own_score": 0.25, "reference_score": 0.25 + changes["gap"]} if changes.get("gap") else {}
    return FlaggedRecord(record_no=key.record_no, logged_at=key.logged_at, **{**given, **scores, **changes})


def lines_of(answer: httpx.Response) -> list[dict[str, str]]:
    """The lines of a CSV answer, by column."""
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.content.decode(), newline=""), strict=True))
