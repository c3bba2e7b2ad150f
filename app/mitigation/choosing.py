"""What decides which live records get a second call of the model, where that call is too dear for all of them."""

from collections.abc import Sequence
from typing import Protocol

from app.domain.values import Scalar


class Chooser(Protocol):
    """Picks the records of a request whose reference copies are worth scoring."""

    def choose(
        self, rows: Sequence[Sequence[Scalar | None]], own_scores: Sequence[float | None], attributes: Sequence[tuple[str, ...]]
    ) -> list[bool]:
        """Whether each record gets a second call.

        `rows` are the features in the order of the schema, `own_scores` the model's own scores of the favourable outcome where it
        gives them, and `attributes` those of which the record has a monitored value.
        """
        ...
