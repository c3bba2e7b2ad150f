"""Groups to compare: categories, ages, outcomes, and proposals merged into a monitor."""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from app.base.errors import FieldProblem, InvalidInput
from app.base.values import GroupValue, Range, Scalar
from app.deployments.recommendations.group_choice import CountsOrigin, ObservedColumn, Source
from app.deployments.recommendations.recommend import (
    Acceptance,
    Proposal,
    Recommendations,
    locate_problems,
    merge_into_monitor,
    recommend_attributes,
)
from app.deployments.recommendations.suggested_outcomes import OutcomesOrigin, RecommendedOutcomes, determine_outcomes
from app.deployments.training.queries import Cell, Distribution
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from tests.builders.page_words import says

RULE = OutcomeRule(favourable=(1,), unfavourable=(0,))
KNOWN = RecommendedOutcomes(RULE, OutcomesOrigin.SENT, is_certain=True, evidence="they were sent")
UNKNOWN = RecommendedOutcomes(None, OutcomesOrigin.UNKNOWN, is_certain=False, evidence="nobody knows")
SOURCE = Source(CountsOrigin.TRAINING, 1_000, datetime(2026, 7, 1, tzinfo=UTC))


def observed(name: str, counted: Mapping[GroupValue | None, tuple[int, int]], kind: FieldType = FieldType.STRING) -> ObservedColumn:
    """A column; of each value the favourable and the unfavourable records."""
    cells = [Cell((value,), label, records) for value, pair in counted.items() for label, records in zip((1, 0), pair, strict=True)]
    numeric = FieldKind.NUMERIC if kind is not FieldType.STRING else FieldKind.CATEGORICAL
    return ObservedColumn(Column(name=name, type=kind, kind=numeric), False, Distribution((name,), tuple(cells)), SOURCE)


def found(column: ObservedColumn, outcomes: RecommendedOutcomes = KNOWN) -> Recommendations:
    return recommend_attributes([column], outcomes, set(), strata=None)


def only(column: ObservedColumn, outcomes: RecommendedOutcomes = KNOWN) -> Proposal:
    (proposal,) = found(column, outcomes).proposals
    return proposal


def roles(proposal: Proposal) -> tuple[tuple[GroupValue, ...], tuple[GroupValue, ...]]:
    return proposal.choice.monitored, proposal.choice.reference


def test_the_reference_is_the_best_treated_of_the_large_groups_not_of_the_small() -> None:
    proposal = only(observed("race", {"White": (500, 300), "Black": (100, 100), "Asian": (20, 0)}))

    assert roles(proposal) == (("Black", "Asian"), ("White",))
    assert any("few records: 'Asian' (20). They stay in the proposal" in warning for warning in proposal.choice.warnings)


def test_of_values_that_differ_by_a_blank_the_most_frequent_is_proposed() -> None:
    proposal = only(observed("sex", {"male": (500, 300), "female": (100, 200), "female ": (20, 30), " male": (1, 1), "\u00a0male": (0, 1)}))

    assert roles(proposal) == (("female",), ("male",))
    assert any(says(warning, "in neither group", "'female '", "' male'", "53 records") for warning in proposal.choice.warnings)
    assert roles(only(observed("sex", {"male ": (50, 30), "female": (10, 20)}))) == (("female",), ("male ",))


def test_different_spellings_of_one_group_are_on_one_side() -> None:
    proposal = only(observed("sex", {"male": (50, 50), "M": (40, 60), "Female": (30, 70), "f": (0, 1), "woman": (5, 20)}))

    assert "M" not in roles(proposal)[0]
    assert set(roles(proposal)[0]) >= {"Female", "woman"}
    assert "male" in roles(proposal)[1]


def test_those_who_did_not_answer_are_in_neither_group_and_it_is_said() -> None:
    proposal = only(observed("sex", {"male": (50, 50), "female": (30, 70), "Unknown": (9, 1), None: (3, 3)}))

    assert roles(proposal) == (("female",), ("male",))
    assert [group.role for group in proposal.choice.groups] == ["monitored", "reference", "neither"]
    assert any("in neither group: 'Unknown' (10 records)" in warning for warning in proposal.choice.warnings)
    assert proposal.evidence.missing == 6


def test_a_value_that_holds_the_sign_of_combinations_is_proposed_like_any_other() -> None:
    proposal = only(observed("race", {"White": (500, 300), "Black × Asian": (100, 100), "Black": (40, 60)}))

    assert roles(proposal) == (("Black × Asian", "Black"), ("White",))


def test_without_outcomes_the_usual_reference_is_taken_and_rates_have_a_reason() -> None:
    proposal = only(observed("sex", {"male": (10, 30), "female": (90, 70)}), UNKNOWN)

    assert roles(proposal) == (("female",), ("male",))
    assert {(group.rate, group.favourable, group.reason) for group in proposal.choice.groups} == {
        (None, None, "the favourable outcomes are not known")
    }


def test_where_rates_are_alike_it_is_said_that_the_reference_is_a_choice() -> None:
    proposal = only(observed("sex", {"male": (50, 50), "female": (50, 50)}))

    assert any("a choice, not a finding" in warning for warning in proposal.choice.warnings)


def test_where_the_usual_reference_is_not_surely_worse_off_chance_does_not_choose_another() -> None:
    by_chance = only(observed("sex", {"male": (50, 50), "female": (52, 48)}))
    surely = only(observed("sex", {"male": (500, 500), "female": (700, 300)}))

    assert roles(by_chance) == (("female",), ("male",))
    assert roles(surely) == (("male",), ("female",))
    assert any("usually 'male' is the reference" in warning for warning in surely.choice.warnings)


def test_a_group_that_is_surely_better_off_is_the_reference_though_a_smaller_one_is_so_by_chance(snapshot: SnapshotAssertion) -> None:
    proposal = only(observed("race", {"White": (950, 850), "Black": (1200, 900), "Asian": (255, 185)}))

    assert proposal.choice.reference == ("Black",)
    assert says(proposal.choice.because, "'Black'", "higher", "57.1", "'White'", "higher")
    assert proposal.choice.because == snapshot


def test_the_customary_groups_are_listed_next_to_those_by_rates() -> None:
    proposal = only(observed("sex", {"male": (500, 500), "female": (700, 300), "Unknown": (3, 3)}))
    usual = only(observed("sex", {"male": (700, 300), "female": (500, 500)}))
    none = only(observed("marital_status", {"married": (70, 30), "divorced": (50, 50)}))

    customary = proposal.choice.customary
    assert customary is not None
    assert (customary.monitored, customary.reference) == (("female",), ("male",))
    assert {(group.value, group.role, group.favourable) for group in customary.groups} == {
        ("male", "reference", 500),
        ("female", "monitored", 700),
        ("Unknown", "neither", 3),
    }
    assert any("surely better off than 'male' in these data: 'female'" in warning for warning in customary.warnings)
    assert usual.choice.customary is not None
    assert (usual.choice.customary.monitored, usual.choice.customary.warnings) == (usual.choice.monitored, ())
    assert none.choice.customary is None


def test_of_ages_the_young_are_what_custom_compares_and_it_is_said_if_they_fare_better() -> None:
    proposal = only(observed("age", {age: (1, 9) if age >= 40 else (8, 2) for age in range(18, 76)}, FieldType.INTEGER))

    customary = proposal.choice.customary
    assert roles(proposal) == ((Range(40, 75),), (Range(18, 39),))
    assert customary is not None
    assert (customary.monitored, customary.reference) == ((Range(18, 25),), (Range(26, 75),))
    assert [(group.records, group.favourable) for group in customary.groups] == [(80, 64), (500, 148)]
    assert any("18-25 surely fares better than 26-75" in warning for warning in customary.warnings)


def test_the_customary_groups_are_accepted_by_name_whether_monitored_yet_or_not() -> None:
    column = observed("sex", {"male": (500, 500), "female": (700, 300)})
    asked = [Acceptance("sex", {"threshold": 0.9}, "customary")]

    fresh = merge_into_monitor(None, found(column), asked)
    watched = recommend_attributes([column], KNOWN, {"sex"}, strata=None)

    assert [(attribute.monitored, attribute.reference, attribute.threshold) for attribute in fresh.attributes] == [
        (("female",), ("male",), 0.9)
    ]
    assert merge_into_monitor(fresh, watched, asked) == fresh
    back = merge_into_monitor(fresh, watched, [Acceptance("sex", {}, "proposed")])
    assert [(attribute.monitored, attribute.reference, attribute.threshold) for attribute in back.attributes] == [
        (("male",), ("female",), 0.9)
    ]


def test_customary_groups_that_nobody_knows_are_refused_at_their_place() -> None:
    column = observed("marital_status", {"married": (70, 30), "divorced": (50, 50)})

    with pytest.raises(InvalidInput) as refused:
        merge_into_monitor(None, found(column), [Acceptance("marital_status", {}, "customary")])

    assert [problem.field for problem in refused.value.problems] == ["attributes[0].groups"]


def test_one_group_alone_is_not_proposed() -> None:
    recommended = found(observed("sex", {"male": (50, 50), "MALE": (1, 1), "Unknown": (5, 5)}))

    assert recommended.proposals == ()
    assert recommended.not_proposed[0].feature == "sex"


def test_ages_are_divided_where_the_disadvantage_is_surest() -> None:
    young = only(observed("age", {age: (1, 9) if age <= 25 else (8, 2) for age in range(18, 76)}, FieldType.INTEGER))
    old = only(observed("age", {age: (1, 9) if age >= 40 else (8, 2) for age in range(18, 76)}, FieldType.INTEGER))
    both = only(observed("age", {age: (8, 2) if 26 <= age <= 64 else (1, 9) for age in range(18, 76)}, FieldType.INTEGER))

    assert roles(young) == ((Range(18, 25),), (Range(26, 75),))
    assert roles(old) == ((Range(40, 75),), (Range(18, 39),))
    assert roles(both) == ((Range(18, 25), Range(65, 75)), (Range(26, 64),))


def test_ages_that_are_declared_categories_are_not_divided_but_bands_of_them_are_compared() -> None:
    texts = found(observed("age", {str(age): (5, 5) for age in range(18, 76)}))
    bands = only(observed("age_group", {"18-25": (10, 90), "26-64": (80, 20), "65+": (50, 50), "8888": (1, 1)}))

    assert "declares it categorical" in texts.not_proposed[0].reason
    assert roles(bands) == (("18-25", "65+"), ("26-64",))


def test_ages_with_fractions_leave_no_gap_between_the_ranges() -> None:
    proposal = only(observed("age", {18 + no / 2: (2, 8) if no < 16 else (8, 2) for no in range(110)}, FieldType.NUMBER))

    assert roles(proposal) == ((Range(18.0, 25.9999),), (Range(26.0, 72.5),))


def test_numbers_that_are_no_ages_are_left_out_and_counted() -> None:
    counted: dict[GroupValue | None, tuple[int, int]] = {age: (1, 9) if age <= 25 else (8, 2) for age in range(18, 76)}
    proposal = only(observed("age", {**counted, -1: (4, 4), 999: (4, 4)}, FieldType.INTEGER))

    assert roles(proposal) == ((Range(18, 25),), (Range(26, 75),))
    assert any("16 records hold numbers that are no ages" in warning for warning in proposal.choice.warnings)


def test_ages_counted_in_intervals_are_divided_where_the_intervals_are() -> None:
    coarse = observed("age", {Range(18, 25): (10, 90), Range(26, 39): (80, 20), Range(40, 80): (80, 20)}, FieldType.NUMBER)
    across = observed("age", {Range(18, 30): (10, 90), Range(31, 45): (80, 20), Range(46, 80): (80, 20)}, FieldType.NUMBER)

    assert roles(only(coarse)) == ((Range(18, 25),), (Range(26, 80),))
    # 61 and 64 lie within the last interval, 25 within the first, 39 within the second: nothing is known.
    assert "no customary division" in found(across).not_proposed[0].reason


@given(st.dictionaries(st.integers(-5, 130), st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=80))
@pytest.mark.thorough
def test_ranges_of_ages_never_overlap_and_hold_what_they_say(counted: dict[int, tuple[int, int]]) -> None:
    for proposal in found(observed("age", dict(counted), FieldType.INTEGER)).proposals:
        monitored, reference = roles(proposal)
        ranges = sorted((one for one in (*monitored, *reference) if isinstance(one, Range)), key=lambda one: one.lo)

        assert all(not one.overlaps(other) for one, other in pairwise(ranges))
        for group in proposal.choice.groups:
            assert isinstance(group.value, Range)
            assert group.records == sum(sum(pair) for age, pair in counted.items() if age in group.value)


@pytest.mark.parametrize(
    ("labels", "name", "favourable", "is_certain"),
    [
        ([">50K", "<=50K"], "income", (">50K",), True),
        ([">50K.", "<=50K."], "income", (">50K.",), True),
        (["Risk", "No Risk"], "Risk", ("No Risk",), True),
        (["good", "bad"], "class", ("good",), True),
        (["Approved", "Denied"], "action", ("Approved",), True),
        ([1, 0], "approved", (1,), False),
        ([1, 0], "is_default", (0,), False),
        ([True, False], "two_year_recid", (False,), False),
        (["True", "FALSE"], "approved", (True,), False),
        (["true", "TRUE", "false"], "is_default", (False,), False),
        (["True", "1"], "approved", None, False),
        (["Y", "N"], "Loan_Status", None, False),
        ([1, 2], "credit", None, False),
        ([1, 0], "approved_then_default", None, False),
        (["a", "b", "c"], "approved", None, False),
        ([], "approved", None, False),
    ],
)
def test_favourable_outcomes_are_suggested_where_words_say_them(
    labels: list[Scalar | Range], name: str, favourable: tuple[Scalar, ...] | None, *, is_certain: bool
) -> None:
    outcomes = determine_outcomes(None, dict.fromkeys(labels, 10), name=name, predicted={}, is_quantity=False)

    assert (outcomes.rule and outcomes.rule.favourable, outcomes.is_certain) == (favourable, is_certain)


def test_a_suggestion_is_not_certain_where_the_model_spells_its_outcomes_otherwise() -> None:
    outcomes = determine_outcomes(None, {">50K": 5, "<=50K": 5}, name="income", predicted={0: 3, 1: 3}, is_quantity=False)

    assert (outcomes.is_certain, "spelled otherwise" in outcomes.evidence) == (False, True)


def test_the_outcomes_of_a_regression_are_for_a_person_to_say() -> None:
    assert determine_outcomes(None, {0: 5, 1: 5}, name="approved", predicted={}, is_quantity=True).rule is None


def test_the_column_of_the_strata_is_not_proposed() -> None:
    recommended = recommend_attributes([observed("sex", {"male": (50, 50), "female": (30, 70)})], KNOWN, set(), strata="sex")

    assert (recommended.proposals, recommended.not_proposed[0].reason[:28]) == ((), "the monitor compares within ")


def test_accepting_by_default_takes_what_is_sure_only() -> None:
    sure = found(observed("sex", {"male": (50, 50), "female": (30, 70)}))
    unsure = found(observed("sex", {0: (50, 50), 1: (30, 70)}, FieldType.INTEGER))

    assert [attribute.feature for attribute in merge_into_monitor(None, sure, None).attributes] == ["sex"]
    with pytest.raises(InvalidInput, match="no proposal is sure enough"):
        merge_into_monitor(None, unsure, None)
    assert [attribute.feature for attribute in merge_into_monitor(None, unsure, [Acceptance("sex", {})]).attributes] == ["sex"]


def test_a_suggestion_that_is_not_certain_makes_no_monitor() -> None:
    outcomes = RecommendedOutcomes(RULE, OutcomesOrigin.SUGGESTION, is_certain=False, evidence="the name holds 'approved'; confirm")
    recommended = found(observed("sex", {"male": (50, 50), "female": (30, 70)}), outcomes)

    with pytest.raises(InvalidInput) as refused:
        merge_into_monitor(None, recommended, None)
    assert [problem.field for problem in refused.value.problems] == ["favourable", "unfavourable"]


def test_problems_are_named_where_they_were_sent_or_else_in_the_monitor() -> None:
    attributes = tuple(MonitoredAttribute(feature=name, monitored=("a",)) for name in ("sex", "race"))
    monitor = Monitor(outcomes=RULE, attributes=attributes)
    problems = [FieldProblem("attributes[0].feature", "x"), FieldProblem("attributes[1].threshold", "y"), FieldProblem("strata", "z")]

    assert [problem.field for problem in locate_problems(problems, monitor, [Acceptance("race", {})])] == [
        "fairness_monitor.attributes[0].feature",
        "attributes[0].threshold",
        "strata",
    ]
