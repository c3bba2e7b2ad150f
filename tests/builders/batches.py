"""Batches as the ingestion service makes them, and an event loop to write them on."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

from app.database.engine import Database
from app.deployments.queries import Definition, Deployments
from app.domain.deployment import Column, FieldKind, FieldType, OutputFields, ProblemType
from app.domain.record_times import RecordSource
from app.intake.logging.log_request import LogRequest
from app.intake.logging.service import Ingestion
from app.intake.writing.group_commit import GroupCommit
from app.intake.writing.write_batches import PayloadBatch
from app.intake.writing.write_target import Target, read_target
from tests.scenes import PlainSealer

NOW = datetime.now(UTC)

T = TypeVar("T")

_numbers = itertools.count(1)


def make_target(database: Database, deployment_id: str = "d") -> Target:
    """A new deployment with one feature `x`."""
    definition = Definition(
        name=deployment_id,
        problem_type=ProblemType.BINARY,
        features=(Column(name="x", type=FieldType.INTEGER, kind=FieldKind.NUMERIC),),
        meta=(),
        outputs=OutputFields(),
        model_revision="1",
        endpoint=None,
    )
    with database.transaction() as session:
        Deployments(session, PlainSealer()).create(deployment_id, definition)
    target = read_target(database, deployment_id)
    assert target is not None
    return target


def batch(
    target: Target, *ids: str, features: str = "[1]", row_version: str | None = None, source: RecordSource = RecordSource.REST
) -> PayloadBatch:
    """Records of those ids, ready to be written."""
    numbers = [next(_numbers) for _ in ids]
    return PayloadBatch(
        deployment_no=target.no,
        row_version=row_version or target.row_version,
        numbers=numbers,
        keys="".join(f"{target.no}\t{record_id}\t{number}\n" for number, record_id in zip(numbers, ids, strict=True)).encode(),
        lines="".join(
            f"{target.no}\t{number}\t{record_id}\t1\t1\t{NOW.isoformat()}\t{features}\t\\N\t1\t\\N\t\\N\t\\N\t\\N\n"
            for number, record_id in zip(numbers, ids, strict=True)
        ).encode(),
        scored_at_sent=[False] * len(ids),
        source=source,
    )


def with_commits(database: Database, work: Callable[[GroupCommit], Awaitable[T]], **options: int) -> T:
    """What `work` gives, run with a started GroupCommit."""

    async def run() -> T:
        commits = GroupCommit(database.url, **options)
        try:
            return await work(commits)
        finally:
            await commits.stop()

    return asyncio.run(run())


def with_ingestions(database: Database, count: int, work: Callable[[list[Ingestion]], Awaitable[T]]) -> T:
    """What `work` gives, run with that many services, each with connections of its own as if in a process of its own."""

    async def run() -> T:
        ingestions = [Ingestion(database) for _ in range(count)]
        try:
            return await work(ingestions)
        finally:
            for ingestion in ingestions:
                await ingestion.stop()

    return asyncio.run(run())


def request(*ids: str, x: int = 1) -> LogRequest:
    """A native body of records with those ids."""
    records = ",".join(f'{{"id":"{record_id}","features":{{"x":{x}}},"prediction":1}}' for record_id in ids)
    return LogRequest(body=f'{{"records":[{records}]}}'.encode())
