"""Whether there is a gap and whether it is beyond a limit are two statements, each true to the numbers."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from app.domain.check import Details
from app.statistics.sentences.statements import (
    FEW_RECORDS,
    NO_NUMBER,
    NO_VERDICT,
    JudgedFigure,
    describe_choice,
    describe_gap,
    describe_verdict,
    find_unbadged,
    phrase_figure,
)
from tests.builders.page_words import says

DETAILS = Details(monitored="women", reference="men")
FIGURE = JudgedFigure(
    metric="disparate_impact",
    scope="group",
    value=0.75,
    lower=0.68,
    upper=0.83,
    method="log_ratio",
    limits=(0.8, 1.25),
    verdict="suspected",
    details=replace(DETAILS, p_value=0.0002),
)


def test_of_two_figures_of_the_same_two_rates_the_first_in_the_catalogue_judges() -> None:
    parity, odds = replace(FIGURE, metric="statistical_parity_difference"), replace(FIGURE, metric="odds_ratio")
    of_others = replace(FIGURE, metric="statistical_parity_difference", details=replace(DETAILS, monitored="children"))
    labelled = replace(FIGURE, metric="statistical_parity_difference", data="labelled")

    assert find_unbadged([parity, odds, FIGURE, of_others, labelled]) == {0}
    assert find_unbadged([replace(FIGURE, value=None, verdict="not_computable"), parity]) == set()
    assert find_unbadged([replace(FIGURE, verdict=None), parity]) == set()
    assert find_unbadged([parity]) == set()


@pytest.mark.parametrize("verdict", ["fair", "unfair"])
def test_the_fairness_of_openscale_says_that_it_is_judged_by_its_value(verdict: str) -> None:
    value = 0.85 if verdict == "fair" else 0.75
    one = replace(FIGURE, metric="openscale_fairness", value=value, upper=1.3, verdict=verdict)

    assert describe_verdict(one).endswith(", by its value alone, as OpenScale judges.")


def test_a_clear_gap_at_an_unclear_limit_is_told_in_two_statements(snapshot: SnapshotAssertion) -> None:
    assert says(text := describe_gap(FIGURE), "0.0002")
    assert text == snapshot
    assert says(text := describe_verdict(FIGURE), "0.8", "0.830")
    assert text == snapshot


@pytest.mark.parametrize(
    ("p_value", "ends", "said"),
    [
        (0.21, (0.6, 1.1), "The gap may be chance (p = 0.21)."),
        (0.00001, (0.6, 0.9), "The gap is larger than chance explains (p < 0.0001)."),
        (
            0.043,
            (0.6, 1.01),
            "Whether the gap is chance is a close call: p = 0.043 speaks against it, but the 95 % interval includes 1.",
        ),
        (
            0.0501,
            (0.6, 0.99),
            "Whether the gap is chance is a close call: p = 0.0501 leaves room for chance, but the 95 % interval excludes 1.",
        ),
        (None, (0.6, 0.9), "The gap is larger than chance explains: the 95 % interval excludes 1."),
        (None, (0.6, None), "The gap may be chance: the 95 % interval includes 1."),
    ],
)
def test_whether_there_is_a_gap_goes_by_p_value_and_interval_together(
    p_value: float | None, ends: tuple[float, float | None], said: str
) -> None:
    details = DETAILS if p_value is None else replace(DETAILS, p_value=p_value)

    assert describe_gap(replace(FIGURE, lower=ends[0], upper=ends[1], details=details)) == said


@pytest.mark.parametrize(
    "silent",
    [
        replace(FIGURE, value=None, verdict="not_computable", method=None),
        replace(FIGURE, verdict="insufficient_data"),
        replace(FIGURE, method="counted"),
        replace(FIGURE, metric="favourable_rate", limits=(None, None), verdict=None),
        replace(FIGURE, metric="smoothed_empirical_differential_fairness", limits=(None, 0.2)),
    ],
)
def test_nothing_is_said_of_a_gap_that_cannot_be_asked_for(silent: JudgedFigure) -> None:
    assert describe_gap(silent) is None


def test_why_there_is_no_verdict_is_said() -> None:
    assert describe_verdict(replace(FIGURE, verdict="insufficient_data")) == FEW_RECORDS
    assert describe_verdict(replace(FIGURE, value=None, verdict="not_computable")) == NO_NUMBER
    assert describe_verdict(replace(FIGURE, verdict=None)) == NO_VERDICT


def test_a_value_next_to_a_limit_is_told_with_enough_digits_to_be_on_its_own_side(snapshot: SnapshotAssertion) -> None:
    near = replace(FIGURE, value=0.79962, lower=0.79, upper=0.7999, verdict="unfair")

    assert says(text := describe_verdict(near), "0.8", "0.7996")
    assert text == snapshot
    reaching = replace(FIGURE, value=0.799, upper=0.8004)
    assert says(text := describe_verdict(reaching), "0.8", "0.8004")
    assert text == snapshot


def test_a_lone_limit_names_its_mirror_image(snapshot: SnapshotAssertion) -> None:
    half = replace(FIGURE, value=1.5, lower=1.45, upper=1.56, limits=(0.8, None), verdict="unwatched")

    whole, reaching = describe_verdict(half), describe_verdict(replace(half, lower=1.1))
    assert says(whole, "0.8", "1.25")
    assert says(reaching, "0.8", "1.25", "1.10")
    assert [whole, reaching] == snapshot


def test_the_reference_at_a_disadvantage_is_told_from_its_own_side(snapshot: SnapshotAssertion) -> None:
    turned = replace(FIGURE, value=1.71, lower=1.55, upper=1.9, verdict="unfair")

    assert says(text := phrase_figure(turned), "men", "reference", "42 % less", "women", "0.58", "95", "0.53", "0.65")
    assert text == snapshot
    assert says(text := phrase_figure(replace(turned, scope="worst_pair")), "men", "42 % less", "women", "0.58", "95", "0.53", "0.65")
    assert text == snapshot
    assert phrase_figure(replace(turned, upper=None)).endswith("women: a ratio of 0.58 (95 %: 0.00 to 0.65).")
    difference = replace(turned, metric="false_positive_rate_difference", value=0.3, lower=0.2, upper=0.4, limits=(-0.1, 0.1))
    assert phrase_figure(difference).endswith("At a disadvantage: men (reference).")
    assert says(text := phrase_figure(replace(difference, lower=-0.01)), "men", "reference")
    assert text == snapshot
    assert "disadvantage" not in phrase_figure(replace(difference, metric="error_rate_difference"))


def test_a_headline_says_of_how_many_it_was_chosen_and_why(snapshot: SnapshotAssertion) -> None:
    chosen = replace(FIGURE, worst_of=12, chosen_lower=0.5, chosen_upper=0.7)

    assert says(text := describe_choice(chosen), "12", "10", "0.500", "0.700")
    assert text == snapshot
    assert says(text := describe_choice(replace(chosen, value=0.9, verdict="fair")), "12", "10")
    assert text == snapshot
    assert says(text := describe_choice(replace(chosen, limits=(None, None), verdict=None)), "12", "10")
    assert text == snapshot
    assert describe_choice(replace(chosen, worst_of=1)) is None
    assert "its interval is 0.500 to open." in str(describe_choice(replace(chosen, chosen_upper=None)))
    assert describe_choice(FIGURE) is None
