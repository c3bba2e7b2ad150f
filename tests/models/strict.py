"""A model behind MLflow's scoring server whose signature has an integer column: one null in it, and the whole page is refused.

The words are those of MLflow's server, which quotes the schema.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tests.models.rules import RuleScorer
from tests.models.serving import ModelServer, Reply, running


class StrictServer(ModelServer):
    """Refuses pages with a null in the column `integer`; pages with anything at all while `refuses_all`."""

    def __init__(self, integer: str = "income") -> None:
        self.integer = integer
        self.refuses_all = False
        super().__init__(RuleScorer())

    def answer(self, path: str, body: bytes) -> Reply:
        """400 with MLflow's words, or the model's own answer."""
        table = msgspec.json.decode(body)["dataframe_split"]
        position = table["columns"].index(self.integer)
        if self.refuses_all or any(row[position] is None for row in table["data"]):
            schema = ", ".join(f"'{name}': {'long' if name == self.integer else 'string'} (required)" for name in table["columns"])
            message = (
                f"Failed to enforce schema of data with schema '[{schema}]'. Error: Incompatible input types for column {self.integer}."
                " Can not safely convert float64 to int64."
            )
            return Reply(400, msgspec.json.encode({"error_code": "BAD_REQUEST", "message": message}))
        return super().answer(path, body)


@contextmanager
def strict(integer: str = "income") -> Iterator[StrictServer]:
    """The server in a thread, until the end of the `with`."""
    with running(StrictServer(integer)) as server:
        yield server
