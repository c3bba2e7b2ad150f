"""The words of a state, a start and a guarantee."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.statistics.e_values.state_words import (
    EvidenceState,
    FigureFacts,
    RatesCompared,
    describe_figure,
    say_fact,
    say_guarantee,
    say_start,
)
from app.statistics.intervals.verdicts import Verdict

NOT_SAID = (
    ", if nobody has more than 10 records in an hour or comes back in another; who the records are of has not been said,"
    " so evidence counts at a tenth."
)
FACTS = FigureFacts(
    group="women",
    reference="men",
    outcome="are approved",
    rate="the favourable rate",
    is_ratio=True,
    lower_limit=0.8,
    upper_limit=None,
    verdict=Verdict.NOT_COMPUTABLE,
    evidence=EvidenceState.UNDECIDED,
)
SINCE = datetime(2026, 11, 19, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (0, 0, "2026-11-19 07:00"),
        (4, 3, "2026-11-19 07:00 (between 2026-11-19 03:00 and 10:00)"),
        (4, 20, "2026-11-19 07:00 (between 2026-11-19 03:00 and 2026-11-20 03:00)"),
        (4, 21, "about 2026-11-19 (between 2026-11-19 and 2026-11-20)"),
    ],
)
def test_a_start_whose_range_is_wider_than_a_day_names_no_hour(before: int, after: int, words: str) -> None:
    assert say_start(SINCE, SINCE - timedelta(hours=before), SINCE + timedelta(hours=after)) == words


@pytest.mark.parametrize(
    ("budget", "said", "words"),
    [
        (8760, {"by_person": True}, ", counting each person's first record only."),
        (8760, {"declared": ("Ann", "2026-11-28")}, ", if each record is another person, as declared by Ann on 2026-11-28."),
        (
            240,
            {},
            NOT_SAID,
        ),
    ],
)
def test_the_guarantee_names_its_condition(budget: float, said: dict[str, Any], words: str) -> None:
    times = "in 240 blocks" if budget == 240 else "a year"
    lead = f"At most one false alarm {times} on average for all 2 comparisons together (at most H/{budget:,} in any H hours)"

    assert say_guarantee(2, budget, **said) == lead + words


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((26, 2475, 2450, 10086), "women are approved 96 % less often than men (1.1 against 24 of 100)"),
        ((60, 100, 50, 100), "women are approved 20 % more often than men (60 against 50 of 100)"),
        ((50, 100, 50, 100), "women are approved as often as men (50 against 50 of 100)"),
        ((501, 1000, 500, 1000), "women are approved about as often as men (50 against 50 of 100)"),
        ((1, 100, 0, 100), "no record of men is favourable (1.0 against 0 of 100)"),
        ((0, 0, 5, 10), ""),
    ],
)
def test_a_ratio_says_both_rates(counts: tuple[int, int, int, int], words: str) -> None:
    compared = RatesCompared(monitored=counts[:2], reference=counts[2:])

    assert say_fact(FACTS, compared) == words
    assert say_fact(replace(FACTS, is_counterfactual=True), compared) == (f"with everything else equal, {words}" if words else "")


def test_a_difference_says_its_metric() -> None:
    facts = replace(FACTS, is_ratio=False, rate="the true positive rate")

    words = say_fact(facts, RatesCompared(monitored=(71, 100), reference=(80, 100)))

    assert words == "the true positive rate is 71 % for women and 80 % for men"


def test_a_leading_value_outside_is_suspected_though_the_hour_is_fair() -> None:
    hour = RatesCompared(monitored=(50, 100), reference=(50, 100), interval=(0.85, 1.2))
    chapter = RatesCompared(monitored=(300, 1000), reference=(500, 1000), interval=(0.5, None), since="5 Oct 2026")
    statement = describe_figure(replace(FACTS, verdict=Verdict.FAIR, hour=hour, chapter=chapter, more="about 900 more records"))

    assert (statement.row, statement.state, statement.interval_kind) == (9, "Suspected", "valid at every look")
    assert statement.sentence == (
        "Women are approved 40 % less often than men (30 against 50 of 100); the records since 5 Oct 2026 lie outside its limit,"
        " which is no evidence yet (about 900 more records). The ratio must be at least 0.8."
    )


@pytest.mark.parametrize(
    ("corrected", "words"),
    [(0, "past hours have changed since"), (1, "1 record was corrected since"), (2, "2 records were corrected since")],
)
def test_an_alert_under_review_says_what_changed_also_where_records_only_came_late(corrected: int, words: str) -> None:
    statement = describe_figure(replace(FACTS, is_alert_open=True, event="5 Oct 2026", corrected=corrected))

    assert statement.row == 2
    assert f"is open; {words}, and the evidence is below its threshold now." in statement.sentence
