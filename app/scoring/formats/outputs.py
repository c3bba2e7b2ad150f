"""Which of an answer's columns is the prediction, the probability and the label. Looks at names only, never at values."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.deployments import OutputFields

FALLBACKS = ("prediction", "predictedLabel", "predicted_label")
"""Taken for the prediction when the configured column is absent and exactly one of these is there (published OpenScale
scripts declare `predictedLabel` while their endpoint answers `prediction`)."""

_SHOWN_COLUMNS = 12


class OutputsUnclear(ValueError):
    """The columns cannot be told apart; the message continues the sentence "the answer …"."""


@dataclass(frozen=True, slots=True)
class OutputPositions:
    """Positions among an answer's columns; None where the column is not configured or not there."""

    prediction: int
    probability: int | None
    label: int | None


def find_outputs(fields: Sequence[str], outputs: OutputFields) -> OutputPositions:
    """Where the output columns stand among `fields`.

    Raises:
        OutputsUnclear: no column can be taken for the prediction, more than one can, or an output column is named twice.
    """
    return OutputPositions(
        prediction=_prediction(fields, outputs),
        probability=_optional(fields, outputs.probability),
        label=_optional(fields, outputs.label),
    )


def listed(fields: Sequence[str]) -> str:
    """Column names for a message, the first dozen."""
    if not fields:
        return "no column at all"
    more = f" and {len(fields) - _SHOWN_COLUMNS} more" if len(fields) > _SHOWN_COLUMNS else ""
    return ", ".join(f"'{field}'" for field in fields[:_SHOWN_COLUMNS]) + more


def _prediction(fields: Sequence[str], outputs: OutputFields) -> int:
    if outputs.prediction in fields:
        return _position(fields, outputs.prediction)
    taken = (outputs.probability, outputs.label)
    found = [name for name in FALLBACKS if name in fields and name not in taken]
    if not found:
        raise OutputsUnclear(f"has no prediction column '{outputs.prediction}'; it has {listed(fields)}")
    if len(found) > 1:
        raise OutputsUnclear(
            f"has no prediction column '{outputs.prediction}', and {listed(found)} could each stand for it;"
            " name one of them as the deployment's prediction field"
        )
    return _position(fields, found[0])


def _optional(fields: Sequence[str], name: str | None) -> int | None:
    return None if name is None or name not in fields else _position(fields, name)


def _position(fields: Sequence[str], name: str) -> int:
    if fields.count(name) > 1:
        raise OutputsUnclear(f"names the column '{name}' more than once")
    return fields.index(name)
