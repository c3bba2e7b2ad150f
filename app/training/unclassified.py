"""The labels of an upload that are in neither outcome list: counted, and refused where there are no others."""

from dataclasses import dataclass

from app.domain.monitors import Monitor
from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.training_data import Cell, Distribution
from app.domain.values import GroupValue, spelled
from app.errors import InvalidInput
from app.training.from_distributions import Inexact, outcome_of_label

MOST_EXAMPLES = 5
_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Unclassified:
    """How many records have such a label, and some of these labels, the most frequent first. Missing labels are not counted."""

    records: int
    examples: tuple[GroupValue, ...]


def unclassified_labels(labels: Distribution, rule: OutcomeRule) -> Unclassified | None:
    """The labels in neither list; None where labels are counted in intervals that lie in an outcome only in part."""
    try:
        found = [cell for cell in _known(labels) if outcome_of_label(cell.label, rule) is Outcome.UNCLASSIFIED]
    except Inexact:
        return None
    found.sort(key=lambda cell: -cell.records)
    examples = tuple(cell.label for cell in found[:MOST_EXAMPLES] if cell.label is not None)
    return Unclassified(sum(cell.records for cell in found), examples)


def require_outcomes(labels: Distribution, monitor: Monitor | None) -> None:
    """Returns if there is no monitor, or if it knows at least one label.

    Raises:
        InvalidInput: every label is in neither list, so that nothing could be measured: another column, or another spelling.
    """
    found = None if monitor is None else unclassified_labels(labels, monitor.outcomes)
    if monitor is None or found is None or found.records < sum(cell.records for cell in _known(labels)):
        return
    rule = monitor.outcomes
    raise InvalidInput.of(
        "label",
        f"no label is among the monitor's outcomes: found {_listed(found.examples) or 'none'}; "
        f"favourable are {_listed(rule.favourable)}, unfavourable {_listed(rule.unfavourable)}",
    )


def _known(labels: Distribution) -> list[Cell]:
    return [cell for cell in labels.cells if cell.label is not None]


def _listed(values: tuple[GroupValue, ...]) -> str:
    shown = ", ".join(f"{spelled(value):.{_SHOWN}}" for value in values[:MOST_EXAMPLES])
    return f"{shown} and {len(values) - MOST_EXAMPLES} more" if len(values) > MOST_EXAMPLES else shown
