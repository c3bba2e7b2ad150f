"""Finds the outputs among an answer's columns, by names only."""

from ..base.frozen import frozen
from ..domain.deployment import OutputFields
from .wire import Names

FALLBACKS = ("prediction", "predictedLabel", "predicted_label")
"""Used when the configured column is absent and exactly one of these is there:

published OpenScale scripts declare `predictedLabel` while their endpoint answers `prediction`.
"""

_SHOWN_COLUMNS = 12


def output_names(outputs: OutputFields) -> set[str]:
    """Returns the names that no input of an answer has."""
    return {*outputs.names, *FALLBACKS}


class OutputsUnclear(ValueError):
    """Columns cannot be distinguished; the message continues "the answer …"."""


@frozen
class OutputPositions:
    prediction: int
    probability: int | None
    label: int | None


def find_outputs(fields: Names, outputs: OutputFields) -> OutputPositions:
    """Returns the positions of the outputs among `fields`. Raises OutputsUnclear."""
    return OutputPositions(
        _find_prediction(fields, outputs),
        _find_optional(fields, outputs.probability),
        _find_optional(fields, outputs.label),
    )


def listed(fields: Names) -> str:
    """Returns the first dozen names for a message."""
    if not fields:
        return "no column at all"
    remainder = f" and {len(fields) - _SHOWN_COLUMNS} more" if len(fields) > _SHOWN_COLUMNS else ""
    return ", ".join(f"'{field}'" for field in fields[:_SHOWN_COLUMNS]) + remainder


def _find_prediction(fields: Names, outputs: OutputFields) -> int:
    if outputs.prediction in fields:
        return _find_one(fields, outputs.prediction)
    reserved = (outputs.probability, outputs.label)
    # A label of such a name must not become the prediction.
    candidates = [name for name in FALLBACKS if name in fields and name not in reserved]
    if not candidates:
        raise OutputsUnclear(f"has no prediction column '{outputs.prediction}'; it has {listed(fields)}")
    if len(candidates) > 1:
        raise OutputsUnclear(
            f"has no prediction column '{outputs.prediction}', and each of {listed(candidates)} could be it;"
            " name one of them as the deployment's prediction field"
        )
    return _find_one(fields, candidates[0])


def _find_optional(fields: Names, name: str | None) -> int | None:
    return None if name is None or name not in fields else _find_one(fields, name)


def _find_one(fields: Names, name: str) -> int:
    if fields.count(name) > 1:
        raise OutputsUnclear(f"names the column '{name}' more than once")
    return fields.index(name)
