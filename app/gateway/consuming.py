"""Reads events about calls from Kafka, and commits their offsets after the records are durable. Knows no client library."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec
import structlog

from ..clock import monotonic_seconds, utc_now
from ..domain.intake import IntakeOutcome
from ..errors import Unavailable
from ..ingest.exchanges import CapturedBody
from .delivery import SWEEP_SECONDS
from .entries import CallSide, CallSource
from .events import EventUnclear, ReportedHalf, read_events
from .plans import CallPlans
from .storing import CallStore

BATCH_MESSAGES = 500
"""Max messages whose offsets are committed together."""

POLL_SECONDS = 0.5
RETRY_SECONDS = 1.0
"""Pause while the database is away; the messages are kept, and their offsets are not committed."""

log = structlog.get_logger("evenhand.kafka")


class KafkaMessage(Protocol):
    """A message as `confluent-kafka` has it."""

    def key(self) -> bytes | None: ...  # noqa: D102 - the library's
    def value(self) -> bytes | None: ...  # noqa: D102 - the library's
    def headers(self) -> list[tuple[str, bytes]] | None: ...  # noqa: D102 - the library's
    def timestamp(self) -> tuple[int, int]: ...  # noqa: D102 - the library's
    def error(self) -> object | None: ...  # noqa: D102 - the library's


class KafkaClient(Protocol):
    """A consumer of `confluent-kafka` that commits no offset by itself."""

    def consume(self, num_messages: int, timeout: float) -> Sequence[KafkaMessage]: ...  # noqa: D102 - the library's
    def commit(self, *, asynchronous: bool) -> Any: ...  # noqa: ANN401, D102 - the library's


class EventConsumer:
    """Brings messages about one deployment to the database. Belongs to one event loop."""

    def __init__(self, client: KafkaClient, store: CallStore, plans: CallPlans, deployment_id: str) -> None:
        self._client = client
        self._store = store
        self._plans = plans
        self._deployment_id = deployment_id

    async def run(self, stop: asyncio.Event) -> None:
        """Reads until `stop` is set. Messages whose records are not durable then are read again after the next start.

        Raises:
            NotFound: there is no such deployment.
        """
        swept_at = monotonic_seconds()
        while not stop.is_set():
            messages = await asyncio.to_thread(self._client.consume, BATCH_MESSAGES, POLL_SECONDS)
            is_due = monotonic_seconds() - swept_at >= SWEEP_SECONDS
            while messages or is_due:
                try:
                    await self._take(messages)
                    if is_due:
                        await self._store.sweep()
                        swept_at = monotonic_seconds()
                    break
                except Unavailable as error:
                    log.warning("messages wait in Kafka", messages=len(messages), error=str(error))
                    if stop.is_set():
                        return
                    await asyncio.sleep(RETRY_SECONDS)
        await self._store.sweep()

    async def _take(self, messages: Sequence[KafkaMessage]) -> None:
        """Stores messages, and then commits their offsets: a message is read again rather than lost, and its records are stored once."""
        if not messages:
            return
        deployment = (await self._plans.current(self._deployment_id)).deployment
        entries, unclear = [], []
        for message in messages:
            if message.error() is not None:
                log.warning("Kafka reports an error", error=str(message.error()))
                continue
            at = datetime.fromtimestamp(message.timestamp()[1] / 1000, UTC) if message.timestamp()[1] > 0 else utc_now()
            for half in read_message(message, now=at):
                if isinstance(half, EventUnclear):
                    unclear.append(str(half))
                else:
                    entries.append(half.to_entry(deployment, CallSource.KAFKA, now=at))
        await self._store.store(entries)
        await asyncio.to_thread(self._client.commit, asynchronous=False)
        for reason in unclear:
            kafka, now = CallSource.KAFKA.value, utc_now()
            self._store.counts.add(deployment.no, kafka, IntakeOutcome.IGNORED, 1, received_at=now, reason=reason)


def read_message(message: KafkaMessage, *, now: datetime) -> list[ReportedHalf | EventUnclear]:
    """Returns the halves in a message: a CloudEvent of Kafka's binding (`ce_…` headers), of Seldon (`type`), or a body of MLServer.

    MLServer writes no type: its key is the id of the request, and the body says which half it is.
    """
    sent = {name.lower(): value.decode("utf-8", "replace") for name, value in message.headers() or () if value is not None}
    body = message.value() or b""
    headers = {name.replace("ce_", "ce-", 1) if name.startswith("ce_") else name: value for name, value in sent.items()}
    if "type" in sent and "ce-type" not in headers:
        headers |= {f"ce-{name}": value for name, value in sent.items()}
    if "ce-type" in headers or "cloudevents" in headers.get("content-type", ""):
        try:
            return read_events(headers, body, now=now)
        except EventUnclear as error:
            return [error]
    key = message.key()
    if not key:
        return [EventUnclear("the message has neither a type in its headers nor a key that is the id of a request")]
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return [EventUnclear("the value is not JSON")]
    members: Mapping[str, object] = found if isinstance(found, dict) else {}
    side = CallSide.RESPONSE if "outputs" in members else CallSide.REQUEST if "inputs" in members else None
    if side is None:
        return [EventUnclear("the value has neither inputs nor outputs")]
    return [ReportedHalf(key.decode("utf-8", "replace"), side, now, CapturedBody(body, "application/json"))]
