"""What a payload format must be able to do. The formats themselves are its neighbours; `registry.py` finds them."""

from collections.abc import Sequence
from typing import Protocol

from app.domain.deployments import OutputFields
from app.domain.records import Prediction
from app.scoring.formats.answers import Answer
from app.scoring.formats.wire import Rows


class Codec(Protocol):
    """One payload format: a page of rows to bytes, the answer's bytes to predictions. Stateless."""

    def encode_request(self, columns: Sequence[str], rows: Rows) -> bytes:
        """The body that asks for a page of rows.

        Raises:
            ScoringFailed: a cell that JSON cannot carry.
        """
        ...

    def decode_response(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> list[Prediction]:
        """One prediction per row asked for, in that order.

        Raises:
            ScoringFailed: anything else than one usable prediction per row; the message says what came.
        """
        ...

    def read_answer(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> Answer:
        """The same with all of the answer's columns.

        Raises:
            ScoringFailed: as above, or columns that cannot be told apart.
        """
        ...
