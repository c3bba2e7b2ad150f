"""Sentences about evidence are true in every state."""

import math
from dataclasses import replace
from datetime import timedelta

import pytest
from syrupy.assertion import SnapshotAssertion

from app.alerts.alert_facts import build_evidence_facts
from app.domain.check import DataSet
from app.domain.monitor import POOLED_GROUP, EvidenceSettings
from app.evidence.present_state import ComparisonState
from app.evidence.queries.eras import Era
from app.evidence.words import (
    DECLARE_PERSONS,
    FROM_FIRST_HOUR,
    NEARLY_FIRST_HOUR,
    NO_NEW_EVIDENCE,
    find_leading,
    list_remarks,
    note_first_hour,
    rank_gravity,
    say_comparison,
    sum_up,
)
from app.statistics.catalogue import CATALOGUE
from app.statistics.e_values.nulls import UnfairSide
from app.statistics.e_values.state_words import EvidenceState, State
from tests.builders.comparison_states import SINCE, UNTIL, comparison_of, evidence_of
from tests.builders.page_words import says

UNFAIR = comparison_of(State.UNFAIR)
FAIR = comparison_of(State.SHOWN_FAIR, direction=UnfairSide.ABOVE, limit=1.25)
SOON = comparison_of(State.UNDECIDED, more_hours=5)


OF_WOMEN = "Women get the favourable outcome 40 % less often than men"
SENTENCES = {
    f"Disparate impact of female (sex, as logged): {OF_WOMEN} since 2026-11-19 07:00.": UNFAIR,
    f"Disparate impact of female (sex, counterfactual): {OF_WOMEN}.": replace(SOON, data=DataSet.COUNTERFACTUAL),
    f"{CATALOGUE['accuracy_difference'].title} by sex (on labelled records): {OF_WOMEN}.": replace(
        SOON, group=None, data=DataSet.LABELLED, metric="accuracy_difference"
    ),
    f"Disparate impact of the monitored groups of sex together (as logged): {OF_WOMEN}.": replace(SOON, group=POOLED_GROUP),
    f"Disparate impact of female (sex, as logged): {OF_WOMEN}. A past hour has changed; a worker is about to compute this again.": (
        replace(SOON, is_stale=True)
    ),
    f"Disparate impact of female (sex, as logged): {OF_WOMEN} since 2026-11-19 07:00. The evidence would now be 20 of 17,520.": (
        replace(UNFAIR, log_evidence_now=math.log(20), log_threshold=math.log(17_520))
    ),
}


SENTENCES[f"{next(iter(SENTENCES))} {NO_NEW_EVIDENCE}"] = replace(UNFAIR, is_quiet=True)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_comparison_reads_as_a_sentence(sentence: str) -> None:
    assert say_comparison(SENTENCES[sentence]) == sentence


@pytest.mark.parametrize(
    ("comparisons", "sentence"),
    [
        ([], "The monitor has no limit that evidence can be collected on."),
        ([FAIR], "1 figure: 1 confirmed fair."),
        ([replace(FAIR, group="diverse"), replace(SOON, group="old"), UNFAIR], "3 figures: 1 unfair, 1 undecided, 1 confirmed fair."),
        ([replace(FAIR, group="diverse"), replace(SOON, direction=UnfairSide.ABOVE), UNFAIR], "2 figures: 1 unfair, 1 confirmed fair."),
    ],
)
def test_figures_are_summed_up_by_state(comparisons: list[ComparisonState], sentence: str) -> None:
    assert sum_up(comparisons) == sentence


def test_the_unfair_ones_come_first() -> None:
    assert sorted([FAIR, SOON, UNFAIR], key=rank_gravity) == [UNFAIR, SOON, FAIR]


COLLECTING = replace(SOON, evidence=EvidenceState.COLLECTING)
UNDER_REVIEW = replace(UNFAIR, evidence=EvidenceState.UNDECIDED)


@pytest.mark.parametrize(
    ("sides", "leading"),
    [([FAIR, UNFAIR], UNFAIR), ([FAIR, SOON], SOON), ([COLLECTING, SOON], SOON), ([SOON, UNDER_REVIEW], UNDER_REVIEW)],
)
def test_a_figure_is_as_the_first_of_its_limits(sides: list[ComparisonState], leading: ComparisonState) -> None:
    assert find_leading(sides) == leading


COUNTED = "Hours before 2026-11-20 09:00 UTC are counted."
NOT_SAID = [evidence_of().guarantee, DECLARE_PERSONS]


@pytest.mark.parametrize(
    ("era", "settings", "remarks"),
    [
        ({}, None, [COUNTED]),
        ({"counted_until": None}, None, ["No hour has been counted yet; a worker counts each hour after its end."]),
        ({"problem": "sex: is missing."}, None, [COUNTED, "No further hour is counted: sex: is missing."]),
        (
            {"starts_at": SINCE},
            None,
            [COUNTED, "Of model revision 2, hours from 2026-11-19 07:00 UTC on count."],
        ),
        (
            {},
            EvidenceSettings(person="customer"),
            [COUNTED, "Only the first record of each person counts; customer says whose record it is."],
        ),
        ({"late_labels": 1}, None, [COUNTED, "1 label arrived more than 720 hours after the record and does not count."]),
        (
            {"late_labels": 1200},
            EvidenceSettings(label_horizon_hours=5),
            [COUNTED, "1,200 labels arrived more than 5 hours after the record and do not count."],
        ),
    ],
)
def test_remarks_say_what_counts(era: dict[str, object], settings: EvidenceSettings | None, remarks: list[str]) -> None:
    evidence = evidence_of(settings=settings, **era)
    is_said = settings is not None and settings.person is not None
    condition = [] if "counted_until" in era else [evidence.guarantee] if is_said else NOT_SAID
    assert list(list_remarks(evidence)) == [*remarks, *condition]


@pytest.mark.parametrize(("hours", "is_first"), [(26, True), (27, False)])
def test_what_is_unfair_since_its_first_counted_hour_may_have_begun_earlier(hours: int, is_first: bool) -> None:  # noqa: FBT001 - a parameter
    """Nobody may read the beginning of the log as the day on which the model changed."""
    unfair, fair = (comparison_of(state, until=UNTIL, hours=hours) for state in (State.UNFAIR, State.SHOWN_FAIR))
    evidence = evidence_of(unfair)

    remark = "What is unfair since the first hour that was counted with this monitor and model revision may have been so before."
    assert (list(list_remarks(evidence)) == [COUNTED, remark, *NOT_SAID]) == is_first
    assert (FROM_FIRST_HOUR in str(build_evidence_facts(unfair, evidence)["sentence"])) == is_first
    assert list(list_remarks(evidence_of(fair))) == [COUNTED, *NOT_SAID]


@pytest.mark.parametrize(
    ("hours", "earliest", "note"),
    [(26, None, FROM_FIRST_HOUR), (27, None, None), (27, 27, NEARLY_FIRST_HOUR), (28, 27, None)],
)
def test_what_may_be_as_old_as_the_first_counted_hour_says_so(hours: int, earliest: int | None, note: str | None) -> None:
    """`earliest` is nearly as likely a start, in hours before the end."""
    start = None if earliest is None else UNTIL - timedelta(hours=earliest)
    unfair = replace(comparison_of(State.UNFAIR, until=UNTIL, hours=hours), earliest=start, latest=start and UNTIL - timedelta(hours=20))

    facts = build_evidence_facts(unfair, evidence_of(unfair))

    assert note_first_hour(unfair) == note
    assert facts["counted_from"] == (None if note is None else (UNTIL - timedelta(hours=hours)).isoformat())
    assert note is None or note in str(facts["sentence"])
    assert note_first_hour(replace(unfair, alarm_at=None)) is None


def test_figures_without_a_counted_hour_are_counted_apart(snapshot: SnapshotAssertion) -> None:
    counted = comparison_of(State.UNFAIR)
    absent, other = (replace(comparison_of(State.UNDECIDED), figure_id=None, group=group) for group in ("diverse", "old"))

    assert says(text := sum_up([counted, absent, other]), "3", "2", "1", "unfair", "2", "undecided")
    assert text == snapshot
    assert says(text := sum_up([absent, other]), "2", "2", "undecided")
    assert text == snapshot


def test_before_a_worker_has_counted_nothing_is_claimed(snapshot: SnapshotAssertion) -> None:
    assert list(list_remarks(replace(evidence_of(), era=Era(model_revision="2")))) == snapshot
