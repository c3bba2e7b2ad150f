"""The protocol of a payload format. The formats are in other modules of this folder; `registry.py` lists them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from ..domain.deployments import OutputFields
from ..domain.records import Prediction
from .answers import Answer
from .forms import Form
from .wire import Rows, encode_rows


class Codec(ABC):
    """One payload format. Stateless."""

    label: ClassVar[str]
    """Its name on pages."""

    forms: ClassVar[tuple[Form, ...]]
    """The forms of requests for debiased answers. Models are called in the first."""

    def write_request(self, columns: Sequence[str], rows: Rows) -> bytes:
        """Writes the body that sends a model a page of rows.

        Raises:
            ScoringFailed: a cell that JSON cannot carry.
        """
        return encode_rows(self.forms[0].write_request(columns, rows), rows)

    @abstractmethod
    def read_answer(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> Answer:
        """Reads a model's answer: all of its columns, and one prediction per row asked for, in that order.

        Raises:
            ScoringFailed: anything else than one usable prediction per row, or columns that cannot be distinguished; the message says
                what came.
        """

    def read_predictions(self, body: bytes, *, outputs: OutputFields, expected_rows: int) -> list[Prediction]:
        """Reads the predictions alone, which may be faster and leaves the other columns unchecked.

        Raises:
            ScoringFailed: as above.
        """
        return self.read_answer(body, outputs=outputs, expected_rows=expected_rows).predictions
