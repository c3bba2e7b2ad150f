"""How the pages of checks put figures and checks into words."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.checks.views.headlines import NOT_TOGETHER, list_headlines, summarize_headlines
from app.checks.views.view_shapes import Change, SubRange
from app.domain.check import CheckRun, CheckState, DataSet, Details, Measurement, Scope, Span, Trigger
from app.domain.monitor import Comparison
from app.pages.check_words import may_be_cancelled, name_scope, say_origin, write_amount, write_duration, write_span
from app.pages.deployment.forest_rows import build_figure_query
from app.pages.words import format_measurement, format_share, round_change

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
IMPACT = Measurement(
    metric="disparate_impact",
    data=DataSet.AS_LOGGED,
    scope=Scope.GROUP,
    comparison=Comparison(("sex",)),
    group="female",
    at=NOON,
    value=0.6,
    reason=None,
    lower=0.52,
    upper=0.7,
    interval_method="log_ratio",
    n=500,
    verdict="unfair",
    lower_limit=0.8,
    upper_limit=None,
    worst_of=1,
    details=Details(monitored="female", reference="male", monitored_counts={"n": 207}, reference_counts={"n": 293}),
)
CHECK = CheckRun(
    no=1,
    id="00000000-0000-0000-0000-000000000001",
    deployment_no=1,
    deployment_id="a-model",
    trigger=Trigger.REQUEST,
    state=CheckState.SUCCEEDED,
    span=Span(start=NOON, end=NOON + timedelta(hours=1)),
    attempts=1,
    lease_token=None,
    progress=None,
    reason=None,
    window={},
    created_at=NOON,
    started_at=NOON,
    finished_at=NOON,
    next_attempt_at=None,
    created_by="user:ada",
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.6, "0.60"),
        (0.796, "0.796"),
        (0.7999, "0.7999"),
        (0.8, "0.80"),
        (0.8 - 1e-12, "0.80"),
        (0.804, "0.804"),
        (0.997, "0.997"),
        (1.0, "1.00"),
        (0.0, "0.00"),
        (-0.0, "0.00"),
        (0.0004, "0.0004"),
        (3e-9, "3e-09"),
        (123456.0, "123,456.0"),
    ],
)
def test_a_number_is_never_rounded_across_a_limit_the_ideal_or_zero(value: float, shown: str) -> None:
    assert format_measurement(replace(IMPACT, value=value, lower=value, upper=value)).text == shown


def test_an_interval_has_as_many_digits_as_its_value_and_says_where_it_has_no_end() -> None:
    assert format_measurement(replace(IMPACT, value=0.75, lower=0.7, upper=0.803)).interval == "0.700 to 0.803"
    assert format_measurement(replace(IMPACT, upper=None)).interval == "0.52 and more"
    assert format_measurement(replace(IMPACT, lower=None)).interval == "up to 0.70"
    assert format_measurement(replace(IMPACT, lower=None, upper=None)).interval == "–"


def test_a_rate_reads_as_per_cent_and_a_count_as_a_count() -> None:
    rate = replace(IMPACT, metric="favourable_rate", value=0.468599, lower=0.4018, upper=0.5366, lower_limit=None)

    assert (format_measurement(rate).text, format_measurement(rate).interval) == ("46.9\u00a0%", "40.2 to 53.7\u00a0%")
    assert format_measurement(replace(rate, value=1.0, upper=1.0)).text == "100.0\u00a0%"


def test_both_accuracies_and_their_change_agree_as_they_are_shown() -> None:
    found = [
        replace(IMPACT, metric=f"{metric}_{when}", value=value, lower=value - 0.1, upper=value + 0.1, lower_limit=None, upper_limit=None)
        for metric in ("accuracy", "balanced_accuracy")
        for when, value in (("before", 0.3594), ("after", 0.8056), ("change", 0.4462))
    ]

    for three in (found[:3], found[3:]):
        shown = round_change(Change(before=three[0], after=three[1], change=three[2]))
        assert shown.after is not None
        assert shown.change is not None
        # With one digit, 80.6 less 35.9 would be 44.6.
        texts = [format_measurement(outcomes, shown.digits).text for outcomes in (shown.before, shown.after, shown.change)]
        assert texts == ["35.94\u00a0%", "80.56\u00a0%", "+44.62\u00a0points"]
    assert round_change(Change(before=found[0], after=None, change=None)).digits == 1


@pytest.mark.parametrize(
    ("value", "ends", "shown", "interval"),
    [
        (0.05, (0.01, 0.09), "+5.0\u00a0points", "+1.0 to +9.0\u00a0points"),
        (-0.0314, (-0.08, 0.02), "−3.1\u00a0points", "−8.0 to +2.0\u00a0points"),
        (0.0, (None, None), "0.0\u00a0points", "–"),
    ],
)
def test_a_change_of_the_accuracy_is_in_percentage_points_next_to_per_cents(
    value: float, ends: tuple[float | None, float | None], shown: str, interval: str
) -> None:
    change = replace(IMPACT, metric="accuracy_change", value=value, lower=ends[0], upper=ends[1], lower_limit=None, upper_limit=None)
    assert (format_measurement(change).text, format_measurement(change).interval) == (shown, interval)


def test_a_figure_without_a_value_keeps_its_reason() -> None:
    nothing = format_measurement(replace(IMPACT, value=None, lower=None, upper=None, reason="no record of female was classified"))

    assert (nothing.text, nothing.interval, nothing.reason) == ("–", "–", "no record of female was classified")


def test_the_share_of_a_sub_range_reads_as_those_of_groups_do() -> None:
    part = SubRange(label="20-21", favourable=1, unfavourable=3, unclassified=0, share=0.25, lower=0.0456, upper=0.6994, reason=None)

    assert format_share(part).text == "25.0\u00a0%"
    assert format_share(replace(part, share=None, lower=None, upper=None, reason="nobody")).reason == "nobody"


def test_the_address_of_a_figure_names_its_measurement_and_does_not_depend_on_the_check() -> None:
    blank = replace(IMPACT, scope=Scope.GROUP, comparison=Comparison(("a & b",)), group="")

    assert build_figure_query(IMPACT) == "metric=disparate_impact&data=as_logged&scope=group&attribute=sex&group=female"
    assert build_figure_query(blank) == "metric=disparate_impact&data=as_logged&scope=group&attribute=a+%26+b&group="
    assert build_figure_query(replace(IMPACT, value=0.9, at=NOON + timedelta(days=1))) == build_figure_query(IMPACT)


def test_the_summary_has_every_attribute_with_the_gravest_verdict_first() -> None:
    fair = {"verdict": "fair", "value": 0.95}
    measured = [
        replace(IMPACT, comparison=Comparison(("sex", "age"))),
        replace(IMPACT, comparison=Comparison(("age",)), **fair),
        IMPACT,
        replace(IMPACT, data=DataSet.COUNTERFACTUAL),
        replace(IMPACT, comparison=Comparison(("age",)), data=DataSet.COUNTERFACTUAL, **fair),
    ]

    found = list_headlines(measured)
    assert [one.attribute for one in found] == ["age", "sex", "sex × age"]
    assert summarize_headlines(found) == [
        ("unfair", ["sex (as logged, counterfactual)", "sex × age (as logged)"]),
        ("fair", ["age (as logged, counterfactual)"]),
    ]
    together = found[2].parts[1]
    assert (together.figure, together.absent) == (None, NOT_TOGETHER)


def test_a_headline_is_the_disparate_impact_and_without_it_a_figure_that_has_a_limit() -> None:
    free = replace(IMPACT, metric="favourable_rate", verdict=None)
    difference = replace(IMPACT, metric="statistical_parity_difference", value=-0.4)

    chosen = [list_headlines(those)[0].parts[0].figure for those in ([free, difference, IMPACT], [free, difference], [free])]
    assert [figure and figure.measurement.metric for figure in chosen] == [
        "disparate_impact",
        "statistical_parity_difference",
        "favourable_rate",
    ]
    assert [figure is not None and "a ratio of" in figure.sentence for figure in chosen] == [True, False, False]


def test_what_stays_with_everything_else_equal_is_said_of_one_group_and_its_ratio() -> None:
    equal = replace(IMPACT, data=DataSet.COUNTERFACTUAL, value=0.97, lower=0.9, upper=1.05)

    assert list_headlines((IMPACT, equal))[0].reading == "With everything else equal no gap is certain: 0.97 (0.90–1.05)."
    for other in ({"value": None}, {"group": "other"}):
        assert list_headlines((IMPACT, replace(equal, **other)))[0].reading is None
    difference = [replace(figure, metric="statistical_parity_difference") for figure in (IMPACT, equal)]
    assert list_headlines(difference)[0].reading is None


@pytest.mark.parametrize(
    ("start", "hours", "said"),
    [
        (NOON, 1, "2026-03-02 12:00 to 13:00 UTC"),
        (NOON + timedelta(hours=11), 1, "2026-03-02 23:00 to 24:00 UTC"),
        (NOON - timedelta(hours=12), 24, "2026-03-02 00:00 to 24:00 UTC"),
        (NOON, 24, "2026-03-02 12:00 to 2026-03-03 12:00 UTC"),
        (NOON, 36, "2026-03-02 12:00 to 2026-03-04 00:00 UTC"),
    ],
)
def test_a_span_is_told_in_utc_with_a_day_only_where_another_one_begins(start: datetime, hours: int, said: str) -> None:
    assert write_span(Span(start=start, end=start + timedelta(hours=hours))) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.24, "0.2 s"), (59.94, "59.9 s"), (59.96, "1 min 0 s"), (119.7, "2 min 0 s"), (3599.9, "1 h 0 min"), (7320, "2 h 2 min")],
)
def test_a_duration_is_told_in_units_that_fit(seconds: float, said: str) -> None:
    assert write_duration(replace(CHECK, finished_at=NOON + timedelta(seconds=seconds))) == said
    assert write_duration(replace(CHECK, finished_at=None)) is None


def test_where_a_check_comes_from_is_told_by_name() -> None:
    assert say_origin(CHECK, "ada") == "Asked for now by ada"
    assert say_origin(replace(CHECK, trigger=Trigger.SCHEDULE), "the schedule") == "An hourly check of the schedule"


def test_only_what_is_not_over_can_be_cancelled() -> None:
    assert not may_be_cancelled(CHECK)
    assert may_be_cancelled(replace(CHECK, state=CheckState.QUEUED))
    assert may_be_cancelled(replace(CHECK, state=CheckState.FAILED, next_attempt_at=NOON))
    assert not may_be_cancelled(replace(CHECK, state=CheckState.FAILED))
    assert not may_be_cancelled(replace(CHECK, state=CheckState.RUNNING, cancel_requested=True))


def test_the_subject_of_a_figure_is_named_in_few_words() -> None:
    assert name_scope(IMPACT) == "female"
    assert name_scope(replace(IMPACT, group="")) == "(blank)"
    assert name_scope(replace(IMPACT, scope=Scope.REFERENCE)) == "all reference"


def test_counts_behind_a_figure_keep_their_digits() -> None:
    assert [write_amount(value) for value in (12345, 78.91467, 9.47633951205507e-20, "two_proportion_z")] == [
        "12,345",
        "78.9147",
        "9.47634e-20",
        "two_proportion_z",
    ]
