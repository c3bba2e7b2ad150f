"""The small pictures of a row say what its words say."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from app.base.clock import HOUR
from app.checks.advice.deployment_facts import ComparedGroups
from app.domain.check import DataSet
from app.overview.judge import WorstGroup
from app.overview.queries import TrendPoint
from app.pages.overview_page import GLYPH_WIDTH, draw_glyph, draw_trend
from tests.builders.page_words import says

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
WORST = WorstGroup(
    metric="disparate_impact",
    data=DataSet.AS_LOGGED,
    attribute="sex",
    group="female",
    value=0.5,
    lower=0.25,
    upper=1.0,
    n=100,
    verdict="suspected",
    reason=None,
    lower_limit=0.8,
    upper_limit=1.25,
    beyond=0.4,
    measured_at=NOON,
    carried_forward=False,
    check_id="c",
    compared=ComparedGroups(reference="male", monitored_records=50, reference_records=50, reference_favourable=20),
)


def test_places_are_those_of_one_logarithmic_scale() -> None:
    drawn = draw_glyph(WORST)

    assert drawn is not None
    assert (drawn.value, drawn.equal, drawn.interval) == (GLYPH_WIDTH / 4, GLYPH_WIDTH / 2, (0.0, GLYPH_WIDTH / 2))
    assert drawn.fair[0] < drawn.equal < drawn.fair[1]
    assert drawn.equal - drawn.fair[0] == pytest.approx(drawn.fair[1] - drawn.equal, abs=0.2)


def test_a_lone_limit_ends_the_band_on_both_sides() -> None:
    drawn = draw_glyph(replace(WORST, upper_limit=None))

    assert drawn is not None
    assert drawn.equal - drawn.fair[0] == pytest.approx(drawn.fair[1] - drawn.equal, abs=0.2)


@pytest.mark.parametrize(("value", "low", "high"), [(0.0, True, False), (0.25, False, False), (4.0, False, False), (9.0, False, True)])
def test_what_is_beyond_the_scale_is_drawn_as_an_arrow(value: float, *, low: bool, high: bool) -> None:
    drawn = draw_glyph(replace(WORST, value=value))

    assert drawn is not None
    assert (drawn.beyond_low, drawn.beyond_high) == (low, high)


def test_the_interval_is_the_one_that_the_words_show_and_an_open_end_reaches_to_the_end_of_the_scale() -> None:
    chosen, open_ended = draw_glyph(replace(WORST, lower=0.5, upper=2.0)), draw_glyph(replace(WORST, upper=None))

    assert chosen is not None
    assert open_ended is not None
    assert chosen.interval == (GLYPH_WIDTH / 4, 3 * GLYPH_WIDTH / 4)
    assert open_ended.interval == (0.0, GLYPH_WIDTH)


@pytest.mark.parametrize("worst", [replace(WORST, value=None), replace(WORST, metric="statistical_parity_difference")])
def test_what_is_no_ratio_or_has_no_value_has_no_place_on_the_scale(worst: WorstGroup) -> None:
    assert draw_glyph(worst) is None


def points(*verdicts: str | None) -> list[TrendPoint]:
    return [
        TrendPoint(at=NOON + hour * HOUR, value=1.0, verdict=verdict, lower_limit=0.8, upper_limit=None, lower=0.9, upper=1.1)
        for hour, verdict in enumerate(verdicts)
    ]


def test_a_trend_counts_its_verdicts_in_words(snapshot: SnapshotAssertion) -> None:
    drawn = draw_trend(WORST, points("fair", "unfair", "unfair", None, "insufficient_data"), name="sex: female", height=28)

    assert drawn is not None
    assert says(drawn.words, "5", "sex", "female", "1", "fair", "2", "unfair", "1", "1")
    assert drawn.words == snapshot
    assert dict(drawn.picture.bars).keys() == {"fair", "unfair", "none", "insufficient_data"}
    assert len(drawn.picture.places) == 5


def test_a_trend_of_one_check_and_of_none(snapshot: SnapshotAssertion) -> None:
    drawn = draw_trend(WORST, points("fair"), name="sex: female", height=28)

    assert drawn is not None
    assert says(drawn.words, "sex", "female", "1", "fair")
    assert drawn.words == snapshot
    assert draw_trend(WORST, [], name="sex: female", height=28) is None
