"""A period is the sum of its checked hours: simulated logs whose every count is known."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from app.base.clock import floor_to_day
from app.base.errors import InvalidInput
from app.checks.days.corrected_hours import HourRecount
from app.checks.days.period import PartKey, PeriodSums, cut_to_hours, read_period
from app.database.engine import Database, arrow_reader
from app.domain.check import Span
from app.evidence.queries.hour_counts import count_logged
from tests.builders.applicants import APPLICANT, SEX, applicants, monitor_of
from tests.scenes import HOUR, NOON, Scene, scene

Rows = Sequence[dict[str, Any]]

PERIOD = Span(start=NOON, end=NOON + 6 * HOUR)


@pytest.fixture
def stage(database: Database) -> Scene:
    """A deployment without an endpoint, whose checks read at most 60 records and need 30."""
    return scene(database, APPLICANT, monitor_of(SEX, min_records=30, max_records=60), endpoint=None)


def read(stage: Scene, span: Span = PERIOD, *, zone: str = "UTC", days: int = 30) -> PeriodSums:
    now = span.end + timedelta(days=days)
    hours = cut_to_hours(span, now)
    with stage.database.transaction() as session, arrow_reader(stage.database) as reader:
        logged = count_logged(session, stage.deployment.no, hours)
        recount = HourRecount(reader=reader, deployment=stage.deployment, monitor=stage.monitor())
        return read_period(session, recount, hours, zone=ZoneInfo(zone), labels_until=floor_to_day(now), logged=logged)


def log(
    stage: Scene, hour: int, men: int, women: int, rich: int, *, revision: str | None = None, also: Sequence[dict[str, Any]] = ()
) -> None:
    prefix = f"{hour}-{revision}-"
    more = [{**row, "id": f"{prefix}also-{no}"} for no, row in enumerate(also)]
    stage.log([*applicants(men, women, rich, prefix=prefix), *more], NOON + hour * HOUR, revision=revision)


def test_every_hour_counts_once_with_what_is_left_out(stage: Scene) -> None:
    strange = {"sex": "female", "income": 1, "age": 30, "prediction": 7}
    unknown = {"sex": None, "income": 1, "age": 30, "prediction": 1}
    log(stage, 0, 20, 18, 7, also=[strange, strange, unknown])  # a check of its own
    log(stage, 1, 4, 6, 2)  # too few: topped up, with records of the hour before
    log(stage, 3, 40, 45, 20)  # beyond the newest 60
    log(stage, 4, 9, 9, 9)  # never checked
    for hour in (0, 1, 3):
        stage.check(NOON + hour * HOUR)
    stage.check(NOON + HOUR)  # asked for again: nothing counts twice
    stage.check(NOON, NOON + 4 * HOUR)  # a range is no hour
    found = read(stage)

    (part,) = found.parts
    assert (found.hours, found.checked, len(part.hours)) == (6, 3, 3)
    (of,) = part.comparisons
    (figure,) = of.figures
    left_out = {reason: int(cells.sum()) for reason, cells in of.records.left_out.items() if cells.any()}
    assert left_out == {"unclassified": 2, "no_group": 1, "beyond_newest": 25, "not_checked": 18}
    assert of.records.of == 41 + 10 + 85 + 18
    # Of the third hour the newest 60 count: the rows are logged in their order, men first.
    newest = applicants(40, 45, 20)[-60:]
    men = [row for row in newest if row["sex"] == "male"]
    women = [row for row in newest if row["sex"] == "female"]
    assert (figure.monitored.favourable, figure.monitored.n) == (7 + 2 + sum(row["prediction"] for row in women), 18 + 6 + len(women))
    assert (figure.reference.favourable, figure.reference.n) == (20 + 4 + sum(row["prediction"] for row in men), 20 + 4 + len(men))
    units = figure.units
    assert (found.unit, units.judged, units.few, units.empty) == ("hours", 2, 1, 3)
    assert of.records.text.count("in no check 18") == 1


def test_an_hour_with_too_few_records_for_figures_counts_too(stage: Scene) -> None:
    log(stage, 0, 9, 12, 3)
    assert stage.check(NOON).run.state.value == "insufficient_data"

    ((figure,),) = (of.figures for part in read(stage).parts for of in part.comparisons)
    assert (figure.monitored.favourable, figure.monitored.n, figure.reference.n) == (3, 12, 9)
    assert figure.smallest == 9


def test_revisions_and_versions_are_parts_that_are_never_added_up(stage: Scene) -> None:
    log(stage, 0, 20, 20, 5)
    stage.check(NOON)
    log(stage, 1, 15, 15, 3)
    log(stage, 1, 12, 14, 13, revision="2")
    stage.revise("2")
    stage.check(NOON + HOUR)
    log(stage, 2, 20, 30, 29, revision="2")
    stage.check(NOON + 2 * HOUR)
    stage.watch(monitor_of(SEX, min_records=20, max_records=60))
    log(stage, 3, 20, 10, 1, revision="2")
    stage.check(NOON + 3 * HOUR)
    stage.revise("3")
    stage.check(NOON + 4 * HOUR)  # nothing was logged for it yet
    found = read(stage)

    counts = {}
    for part in found.parts:
        ((figure,),) = (of.figures for of in part.comparisons)
        counts[part.key] = (len(part.hours), figure.monitored.favourable, figure.monitored.n, figure.reference.n)
    versions = [part.key.monitor_version for part in found.parts]
    assert versions == sorted(versions, key=lambda version: -(version or 0))
    first, second = versions[-1], versions[0]
    assert counts == {
        PartKey(second, "2"): (1, 1, 10, 20),
        PartKey(first, "2"): (2, 13 + 29, 14 + 30, 12 + 20),
        PartKey(first, "1"): (2, 5 + 3, 20 + 15, 20 + 15),
    }
    assert found.parts[0].key == PartKey(second, "2")
    left_out = found.parts[0].comparisons[0].records.left_out
    assert int(left_out["other_part"].sum()) == 40 + 30 + 26 + 50


def test_days_are_those_of_the_zone(stage: Scene) -> None:
    """Two hours on either side of midnight in Kolkata, which is half past in UTC."""
    midnight = NOON.replace(hour=18)
    for hour in (17, 18, 19):
        stage.log(applicants(20, 20, 20 if hour == 19 else 2, prefix=f"{hour}-"), NOON.replace(hour=hour))
        stage.check(NOON.replace(hour=hour))
    span = Span(start=midnight - timedelta(days=1) + HOUR / 2, end=midnight + timedelta(days=1) + HOUR / 2)
    units = {zone: read(stage, span, zone=zone).parts[0].comparisons[0].figures[0].units for zone in ("Asia/Kolkata", "UTC")}

    # The hour from 18 to 19 starts before midnight there.
    assert (units["Asia/Kolkata"].judged, units["Asia/Kolkata"].outside) == (2, 1)
    assert (units["UTC"].judged, units["UTC"].outside) == (1, 1)


def test_labels_count_by_the_hour_of_their_record_and_the_day_of_their_arrival(stage: Scene) -> None:
    rows = applicants(20, 20, 10, prefix="0-")
    stage.log(rows, NOON)
    stage.check(NOON)
    early, late = rows[:30], rows[30:]
    stage.label([(row["id"], row["prediction"]) for row in early], NOON + HOUR)
    stage.label([(row["id"], 1 - row["prediction"]) for row in late], NOON + timedelta(days=2))
    stage.check(NOON + HOUR)
    stage.check(NOON + timedelta(days=2))
    before, after = (read(stage, days=days).parts[0].comparisons[0] for days in (1, 3))

    assert before.labelled == {"female": (10, 20), "male": (20, 20)}
    assert after.labelled == {"female": (20, 20), "male": (20, 20)}
    (of_arrival,) = read(stage, Span(start=NOON + HOUR, end=NOON + 2 * HOUR)).parts
    assert (of_arrival.records, of_arrival.comparisons[0].labelled) == (0, {})


@pytest.mark.thorough
def test_the_ratio_of_a_period_holds_the_truth_as_often_as_it_says(stage: Scene) -> None:
    """Hours whose mix of groups differs: the ratio within hours is that of the world, the period's is not."""
    random = np.random.default_rng(5)
    monitor = monitor_of(SEX, min_records=10, max_records=1000)
    stage.watch(monitor)
    for hour in range(6):
        rate, women, men = (0.8, 60, 240) if hour % 2 else (0.2, 240, 60)
        rows = [("female", random.random() < rate * 0.9) for _ in range(women)] + [("male", random.random() < rate) for _ in range(men)]
        stage.log(
            [
                {"id": f"{hour}-{no}", "sex": sex, "income": 1, "age": 30, "prediction": int(favourable)}
                for no, (sex, favourable) in enumerate(rows)
            ],
            NOON + hour * HOUR,
        )
        stage.check(NOON + hour * HOUR)
    (figure,) = read(stage).parts[0].comparisons[0].figures

    assert figure.ratio is not None
    assert figure.within is not None
    assert figure.within.lower is not None
    assert figure.within.upper is not None
    assert figure.within.lower < 0.9 < figure.within.upper
    assert figure.ratio.upper is not None
    assert figure.ratio.upper < 0.9


def test_a_period_of_too_many_hours_is_refused() -> None:
    with pytest.raises(InvalidInput, match="20,000 hours"):
        cut_to_hours(Span(start=NOON - timedelta(days=1000), end=NOON), NOON)
