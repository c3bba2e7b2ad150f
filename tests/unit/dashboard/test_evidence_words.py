"""Words on a verdict of one check next to the evidence of all hours."""

import pytest

from app.pages.deployment.forest_rows import explain_evidence
from app.statistics.e_values.state_words import State
from tests.builders.comparison_states import comparison_of
from tests.builders.forests import figure_of, forest_of


def explain(value: float, verdict: str, state: State | None) -> str | None:
    states = [] if state is None else [comparison_of(state)]
    (row,) = forest_of(figure_of(value, verdict, lower=value - 0.1, upper=value + 0.1), states=states).rows
    return explain_evidence(row)


NEITHER = "refute neither that the group is inside its limits nor"
UNFAIR_SOMETIME = "refute that the group is inside its limits in every hour"
FAIR_SOMETIME = "refute that the group is at a limit or beyond it in every hour"


@pytest.mark.parametrize(
    ("value", "verdict", "state", "said"),
    [
        (0.9, "fair", State.UNDECIDED, ("the whole 95 % interval are inside the limits", NEITHER)),
        (0.9, "fair", State.UNFAIR, ("the whole 95 % interval are inside the limits", UNFAIR_SOMETIME)),
        (0.85, "undecided", State.UNFAIR, ("its figure is inside the limits, its 95 % interval is not", UNFAIR_SOMETIME)),
        (0.75, "suspected", State.UNFAIR, ("its 95 % interval is not", UNFAIR_SOMETIME)),
        (0.5, "unfair", State.UNDECIDED, ("the whole 95 % interval are beyond a limit", NEITHER)),
        (0.5, "unfair", State.SHOWN_FAIR, ("the whole 95 % interval are beyond a limit", FAIR_SOMETIME)),
    ],
)
def test_a_verdict_that_the_evidence_does_not_share_is_explained(value: float, verdict: str, state: State, said: tuple[str, str]) -> None:
    found = explain(value, verdict, state)

    assert found is not None
    assert all(part in found for part in said)


@pytest.mark.parametrize(
    ("value", "verdict", "state"), [(0.9, "fair", State.SHOWN_FAIR), (0.5, "unfair", State.UNFAIR), (0.5, "unfair", None)]
)
def test_where_both_agree_nothing_is_explained(value: float, verdict: str, state: State | None) -> None:
    assert explain(value, verdict, state) is None
