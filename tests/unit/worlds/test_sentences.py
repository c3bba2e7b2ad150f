"""Every sentence on figures of simulated worlds is known, and true: as the API, alerts, reports and pages say it."""

from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from syrupy.assertion import SnapshotAssertion

from app.alerts.alert_facts import build_figure_facts
from app.checks.views.explain_figure import build_judged_figure, describe_limits, describe_measurement, explain, list_statements
from app.checks.views.headlines import list_headlines, word_figure
from app.domain.check import CheckRun, CheckState, DataSet, Measurement, Scope, Span, Trigger
from app.domain.groups import GroupWords
from app.domain.monitor import Limits
from app.reports.check_report import write_headline_section
from app.reports.document import Bullets
from app.statistics.intervals.verdicts import Verdict
from app.statistics.measures.worst_group import Disadvantaged
from tests.builders.page_words import says
from tests.examples import many
from tests.worlds import figures  # noqa: F401 - the first registers its sentences
from tests.worlds import truths as said
from tests.worlds.reading import Facts, UnknownSentenceError, read
from tests.worlds.world import NOON, GroupTruth, World, worlds

FAVOURED = World(
    (GroupTruth("women", "monitored", 90, 205, 100, 205), GroupTruth("men", "reference", 280, 60, 100, 160)), lower=0.8, upper=1.25
)
"""Of 600 women 410 are favoured, of 600 men 220: the reference gets it 46 % less often."""
HALF_WATCHED = World(FAVOURED.groups, lower=0.8, upper=None, others=(("statistical_parity_difference", Limits(lower=-0.1)),))
NOBODY = World((GroupTruth("women", "monitored", 0, 0, 0, 0), GroupTruth("men", "reference", 0, 0, 0, 0)), lower=0.8, upper=1.25)
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


def comparisons(world: World) -> list[Measurement]:
    """The figures that compare two sides by name, or that say why they do not."""
    return [figure for figure in world.measurements if figure.scope in {Scope.GROUP, Scope.POOLED, Scope.WORST_PAIR}]


@pytest.mark.nightly
@settings(max_examples=many(60))
@example(FAVOURED)
@example(HALF_WATCHED)
@example(NOBODY)
@given(worlds())
def test_every_sentence_on_every_figure_is_known_and_true(world: World) -> None:
    for comparison in comparisons(world):
        facts = Facts(world, comparison)
        read(" ".join((describe_measurement(comparison), *list_statements(comparison))), facts)
        if comparison.verdict not in {None, Verdict.NOT_COMPUTABLE}:
            read(describe_limits(comparison), facts)


@settings(max_examples=many(60))
@example(FAVOURED)
@example(HALF_WATCHED)
@given(worlds())
@pytest.mark.thorough
def test_who_is_at_a_disadvantage_is_whom_the_outcomes_favour_less_beyond_a_limit(world: World) -> None:
    for comparison in comparisons(world):
        facts, figure = Facts(world, comparison), build_judged_figure(comparison)
        if figure.disadvantaged is None:
            assert comparison.metric not in said.FAVOURED or comparison.verdict in {Verdict.INSUFFICIENT_DATA, Verdict.NOT_COMPUTABLE, None}
            continue
        lower, upper = said.both_limits(facts)
        value = said.true_value(facts)
        if not said.is_below(value, lower) and not said.is_above(value, upper):
            assert figure.disadvantaged is Disadvantaged.NOBODY
            assert figure.disadvantaged_group is None
        else:
            assert figure.disadvantaged_group == said.favoured_less(facts)


@settings(max_examples=many(40))
@example(HALF_WATCHED)
@given(worlds())
@pytest.mark.thorough
def test_no_figure_beyond_the_mirror_image_of_a_limit_is_called_fair(world: World) -> None:
    for comparison in comparisons(world):
        if comparison.verdict == Verdict.FAIR:
            facts = Facts(world, comparison)
            lower, upper = said.both_limits(facts)
            assert not said.is_below(said.true_value(facts), lower)
            assert not said.is_above(said.true_value(facts), upper)


@pytest.mark.nightly
@settings(max_examples=many(40))
@example(FAVOURED)
@example(HALF_WATCHED)
@given(worlds())
def test_alerts_reports_and_explanations_say_the_same_true_sentences(world: World) -> None:
    payload = [figure for figure in world.measurements if figure.data is DataSet.AS_LOGGED]
    for comparison in comparisons(world):
        facts = Facts(world, comparison)
        read(str(build_figure_facts(comparison, CHECK, in_a_row=1, since=NOON, names=GroupWords())["sentence"]), facts)
        explanation = explain(comparison)
        read(" ".join((explanation.sentence, *explanation.statements)), facts)
    for headline in list_headlines(payload):
        told = [part.figure for part in headline.parts if part.figure is not None]
        bullets = [block for block in write_headline_section(CHECK, {}, payload, of="of this check").blocks if isinstance(block, Bullets)]
        for figure, text in zip(told, bullets[0].items, strict=True):
            assert text.endswith(figure.text)
            read(figure.text if figure.measurement.value is not None else figure.sentence, Facts(world, figure.measurement))


def test_the_favoured_group_is_not_told_to_be_at_a_disadvantage_but_the_reference_is(snapshot: SnapshotAssertion) -> None:
    one = next(
        comparison for comparison in comparisons(FAVOURED) if comparison.metric == "disparate_impact" and comparison.worst_of is not None
    )

    told = word_figure(one)
    assert (told.disadvantaged, told.disadvantaged_group) == (Disadvantaged.REFERENCE, "men")
    assert says(told.text, "men", "reference", "46 % less", "women", "0.54")
    assert told.text == snapshot
    assert "worst" not in told.text


@pytest.mark.parametrize(
    "false",
    [
        "women is treated worst.",
        "women (reference) gets the favourable outcome 46 % less often than men: a ratio of 0.54 (95 %: 0.47 to 0.61).",
        "men (reference) gets the favourable outcome 54 % less often than women: a ratio of 0.54 (95 %: 0.47 to 0.60).",
        "men (reference) gets the favourable outcome 86 % more often than women: a ratio of 1.86 (95 %: 1.65 to 2.10).",
        "It is inside the limits (0.8 to 1.25), and so is its whole interval.",
        "The gap may be chance (p = 0.21).",
    ],
)
def test_the_reader_refuses_what_is_not_known_or_not_true(false: str) -> None:
    one = next(
        comparison for comparison in comparisons(FAVOURED) if comparison.metric == "disparate_impact" and comparison.scope is Scope.GROUP
    )

    with pytest.raises((UnknownSentenceError, AssertionError)):
        read(false, Facts(FAVOURED, one))
