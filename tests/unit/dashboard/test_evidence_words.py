"""The state next to the verdict of one check says the figure's one sentence."""

from app.pages.deployment.forest_rows import explain_evidence
from app.statistics.e_values.state_words import State
from tests.builders.comparison_states import comparison_of
from tests.builders.forests import figure_of, forest_of


def test_the_sentence_of_the_state_explains_what_differs_from_the_verdict() -> None:
    unfair = comparison_of(State.UNFAIR)
    explained, without = (
        explain_evidence(forest_of(figure_of(0.9, "fair", lower=0.8, upper=1.0), states=states).rows[0]) for states in ([unfair], [])
    )

    assert (explained, without) == (unfair.statement.sentence, None)
