"""A served model that is a function of one record, and that can be told to fail."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, Reply, running
from tests.models.speaking import speak

Outputs = Callable[[dict[str, Any]], dict[str, Any]]


def points(row: dict[str, Any]) -> float:
    """What the model counts: sex and colour weigh as much as an income of 30,000 each, and youth as much as 20,000."""
    from_sex = 0.3 if row["sex"] == "male" else 0.0
    from_colour = {"green": 0.3, "blue": 0.1}.get(row["colour"], 0.0)
    from_age = 0.2 if row["age"] > 25 else 0.0
    return float(from_sex + from_colour + from_age + (row["income"] or 0) / 100_000)


def credit(row: dict[str, Any]) -> dict[str, Any]:
    """1 where more than half a point was scored of two."""
    return {"prediction": int(points(row) > 0.75), "probability": max(0.0, min(points(row) / 1.5, 1.0))}


class RowServer(ModelServer):
    """A model that is a function of one record. `replies` are given instead of an answer, by the number of the request, from 1."""

    def __init__(self, outputs: Outputs = credit) -> None:
        self.outputs = outputs
        self.replies: dict[int, Reply | float] = {}
        self.only: str | None = None
        """The one format of this server, at every address; other bodies are refused."""
        self.columns: Sequence[str] = ()
        """The columns of requests in formats that name none."""
        super().__init__(RuleScorer())

    def answer(self, path: str, body: bytes) -> Reply:
        """The function's outputs in the format of the path; a number among `replies` is a time to wait before."""
        instead = self.replies.get(self.counts.requests)
        if isinstance(instead, Reply):
            return instead
        self.stopping.wait(instead or 0)
        name = {"/invocations": "mlflow", "/score": "fields_values"}.get(path, path.removeprefix("/formats/"))
        if self.only is None:
            return Reply(200, speak(name, body, self._score))
        try:
            return Reply(200, speak(self.only, body, self._score))
        except (KeyError, ValueError, TypeError, AttributeError, IndexError):
            return Reply(400, b"not my format")

    def _score(self, columns: Sequence[str] | None, rows: list[list[Any]]) -> list[dict[str, Any]]:
        with self.lock:
            self.counts.rows += len(rows)
        return [self.outputs(dict(zip(columns or self.columns, row, strict=True))) for row in rows]

    def url_of(self, payload_format: str) -> str:
        """Where that format is spoken."""
        return f"{self.base}/formats/{payload_format}"


@contextmanager
def row_server(outputs: Outputs = credit) -> Iterator[RowServer]:
    """Such a server, until the block ends."""
    server = RowServer(outputs)
    with running(server):
        yield server
