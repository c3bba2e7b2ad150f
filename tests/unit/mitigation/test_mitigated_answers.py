"""What mitigation makes of one live record, from what the model said of its copies."""

import pytest

from app.base.values import Range
from app.domain.mitigation import CutOff, Mode, Reading
from app.domain.monitor import OutcomeRule
from app.domain.record import Prediction
from app.mitigation.live.substitute import CopiedRecord, CopySet, Decider, MitigatedAnswer, MitigationResult, Substitution
from app.mitigation.rule import Judge

RULE = OutcomeRule(favourable=("yes", "maybe"), unfavourable=("no",))
NUMBERS = OutcomeRule(favourable=(Range(100, 200),), unfavourable=(Range(0, 50),))
CUT_OFF = CutOff(0.5, 0.4, 0.6)
NO, YES = Prediction("no", 0.1), Prediction("yes", 0.9)


def decider(mode: Mode = Mode.LIFT_ONLY, *, rule: OutcomeRule = RULE) -> Decider:
    return Decider(Judge(rule, Reading("number"), CUT_OFF), mode, rule.classify)


def substituted(by: Decider, own: Prediction, copies: CopySet, answers: list[Prediction]) -> MitigatedAnswer:
    """The decision of one record, by the answers to its copies."""
    (found,) = by.decide_answers([CopiedRecord(own, by.classify(own.outcome_value), copies, answers)])
    return found


def copy_set(*shares: float) -> CopySet:
    """The copies by one attribute."""
    return CopySet(("sex",), tuple(Substitution(((0, "male"),), share) for share in shares), ())


def two_attributes() -> CopySet:
    """One copy of both, and one of each alone."""
    one = (Substitution(((0, "male"),), 1.0),)
    return CopySet(("sex", "colour"), one, (("sex", one), ("colour", one)))


def test_a_record_that_would_be_favourable_gets_what_its_copy_got() -> None:
    found = substituted(decider(), NO, copy_set(1.0), [Prediction(1, 0.7, "yes")])

    assert found == MitigatedAnswer(Prediction(1, 0.7, "yes"), MitigationResult.CHANGED, ("sex",))
    assert found.changed


def test_a_record_that_would_be_refused_anyway_keeps_its_own_answer() -> None:
    assert substituted(decider(), NO, copy_set(1.0), [Prediction("no", 0.3)]) == MitigatedAnswer(NO, MitigationResult.UNCHANGED)


def test_copies_that_disagree_are_decided_by_their_mean_at_the_models_cut_off() -> None:
    answers = [Prediction("yes", 0.8), Prediction("no", 0.1)]
    lifted = substituted(decider(), NO, copy_set(0.75, 0.25), answers)
    kept = substituted(decider(), NO, copy_set(0.25, 0.75), answers)

    assert (lifted.answer.prediction, lifted.answer.probability) == ("yes", pytest.approx(0.625))
    assert kept == MitigatedAnswer(NO, MitigationResult.UNCHANGED)


def test_the_prediction_is_the_one_that_most_copies_with_the_outcome_got_and_the_first_of_equals() -> None:
    answers = [Prediction("no", 0.1), Prediction("maybe", 0.7), Prediction("yes", 0.9), Prediction("yes", 0.8)]
    most = substituted(decider(), NO, copy_set(0.1, 0.4, 0.25, 0.25), answers)
    equal = substituted(decider(), NO, copy_set(0.1, 0.4, 0.25, 0.15), answers)

    assert most.answer.prediction == "yes"
    assert equal.answer.prediction == "maybe"


def test_copies_of_which_none_is_classified_decide_nothing() -> None:
    assert substituted(decider(), NO, copy_set(1.0), [Prediction("else", 0.9)]) == MitigatedAnswer(NO, MitigationResult.UNDECIDED)


def test_a_tie_without_probabilities_decides_nothing() -> None:
    own = Prediction("no")
    found = substituted(decider(), own, copy_set(0.5, 0.5), [Prediction("yes"), Prediction("no")])

    assert found == MitigatedAnswer(own, MitigationResult.UNDECIDED)


def test_substitution_lowers_and_gives_the_copies_answer_even_where_the_outcome_is_the_same() -> None:
    substitute = decider(Mode.REFERENCE_SUBSTITUTION)
    lowered = substituted(substitute, YES, copy_set(1.0), [NO])
    same = substituted(substitute, YES, copy_set(1.0), [Prediction("maybe", 0.7)])

    assert lowered == MitigatedAnswer(NO, MitigationResult.CHANGED, ("sex",))
    assert same == MitigatedAnswer(Prediction("maybe", 0.7), MitigationResult.UNCHANGED)


@pytest.mark.parametrize(
    ("of_sex", "of_colour", "changed_by"),
    [(YES, NO, ("sex",)), (NO, YES, ("colour",)), (YES, YES, ("sex", "colour")), (NO, NO, ("sex", "colour"))],
)
def test_the_attributes_that_change_it_alone_are_named_or_else_all(
    of_sex: Prediction, of_colour: Prediction, changed_by: tuple[str, ...]
) -> None:
    found = substituted(decider(), NO, two_attributes(), [YES, of_sex, of_colour])

    assert found.changed_by == changed_by


def test_what_one_attribute_would_do_alone_does_not_count_where_both_together_do_nothing() -> None:
    assert substituted(decider(), NO, two_attributes(), [NO, YES, NO]) == MitigatedAnswer(NO, MitigationResult.UNCHANGED)


def test_a_regression_gets_the_weighted_mean_if_that_has_an_outcome() -> None:
    regression, own = decider(rule=NUMBERS), Prediction(40)
    lifted = substituted(regression, own, copy_set(0.75, 0.25), [Prediction(180), Prediction(20)])
    between = substituted(regression, own, copy_set(0.5, 0.5), [Prediction(140), Prediction(20)])

    assert lifted == MitigatedAnswer(Prediction(140.0), MitigationResult.CHANGED, ("sex",))
    assert between == MitigatedAnswer(own, MitigationResult.UNDECIDED)


def test_a_regression_whose_copies_agree_in_outcome_but_not_in_their_mean_is_undecided() -> None:
    rule = OutcomeRule(favourable=(Range(0, 10), Range(90, 100)), unfavourable=(Range(20, 80),))
    own = Prediction(30)
    found = substituted(decider(rule=rule), own, copy_set(0.5, 0.5), [Prediction(5), Prediction(95)])

    assert found == MitigatedAnswer(own, MitigationResult.UNDECIDED)


def test_a_mean_of_equal_probabilities_is_that_probability() -> None:
    shares = [1 / 7] * 7
    found = substituted(decider(), NO, copy_set(*shares), [Prediction("yes", (0.0, 1.0))] * 7)

    assert found.answer.probability == (0.0, 1.0)
