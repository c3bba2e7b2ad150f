"""The forest of a deployment as it is read from the store."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.charts.forest import STRIP_CHECKS, Forest
from app.charts.forest_headline import NO_FIGURES, word_forest
from app.database.engine import Database
from app.domain.deployment import Endpoint
from app.domain.monitor import DisplayNames, GroupName
from app.statistics.intervals.verdicts import Verdict
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.forests import read_forest
from tests.builders.repeated_checks import repeat_check
from tests.builders.statements import counted
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import HOUR, NOON, Scene, scene

NAMES = DisplayNames(
    favourable="approved",
    groups=(GroupName(feature="sex", group="female", name="women"), GroupName(feature="sex", group="male", name="men")),
)


@pytest.fixture
def stage(database: Database) -> Iterator[Scene]:
    with serve(RuleScorer()) as server:
        yield scene(database, APPLICANT, monitor_of(SEX, AGE, intersections=(("sex", "age"),)), endpoint=Endpoint(url=server.url))


def look(stage: Scene, metric: str | None = None) -> Forest:
    with stage.database.transaction() as session:
        return read_forest(session, stage.deployment.no, now=NOON + 2 * HOUR, metric=metric)


def test_before_the_first_check_there_is_no_row(stage: Scene) -> None:
    assert look(stage).rows == ()
    assert word_forest(look(stage)).text == NO_FIGURES


def test_a_check_gives_a_row_for_each_group(stage: Scene) -> None:
    stage.log(applicants(20, 30, 6), NOON)
    stage.check(NOON)
    forest = look(stage)
    by_group = {row.group: row for row in forest.rows}

    assert set(by_group) == {"female", "18-35", "female × 18-35", "female × 36-75", "male × 18-35"}
    assert forest.rows[0].verdict is Verdict.UNFAIR
    assert by_group["female"].counterfactual is not None
    assert by_group["female × 18-35"].counterfactual is None
    assert (by_group["female"].n, by_group["female"].n_reference) == (30, 20)
    assert [point.verdict for point in by_group["female"].strip] == ["unfair"]


def test_names_change_the_words_and_not_the_version(stage: Scene) -> None:
    stage.log(applicants(20, 30, 6), NOON)
    stage.check(NOON)
    before = stage.monitor()
    stage.watch(replace(before, names=NAMES))
    named = stage.monitor()
    stage.watch(replace(named, min_records=11))

    assert named.names == NAMES
    assert named.version == before.version
    assert stage.monitor().version == before.version + 1
    lead = word_forest(look(stage)).lead
    assert re.search(r"women are approved \d+ % less", lead.lower()) or "the same records are approved" in lead


@pytest.mark.nightly
def test_a_strip_reads_the_newest_checks_only_in_a_fixed_number_of_statements(stage: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.watch(replace(monitor_of(SEX), metrics=("disparate_impact",)))

    def statements_after(earlier: int) -> int:
        stage.log(applicants(20, 12, 2, prefix=f"h{earlier}-"), NOON - earlier * HOUR)
        stage.check(NOON - earlier * HOUR)
        with counted(monkeypatch) as statements:
            look(stage)
        return len(statements)

    after_one = statements_after(0)
    newest = stage.check(NOON)
    repeat_check(stage, newest, [NOON - hours * HOUR for hours in range(1, STRIP_CHECKS + 2)])
    after_all = statements_after(STRIP_CHECKS + 2)
    forest = look(stage)
    (row,) = forest.rows

    assert len(row.strip) == STRIP_CHECKS
    assert forest.checks[0].at == NOON + HOUR
    assert row.strip[-1].check_id == forest.checks[0].id
    assert after_one == after_all
