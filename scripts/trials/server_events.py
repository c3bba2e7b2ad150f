"""Reads the events of real model servers as the service does, and compares the records with the rows that the servers were asked for."""

import json
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.intake.gateway.call_events import STRUCTURED, EventUnclear, ReportedHalf, read_events
from app.intake.gateway.spool_entries import CallSide
from app.intake.logging.ingest_plan import plan_for
from app.intake.logging.model_call import Exchange, read_exchange
from app.intake.writing.write_target import Target
from app.payloads.codec import Asking, Codec

LOGGER = "org.kubeflow.serving.inference"
TOLERANCE = 1e-12
SELDON = "io.seldon.serving.inference"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuestion:
    url: str
    codec: Codec
    target: Target
    rows: list[Mapping[str, Any]]
    fields: list[str]


def events_of(server: str, payload_format: str, question: EventQuestion) -> dict[str, str]:
    """Returns words about the events of a server by their kind; a fault begins with `!`."""
    if server == "MLServer" and payload_format == "open_inference":
        return {"events, its own headers": try_mlserver_events(question)}
    if server == "KServe" and payload_format == "kserve_v1":
        return {"events, logger's form": try_logger_events(question), "events of the server": try_kserve_events(question)}
    if server == "KServe" and payload_format == "open_inference":
        return {"events, logger's form": try_logger_events(question)}
    return {}


def try_mlserver_events(question: EventQuestion) -> str:
    """Returns words about MLServer's own response events, which are the headers of its answers; a fault begins with `!`."""

    def pair(body: bytes, headers: Mapping[str, str], answer: bytes, call: str) -> list[tuple[dict[str, str], bytes]]:
        own = {name: value for name, value in headers.items() if name.startswith("ce-")} | {"content-type": headers["content-type"]}
        # MLServer sends no event for its request: Seldon's agent adds the same id to the request that it saw.
        asked = {"ce-type": f"{SELDON}.request", "ce-requestid": headers.get("ce-requestid", call), "content-type": "application/json"}
        return [(own, answer), (asked, body)]

    return _compare(question, pair)


def try_logger_events(question: EventQuestion) -> str:
    """Returns words about events in the documented form of KServe's logger, with bodies of a real server; the logger is a Go program."""

    def pair(body: bytes, headers: Mapping[str, str], answer: bytes, call: str) -> list[tuple[dict[str, str], bytes]]:
        common = {
            "ce-specversion": "1.0",
            "ce-id": call,
            "ce-source": "http://localhost:9081/",
            "ce-inferenceservicename": "credit",
            "ce-namespace": "default",
            "ce-component": "predictor",
            "ce-endpoint": "",
        }
        asked = common | {"ce-type": f"{LOGGER}.request", "content-type": "application/json"}
        return [(asked, body), (common | {"ce-type": f"{LOGGER}.response", "content-type": headers["content-type"]}, answer)]

    return _compare(question, pair)


def try_kserve_events(question: EventQuestion) -> str:
    """Returns words about the events that KServe's Python server itself answers to an event; they must be refused with the reason."""
    body = question.codec.write_request(question.fields, [[row[name] for name in question.fields] for row in question.rows[:2]])
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": "c-1",
        "source": "here",
        "time": "2026-11-01T12:00:00Z",
        "type": f"{LOGGER}.request",
    }
    event["data"] = json.loads(body)
    _, headers, answer = _post(question.url, json.dumps(event).encode(), {"Content-Type": STRUCTURED})
    (found,) = read_events(headers, answer, now=datetime.now(UTC))
    is_refused = isinstance(found, EventUnclear) and "use the logger" in str(found)
    return f"{'' if is_refused else '! '}own event: {found}"


Pair = Callable[[bytes, Mapping[str, str], bytes, str], list[tuple[dict[str, str], bytes]]]


def _compare(question: EventQuestion, pair: Pair) -> str:
    now, plan = datetime.now(UTC), plan_for(question.target)
    for begin in range(0, len(question.rows), 10):
        rows, call = question.rows[begin : begin + 10], f"c-{begin}"
        types = tuple({column.name: column.type for column in question.target.schema.features}[name] for name in question.fields)
        asking = Asking(outputs=question.target.outputs, types=types)
        cells = [[row[name] for name in question.fields] for row in rows]
        body = question.codec.write_message(question.fields, cells, asking=asking).body
        _, headers, answer = _post(question.url, body, {"Content-Type": question.codec.content_type})
        halves: dict[CallSide, ReportedHalf] = {}
        for event in pair(body, headers, answer, call):
            (half,) = read_events(*event, now=now)
            if isinstance(half, EventUnclear):
                return f"! {half}"
            halves[half.side] = half
        asked, answered = halves[CallSide.REQUEST], halves[CallSide.RESPONSE]
        if asked.call_id != answered.call_id:
            return f"! the halves have different ids: {asked.call_id}, {answered.call_id}"
        exchange = Exchange(call_id=answered.call_id, scored_at=now, request=asked.body, answer=answered.body)
        checked = read_exchange(exchange, plan, None)
        wanted = [[row[name] for name in question.fields] for row in rows]
        if checked.rejections or [list(feature or ()) for feature in checked.features] != wanted:
            return f"! other features: {checked.rejections or checked.features}"
        if list(checked.predictions or ()) != [row["prediction"] for row in rows]:
            return f"! other predictions: {checked.predictions}"
        chances = [probability[-1] if isinstance(probability, list | tuple) else probability for probability in checked.probabilities or ()]
        if any(abs(chance - row["probability"]) > TOLERANCE for chance, row in zip(chances, rows, strict=True)):
            return f"! other probabilities: {chances}"
    return f"{len(question.rows)} rows of events, the same records"


def _post(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(url, body, dict(headers))  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
        return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
