"""The forest of a deployment: its rows, and its headline in every world."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from syrupy.assertion import SnapshotAssertion

from app.charts.forest_headline import NO_FIGURES, SHARED_RECORDS, ForestHeadline, word_forest
from app.domain.check import DataSet
from app.statistics.e_values.nulls import UnfairSide
from app.statistics.e_values.state_words import IntervalKind, State
from app.statistics.intervals.rate_estimates import Pairs
from app.statistics.intervals.verdicts import Verdict
from tests.builders.comparison_states import comparison_of
from tests.builders.forests import MONITOR, NAMED, NOW, checks_of, figure_of, forest_of, recent_of
from tests.builders.page_words import says

OF_YOUNG_WOMEN = {"attribute": "sex × age", "group": "female × 18-25"}
YOUNG_WOMEN = OF_YOUNG_WOMEN | {"reference": "male × 26-75"}


def headline_of(*figures: object, **more: object) -> ForestHeadline:
    return word_forest(forest_of(*figures, **more))  # type: ignore[arg-type]


def test_the_headline_is_one_sentence_in_the_names_of_the_monitor(snapshot: SnapshotAssertion) -> None:
    figure = figure_of(**YOUNG_WOMEN)
    recent = recent_of(figure, ["fair", "fair", *["unfair"] * 70])
    state = comparison_of(State.UNFAIR, attribute="sex × age", group="female × 18-25", since=datetime(2026, 11, 19, 7, tzinfo=UTC))
    found = headline_of(figure, monitor=NAMED, checks=checks_of(72), recent=recent, states=[state])

    assert says(
        found.text,
        "Women",
        "26",
        "No Risk",
        "74 % less",
        "men",
        "25",
        "0.26",
        "0.15–0.46",
        "unfair",
        "2026-11-19",
        "70",
        "72",
        "28",
        "fewer",
        "men",
        "25",
    )
    assert found.text == snapshot
    assert found.verdict is Verdict.UNFAIR


def test_without_names_the_headline_names_attribute_and_value(snapshot: SnapshotAssertion) -> None:
    single, several = headline_of(figure_of()), headline_of(figure_of(**YOUNG_WOMEN))

    assert says(single.lead, "sex", "female", "74 % less", "sex", "male")
    assert single.lead == snapshot
    assert says(several.lead, "sex", "female", "age", "18-25", "74 % less", "sex", "male")
    assert several.lead == snapshot
    fewer = "28 fewer favourable outcomes in this check than at the rate of records with sex male"
    assert single.parts == ("unfair in the only check", fewer)


def test_above_one_the_headline_is_about_the_reference(snapshot: SnapshotAssertion) -> None:
    found = headline_of(figure_of(2.0, lower=1.6, upper=2.5, counts=((80, 100), (20, 50)), shortfall=-40.0), monitor=NAMED)

    assert says(found.text, "Men", "No Risk", "50 % less", "women", "0.50", "0.40–0.62", "unfair")
    assert found.text == snapshot


def test_nothing_is_called_short_of_a_rate_that_is_reached() -> None:
    assert not any("fewer" in part for part in headline_of(figure_of(0.79, shortfall=0.3)).parts)


def test_a_counterfactual_figure_is_about_the_same_records(snapshot: SnapshotAssertion) -> None:
    logged, counterfactual = figure_of(0.9, "fair"), figure_of(0.12, data=DataSet.COUNTERFACTUAL, lower=0.06, upper=0.25)
    found = headline_of(logged, counterfactual, monitor=NAMED)

    assert says(found.lead, "women", "No Risk", "88 % less", "men")
    assert found.lead == snapshot
    assert says(found.text, "0.05–0.28", "unfair")
    assert found.text == snapshot
    assert says(found.note, "95", "2", "0.06–0.25")
    assert found.note == snapshot


def test_copies_of_an_attribute_that_the_model_does_not_see_are_not_called_the_same_records() -> None:
    checks = checks_of(1, unseen={"attributes_unseen_by_model": ["sex"]})
    found = headline_of(figure_of(0.12, data=DataSet.COUNTERFACTUAL), checks=checks)

    assert "same records" not in found.text
    assert "0.12" in found.lead


def test_inside_its_limits_nobody_is_at_a_disadvantage(snapshot: SnapshotAssertion) -> None:
    found = headline_of(figure_of(0.95, "fair", lower=0.85, upper=1.05), monitor=NAMED)
    some = headline_of(figure_of(0.95, "fair"), figure_of(0.1, "insufficient_data", group="x"), monitor=NAMED)

    assert says(found.text, "women", "No Risk", "5 % less", "men", "0.95", "0.85–1.05")
    assert found.text == snapshot
    assert says(some.lead, "women")
    assert some.lead == snapshot


def test_evidence_is_named_where_the_newest_check_is_fair(snapshot: SnapshotAssertion) -> None:
    found = headline_of(figure_of(0.95, "fair"), monitor=NAMED, states=[comparison_of(State.UNFAIR)])

    assert says(found.parts[0], "unfair", "2026-11-19 07:00")
    assert found.parts == snapshot


def test_what_is_as_old_as_the_first_counted_hour_may_be_older(snapshot: SnapshotAssertion) -> None:
    first = comparison_of(State.UNFAIR, since=NOW - timedelta(days=2), until=NOW, hours=48)
    nearly = comparison_of(State.UNFAIR, since=NOW - timedelta(days=1), earliest=NOW - timedelta(days=2), until=NOW, hours=48)
    later = comparison_of(State.UNFAIR, since=NOW - timedelta(days=1), until=NOW, hours=48)
    whole, almost, fair = (
        headline_of(*figures, states=[state]).parts
        for figures, state in (([figure_of()], first), ([figure_of()], nearly), ([figure_of(0.95, "fair")], first))
    )

    assert says(whole[0], "unfair", "2026-11-20")
    assert says(almost[0], "unfair", "2026-11-21")
    assert says(fair[0], "unfair", "2026-11-20")
    assert whole[1] == almost[1] == fair[1]
    assert whole[1] not in headline_of(figure_of(), states=[later]).parts
    assert [whole, almost, fair] == snapshot


def test_only_what_is_unfair_says_since_when_it_is(snapshot: SnapshotAssertion) -> None:
    fair = comparison_of(State.SHOWN_FAIR, data=DataSet.COUNTERFACTUAL, since=NOW - timedelta(days=3))
    unfair = comparison_of(State.UNFAIR, since=NOW - timedelta(days=1))
    found = headline_of(figure_of(0.95, "fair"), figure_of(0.95, "fair", data=DataSet.COUNTERFACTUAL), monitor=NAMED, states=[fair, unfair])

    assert says(found.parts[0], "unfair", "2026-11-21")
    assert found.parts == snapshot


def test_a_figure_has_one_state_whichever_limit_its_newest_value_is_beyond() -> None:
    above = comparison_of(State.UNFAIR, direction=UnfairSide.ABOVE, limit=1.25)
    found = headline_of(figure_of(), states=[above, comparison_of(State.UNDECIDED)])

    assert found.parts[:2] == ("state: unfair since 2026-11-19 07:00", "unfair in the only check")
    assert above.statement.sentence in found.windows[1]


def test_what_is_not_certain_is_not_called_certain(snapshot: SnapshotAssertion) -> None:
    found = headline_of(figure_of(0.7, "suspected", lower=0.5, upper=0.9), monitor=NAMED)

    assert found.parts[0] == snapshot


def test_too_few_records_and_figures_without_a_number_say_so(snapshot: SnapshotAssertion) -> None:
    few = headline_of(figure_of(0.5, "insufficient_data", counts=((2, 4), (5, 5))), monitor=NAMED)
    absent = headline_of(figure_of(None, "not_computable", reason="the reference rate is zero"), monitor=NAMED)

    assert says(few.text, "women", "4", "men", "5", "fewer", "10")
    assert few.text == snapshot
    assert says(absent.lead, "women", "reference")
    assert absent.lead == snapshot


def test_an_empty_deployment_and_a_metric_that_was_not_measured_say_so() -> None:
    assert headline_of(checks=[]).text == NO_FIGURES
    assert headline_of(metric="equal_opportunity_difference").lead.startswith("The check did not measure")


def test_a_stale_check_says_up_to_when_it_measured(snapshot: SnapshotAssertion) -> None:
    found = headline_of(figure_of(), now=NOW + timedelta(days=3))
    outdated = headline_of(figure_of(), checks=checks_of(1, monitor_version=7))

    assert says(found.parts[-1], "2026-11-22 12:00 UTC")
    assert found.parts[-1] == snapshot
    assert outdated.parts[-1] == snapshot


def test_other_metrics_keep_their_own_sentence(snapshot: SnapshotAssertion) -> None:
    one = figure_of(-0.4, metric="statistical_parity_difference", lower=-0.5, upper=-0.3, lower_limit=-0.1, upper_limit=0.1)
    found = headline_of(one, metric="statistical_parity_difference")

    assert says(found.lead, "100", "female", "26")
    assert found.lead == snapshot
    assert found.interval == ""


def test_the_interval_allows_for_the_choice_from_several_comparisons(snapshot: SnapshotAssertion) -> None:
    found = headline_of(figure_of(), figure_of(0.9, "fair", attribute="age", group="18-25", reference="26-75"), monitor=NAMED)

    # Both figures are as logged.
    assert says(found.note, "95", "2", "0.15–0.46")
    assert found.note == snapshot
    assert "0.15–0.46" not in found.interval


def test_a_figure_and_all_its_ends_have_equally_many_decimals() -> None:
    # An own end of 0.798 needs three decimals to lie on its own side of the limit; so has everything next to it.
    found = headline_of(
        figure_of(0.5, lower=0.36, upper=0.7979), figure_of(0.9, "fair", attribute="age", group="18-25", reference="26-75"), monitor=NAMED
    )
    numbers = re.findall(r"\d+\.\d+", f"{found.lead} {found.interval} {found.note}")

    assert "0.360–0.798" in found.note
    assert {len(number.partition(".")[2]) for number in numbers} == {3}


def test_the_interval_of_a_counterfactual_figure_allows_for_the_choice(snapshot: SnapshotAssertion) -> None:
    logged = figure_of(0.9, "fair")
    counterfactual = figure_of(
        0.4, data=DataSet.COUNTERFACTUAL, lower=0.31, upper=0.51, pairs=Pairs(both=40, monitored=0, reference=60, neither=50)
    )
    found = headline_of(logged, counterfactual, monitor=NAMED)

    assert says(found.note, "95", "2", "0.31–0.51")
    assert found.note == snapshot
    # 95 % for both at once: each end at 97.5 %.
    assert found.interval == "ratio 0.40 (0.30–0.53)"


def test_a_metric_that_has_a_sentence_of_its_own_has_the_interval_in_a_note(snapshot: SnapshotAssertion) -> None:
    of = {"metric": "statistical_parity_difference", "lower": -0.85, "upper": -0.6, "lower_limit": -0.1, "upper_limit": 0.1}
    found = headline_of(figure_of(-0.74, **of), figure_of(0.0, "fair", attribute="age", **of), metric=of["metric"])

    assert found.interval == ""
    assert re.search(r"\b2\b.* −0\.8\d+ to −0\.5\d+\.", found.note)
    assert found.note == snapshot


def test_a_fair_headline_allows_for_the_choice_as_well(snapshot: SnapshotAssertion) -> None:
    near = {"verdict": "fair", "lower": 0.8, "upper": 1.0, "counts": ((90, 100), (100, 100))}
    found = headline_of(figure_of(0.9, **near), figure_of(1.0, attribute="age", group="18-25", **near), monitor=NAMED)

    assert found.lead == snapshot
    assert says(found.note, "95", "2")
    assert found.note == snapshot


def test_the_records_of_the_check_and_the_state_are_said_next_to_the_headline(snapshot: SnapshotAssertion) -> None:
    unfair = comparison_of(State.UNFAIR, **OF_YOUNG_WOMEN)
    measured = replace(unfair, statement=replace(unfair.statement, interval=(0.42, None), interval_kind=IntervalKind.ONSET))
    check, all_hours = headline_of(figure_of(**YOUNG_WOMEN), monitor=NAMED, states=[measured]).windows

    assert says(check, "22 Nov", "12:00 UTC", "50", "women", "26", "100", "men", "25")
    assert check == snapshot
    assert unfair.statement.sentence in all_hours
    assert says(all_hours, "Unfair", "95 %", "since the onset", "0.42")
    assert all_hours == snapshot


def test_without_evidence_only_the_check_is_said(snapshot: SnapshotAssertion) -> None:
    counterfactual = figure_of(0.12, data=DataSet.COUNTERFACTUAL)

    assert len(headline_of(figure_of()).windows) == 1
    assert says(text := headline_of(counterfactual).windows[0], "50", "female", "100", "male")
    assert text == snapshot
    assert headline_of(checks=[]).windows == ()


def test_checks_that_share_records_are_not_counted_as_if_they_were_independent(snapshot: SnapshotAssertion) -> None:
    recent = recent_of(figure_of(), ["unfair", "unfair"])
    topped_up = headline_of(figure_of(), checks=checks_of(2, is_topped_up=True), recent=recent)
    alone = headline_of(figure_of(), checks=checks_of(1, is_topped_up=True))

    own = headline_of(figure_of(), checks=checks_of(2), recent=recent)

    assert {topped_up.parts[0], own.parts[0]} == {"unfair in 2 of 2 checks"}
    assert alone.parts[0] == "unfair in the only check"
    assert topped_up.windows[-1] == snapshot
    assert [SHARED_RECORDS in one.windows for one in (topped_up, own, alone)] == [True, False, False]


def test_the_gravest_row_is_first_and_of_equals_the_one_further_out() -> None:
    near, far = figure_of(0.7), figure_of(0.2, attribute="age", group="18-25")
    fair, few = figure_of(0.9, "fair", group="a"), figure_of(0.01, "insufficient_data", group="b")

    assert [row.group for row in forest_of(few, fair, near, far).rows] == ["18-25", "female", "a", "b"]


def test_a_row_has_both_figures_and_the_records_of_both_sides() -> None:
    (row,) = forest_of(figure_of(), figure_of(0.5, data=DataSet.COUNTERFACTUAL), monitor=NAMED).rows

    assert (row.name, row.reference_name, row.n, row.n_reference) == ("women", "men", 50, 100)
    assert [figure.measurement.data for figure in row.figures] == [DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL]
    assert row.leading is row.logged


def test_the_strip_has_a_place_for_each_check_since_the_first_figure() -> None:
    figure = figure_of()
    recent = [one for one in recent_of(figure, ["fair", "unfair", "fair", "unfair"]) if one.check_no not in {4, 2}]
    (row,) = forest_of(figure, checks=checks_of(4), recent=recent, monitor=MONITOR).rows

    assert [one.verdict for one in row.strip] == ["unfair", None, "unfair"]
    assert row.strip[-1].check_id == "check-1"
