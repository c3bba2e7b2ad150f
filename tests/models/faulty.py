"""A model server that misbehaves on demand, around a model that works.

    with faulty(Fault.WRONG_LENGTH) as server:
        ...one check fails...
        server.fault = Fault.NONE
        ...the next one succeeds...

`server.left` limits how many requests are spoilt (None = all): `faulty(Fault.STATUS_500, left=1)` fails once, then is fine.
For an endpoint where nothing listens at all see `closed_url()`.
    python -m tests.models.faulty FAULT [PORT]     # prints the port
"""

import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import msgspec

from tests.models.rules import RuleScorer
from tests.models.serving import Model, ModelServer, Reply, running


class Fault(StrEnum):
    """The ways to misbehave. Those named by a value are about the answer's table and keep its format."""

    NONE = "none"
    SLOW = "slow"
    STATUS_500 = "500"
    STATUS_503 = "503"
    STATUS_429 = "429"
    STATUS_401 = "401"
    STATUS_404 = "404"
    STATUS_422 = "422"
    REDIRECT = "redirect"
    HANG_UP = "hang_up"
    NOT_JSON = "not_json"
    EMPTY = "empty"
    HUGE = "huge"
    ECHO_CREDENTIALS = "echo_credentials"
    ERROR_AS_200 = "error_as_200"
    WRONG_LENGTH = "wrong_length"
    WRONG_TYPES = "wrong_types"
    NULL_PREDICTION = "null_prediction"
    NAN = "nan"
    MISSING_COLUMN = "missing_column"
    RAGGED = "ragged"
    PROBABILITY_ABOVE_ONE = "probability_above_one"
    PROBABILITY_A_HAIR_ABOVE_ONE = "probability_a_hair_above_one"
    TURNED = "turned"
    OTHER_INPUTS = "other_inputs"


_STATUSES = {fault: int(fault) for fault in Fault if fault.isdigit()}

_BODIES = {
    Fault.NOT_JSON: b"<html><body>Welcome to the gateway</body></html>",
    Fault.EMPTY: b"",
    Fault.ERROR_AS_200: b'{"error": "model not loaded"}',
}

_LAST_ROWS: dict[Fault, Callable[[list[Any]], list[Any]]] = {
    Fault.WRONG_TYPES: lambda row: [{"class": 1}, *row[1:]],
    Fault.NULL_PREDICTION: lambda row: [None, *row[1:]],
    Fault.NAN: lambda row: [*row[:-1], "NaN!"],
    Fault.RAGGED: lambda row: row[:-1],
    Fault.PROBABILITY_ABOVE_ONE: lambda row: [*row[:-1], 1.5],
    Fault.PROBABILITY_A_HAIR_ABOVE_ONE: lambda row: [*row[:-1], 1.0000001192092896],
}
"""How the last row of a good answer (prediction, probability) is spoilt."""


class FaultyServer(ModelServer):
    """`fault` and `left` may be changed at any time; SLOW waits `delay_seconds` before a good answer."""

    def __init__(
        self, fault: Fault, *, model: Model | None = None, left: int | None = None, delay_seconds: float = 5.0, port: int = 0
    ) -> None:
        self.fault = fault
        self.left = left
        self.delay_seconds = delay_seconds
        self.retry_after = "1"
        self.huge_bytes = 40 * 2**20
        super().__init__(model or RuleScorer(), port)

    def answer(self, path: str, body: bytes) -> Reply:
        """The spoilt reply, or the model's own once no fault is left."""
        with self.lock:
            fault = self.fault if self.left is None or self.left > 0 else Fault.NONE
            if self.left is not None and self.left > 0:
                self.left -= 1
        if fault is Fault.SLOW:
            self.stopping.wait(self.delay_seconds)
        if fault in {Fault.TURNED, Fault.OTHER_INPUTS}:
            return _repeat_inputs(body, super().answer(path, body), is_turned=fault is Fault.TURNED)
        return self._whole_reply(fault) or self._spoilt(fault, path, super().answer(path, body))

    def _whole_reply(self, fault: Fault) -> Reply | None:
        if fault in _STATUSES:
            headers = {"Retry-After": self.retry_after} if fault is Fault.STATUS_429 else {}
            return Reply(_STATUSES[fault], b'{"error": "the model is not well"}', headers)
        if fault is Fault.HANG_UP:
            raise ConnectionAbortedError
        if fault is Fault.REDIRECT:
            return Reply(302, b"", {"Location": f"{self.base}/elsewhere"})
        if fault is Fault.ECHO_CREDENTIALS:
            return Reply(400, f"bad request with Authorization: {self.counts.authorizations[-1]}".encode())
        if fault is Fault.HUGE:
            return Reply(200, b" " * self.huge_bytes)
        return Reply(200, _BODIES[fault]) if fault in _BODIES else None

    def _spoilt(self, fault: Fault, path: str, reply: Reply) -> Reply:
        document = msgspec.json.decode(reply.body)
        if path == "/invocations":
            rows = document["predictions"]
            fields = list(rows[0]) if rows else []
            fields, values = _spoil(fault, fields, [list(row.values()) for row in rows])
            document = {"predictions": [dict(zip(fields, row, strict=False)) for row in values]}
        else:
            fields, values = _spoil(fault, document["fields"], document["values"])
            document = {"fields": fields, "values": values}
        body = msgspec.json.encode(document)
        return Reply(reply.status, body.replace(b'"NaN!"', b"NaN"))


def _repeat_inputs(body: bytes, reply: Reply, *, is_turned: bool) -> Reply:
    """The answer to a table with the inputs in front, in reverse order, or with another first column."""
    asked, answered = msgspec.json.decode(body), msgspec.json.decode(reply.body)
    inputs = asked["values"] if is_turned else [["another", *row[1:]] for row in asked["values"]]
    rows = [[*cells, *outputs] for cells, outputs in zip(inputs, answered["values"], strict=True)]
    return Reply(200, msgspec.json.encode({"fields": [*asked["fields"], *answered["fields"]], "values": rows[::-1] if is_turned else rows}))


def _spoil(fault: Fault, fields: list[str], values: list[list[Any]]) -> tuple[list[str], list[list[Any]]]:
    if fault is Fault.MISSING_COLUMN:
        return ["verdict", *fields[1:]], values
    if fault is Fault.WRONG_LENGTH:
        return fields, values[:-1]
    if fault not in _LAST_ROWS or not values:
        return fields, values
    return fields, [*values[:-1], _LAST_ROWS[fault](values[-1])]


@contextmanager
def faulty(fault: Fault, *, model: Model | None = None, left: int | None = None, delay_seconds: float = 5.0) -> Iterator[FaultyServer]:
    """A misbehaving server in a thread, until the end of the `with`; around `RuleScorer` unless told otherwise."""
    server = FaultyServer(fault, model=model, left=left, delay_seconds=delay_seconds)
    with running(server):
        yield server


def closed_url() -> str:
    """An endpoint on loopback where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return f"http://127.0.0.1:{port}/score"


if __name__ == "__main__":
    with running(FaultyServer(Fault(sys.argv[1]), port=int(sys.argv[2]) if len(sys.argv) > 2 else 0)) as started:
        print(started.server_port, flush=True)  # noqa: T201 - how the starter learns the port
        while True:
            time.sleep(3600)
