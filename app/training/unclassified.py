"""The labels that are in neither outcome list: refused if there are no others."""

from ..domain.monitors import Monitor
from ..domain.outcomes import Outcome, OutcomeRule
from ..domain.training_data import Cell, Distribution
from ..domain.values import GroupValue, spelled
from ..errors import InvalidInput
from ..frozen import frozen
from .from_distributions import Inexact, classify_cell_label

MOST_EXAMPLES = 5
_SHOWN = 50


@frozen
class Unclassified:
    """Records with such a label, and some of these labels, the most frequent first. Missing labels are not counted."""

    records: int
    examples: tuple[GroupValue, ...]


def find_unclassified(labels: Distribution, rule: OutcomeRule) -> Unclassified | None:
    """Returns the labels in neither list; None if labels are counted in intervals that are only in part within an outcome."""
    try:
        found = [cell for cell in _known(labels) if classify_cell_label(cell.label, rule) is Outcome.UNCLASSIFIED]
    except Inexact:
        return None
    found.sort(key=lambda cell: -cell.records)
    examples = tuple(cell.label for cell in found[:MOST_EXAMPLES] if cell.label is not None)
    return Unclassified(sum(cell.records for cell in found), examples)


def require_outcomes(labels: Distribution, monitor: Monitor | None) -> None:
    """Raises InvalidInput if no label is in the monitor's lists: another column, or another spelling."""
    found = None if monitor is None else find_unclassified(labels, monitor.outcomes)
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
