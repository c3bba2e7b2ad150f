"""First pages of a regulator's report: the window of each figure, the part of the time that is drawn, and the name of its author."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.database.engine import Database
from app.domain.check import Span
from app.domain.deployment import Column, FieldKind, FieldType
from app.domain.monitor import MonitoredAttribute
from app.reports.authors import name_author
from app.reports.document import Document, ReportStamp
from app.reports.regulator.cover import WHOLE_PERIOD_NOTE, list_chapters
from app.reports.regulator.regulator_report import ReportOrder, read_content
from app.reports.regulator.sheets import PeriodSheet, SheetSelection
from tests.builders.applicants import monitor_of
from tests.builders.page_words import says
from tests.scenes import HOUR, NOON, Scene, SceneMemory, scene

COLUMNS = (Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),)
MONITOR = monitor_of(MonitoredAttribute(feature="sex", monitored=("Female",), reference=("Male",)))
YEAR = Span(start=NOON - timedelta(days=180), end=NOON + timedelta(days=180))
MADE = ReportStamp(at=datetime(2027, 1, 1, tzinfo=UTC), by="somebody")


def hour_of(name: str, *, women: int) -> list[dict[str, Any]]:
    """Returns 100 women, of whom so many have a favourable outcome, and 100 men with 50."""
    chosen = {"Female": women, "Male": 50}
    return [
        {"id": f"{name}-{sex}-{no}", "sex": sex, "prediction": int(no < favoured), "probability": [0.5, 0.5]}
        for sex, favoured in chosen.items()
        for no in range(100)
    ]


@pytest.fixture
def stage(database: Database, memory: SceneMemory) -> Iterator[Scene]:
    def make() -> Scene:
        made = scene(database, COLUMNS, MONITOR, endpoint=None)
        for hour, women in enumerate((10, 40)):
            made.log(hour_of(str(hour), women=women), NOON + hour * HOUR)
            made.check(NOON + hour * HOUR)
        return made

    return memory.recall(database, make)


def read(stage: Scene, *sheets: PeriodSheet, period: Span = YEAR) -> tuple[Document, dict[str, Any]]:
    content = read_content(
        stage.database, ReportOrder(deployment=stage.deployment, span=period, wanted=SheetSelection(sheets=sheets), made=MADE)
    )
    assert content.report is not None
    return content.document, dict(content.report)


def test_the_first_page_is_of_the_whole_period_and_says_so(stage: Scene) -> None:
    cover, report = read(stage, PeriodSheet.ADVERSE_IMPACT)
    assert cover.first is not None
    assert cover.first.table is not None

    # By hand: 50 of 200 women and 100 of 200 men in both hours.
    assert says(cover.first.headline, "Female (sex)", "Outside over the whole period (0.50", "without an alarm")
    assert cover.first.table.rows[0][:6] == ("Female (sex) *", "200", "50", "25.00 %", "50.00 %", "0.50")
    assert says(cover.first.notes[0], "hours that were checked", "every record of the period")
    (counted,) = [chapter for chapter in list_chapters(report) if WHOLE_PERIOD_NOTE in str(chapter)]
    assert "0.5000" in str(counted)


@pytest.mark.parametrize(
    ("period", "first", "last", "step"),
    [(YEAR, "Sep 2025", "Sep 2026", "day"), (Span(start=NOON - HOUR, end=NOON + 2 * HOUR), "11:00", "14:00", "hour")],
)
def test_the_axis_is_the_whole_period_however_little_of_it_was_checked(
    stage: Scene, period: Span, first: str, last: str, step: str
) -> None:
    cover, _ = read(stage, PeriodSheet.ALERTS, period=period)
    assert cover.second is not None

    ticks = re.findall(r">([^<>]+)</text>", cover.second.axis)
    assert (ticks[0], ticks[-1]) == (first, last)
    assert f"in the checks of one {step} (UTC)" in cover.second.time_notes[0]


@pytest.mark.parametrize(("days", "is_longer"), [(365, False), (366, True)])
def test_a_period_longer_than_a_year_is_a_caution_of_local_law_144(stage: Scene, days: int, *, is_longer: bool) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    cover, report = read(stage, PeriodSheet.LL144, period=Span(start=start, end=start + timedelta(days=days)))
    assert cover.first is not None
    cautions = cover.first.cautions

    assert any("longer than one year" in caution for caution in cautions) == is_longer
    assert any("longer than one year" in str(chapter) for chapter in list_chapters(report)) == is_longer


def test_the_author_is_named_and_a_key_keeps_its_id_on_the_second_page(stage: Scene) -> None:
    made = ReportStamp(at=MADE.at, by="k123", name="Night report")
    wanted = SheetSelection(sheets=(PeriodSheet.ALERTS,))
    document = read_content(stage.database, ReportOrder(deployment=stage.deployment, span=YEAR, wanted=wanted, made=made)).document
    assert document.second is not None

    assert made.author == "Night report"
    assert document.second.origin[0].value == "Night report, key k123"
    with stage.database.transaction() as session:
        assert [name_author(session, one) for one in ("user:Ada", "schedule", "unknown")] == ["Ada", "the schedule", ""]
