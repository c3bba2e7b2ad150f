"""Figures and gaps with the display names of their groups."""

from syrupy.assertion import SnapshotAssertion

from app.charts.series import rename_gap
from app.domain.groups import GroupWords
from app.domain.monitor import DisplayNames, GroupName
from app.evidence.attribution.attribution import AttributedGap, SideCounts
from app.evidence.attribution.words import say_gap
from tests.builders.page_words import says

NAMES = DisplayNames(groups=(GroupName(feature="age", group="18-25", name="aged 18–25"),))


def test_a_gap_is_said_of_people_where_a_name_only_describes_them(snapshot: SnapshotAssertion) -> None:
    young, old = SideCounts(label="18-25", favourable=40, records=100), SideCounts(label="26-75", favourable=60, records=100)
    gap = AttributedGap(features=("age",), monitored=young, reference=old, gap=-0.2)

    said = next(say_gap(rename_gap(GroupWords(NAMES), gap)))

    assert says(said, "100", "18–25", "40.0", "100", "26-75", "60.0", "−20.0")
    assert said == snapshot
