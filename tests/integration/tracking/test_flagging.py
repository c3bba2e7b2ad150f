"""One look at many groups: the flags are those of the library on the same counts, and a month begins from nothing."""

from calendar import monthrange
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from app.domain.checks import DataSet, Span
from app.domain.monitors import EvidenceSettings
from app.evidence.monthly import weigh_period
from app.evidence.nulls import Limit, Scale
from app.evidence.selection import flag_groups
from app.store.database.engine import Database
from app.store.evidence.eras import find_era
from app.store.evidence.hours import CountedPlace, hours_between
from app.tracking.figures import DEFINITIONS
from app.tracking.flagging import Look, look_at_month
from app.tracking.series import RateSeries, read_series
from tests.builders.evidence_worlds import SEX, Logged, log, update, watched
from tests.scenes import HOUR, Scene

GROUPS = tuple("abcde")
FELL = {"b", "d"}
START = datetime.fromisoformat("2026-09-29T12:00:00+00:00")
OCTOBER = datetime.fromisoformat("2026-10-01T00:00:00+00:00")
LATER = EvidenceSettings(label_horizon_hours=48)


def many_groups(database: Database) -> Scene:
    """A deployment whose five groups are compared with men."""
    attribute = replace(SEX, monitored=GROUPS)
    return watched(database, attributes=(attribute,), evidence=LATER, metrics=("disparate_impact", "accuracy_difference"))


def falling(hours: int, *, first: int = 0) -> list[Logged]:
    """Hours of all groups alike until October, in which two of them are approved half as often."""
    rng = np.random.default_rng(14)
    found = []
    for number in range(first, first + hours):
        hour = START + number * HOUR
        for who, records in (*((group, 20) for group in GROUPS), ("male", 60)):
            rate = 0.3 if who in FELL and hour >= OCTOBER else 0.6
            approved = rng.random(records) < rate
            found += [Logged(hour, who, int(one), int(one), minute=int(rng.integers(60))) for one in approved]
    return found


def look(stage: Scene) -> Look:
    with stage.database.transaction() as session:
        found = look_at_month(session, stage.deployment.no)
    assert found is not None
    return found


def by_library(stage: Scene, one: str, limit: Limit, until: datetime) -> float:
    """The e-value of October that the library computes of the stored counts of disparate impact."""
    place, span = CountedPlace(DataSet.PAYLOAD, "sex"), Span(start=START, end=until)
    with stage.database.transaction() as session:
        era = find_era(session, stage.deployment.no, "1")
        assert era is not None
        counted = hours_between(session, era.no, place, span)
    (series,) = read_series(DEFINITIONS[0], counted, span, [one])
    assert isinstance(series, RateSeries)
    return weigh_period(series.hours, limit, start=(OCTOBER - START) // HOUR, period_hours=24 * monthrange(2026, 10)[1])


@pytest.mark.nightly
def test_the_flags_are_those_of_the_library_on_the_same_counts(database: Database) -> None:
    stage = many_groups(database)
    log(stage, falling(60), first_no=1)
    for hours in (20, 37, 38, 60):  # in several steps, one of which ends within the first hours of the month
        update(stage, START + hours * HOUR)
    found = look(stage)

    impact = [one for one in found.comparisons if one.metric == "disparate_impact"]
    for one in impact:
        limit = Limit(Scale.RATIO, one.direction, one.limit, 1.25 if one.limit < 1 else 0.8)
        assert one.e_value == pytest.approx(by_library(stage, one.group, limit, START + 60 * HOUR), rel=1e-9)
    e_values = [one.e_value for one in found.comparisons]
    assert [one.rank - 1 for one in found.comparisons if one.is_flagged] == flag_groups(e_values)
    assert {one.group for one in found.comparisons if one.is_flagged} == FELL
    assert (found.month, found.month_hours) == (OCTOBER, 744)
    assert (
        found.words
        == f"Of {len(impact) + 10} comparisons with counted hours, {found.flagged} are flagged, false discovery rate at most 5 %"
    )


def test_labels_belong_to_the_month_in_which_they_are_counted(database: Database) -> None:
    """Records of September whose labels are counted in October are evidence of October."""
    stage = many_groups(database)
    log(stage, falling(2), first_no=1)
    update(stage, START + 36 * HOUR)
    assert look(stage).month == datetime.fromisoformat("2026-09-01T00:00:00+00:00")
    assert look(stage).month_hours == 720

    update(stage, START + 60 * HOUR)
    found = look(stage)
    assert found.month == OCTOBER
    assert {one.e_value for one in found.comparisons if one.data is DataSet.PAYLOAD} == {0.0}
    assert any(one.e_value > 0 for one in found.comparisons if one.data is DataSet.FEEDBACK)


def test_before_the_first_hour_nothing_is_flagged(database: Database) -> None:
    stage = many_groups(database)

    assert look(stage).words == "No comparison has a counted hour yet, so none could be flagged."
    assert list(look(stage).comparisons) == []
