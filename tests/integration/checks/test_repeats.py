"""Models that answer the same record differently: what a check asks again, and what its figures say then."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from app.checks.days.measurement_queries import SeriesFilter, read_summed_tables
from app.checks.days.roll_up import Period, roll_up
from app.checks.views.explain_figure import list_statements
from app.database.engine import Database
from app.deployments.mitigation_queries import store_mitigation_settings
from app.domain.check import Trigger
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.mitigation import MitigationSettings, Mode
from app.domain.monitor import Limits, Monitor, MonitoredAttribute, OutcomeRule
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Scene, scene

SEX = Column(name="sex", type=FieldType.STRING, kind=FieldKind.CATEGORICAL)
INCOME = Column(name="income", type=FieldType.INTEGER, kind=FieldKind.NUMERIC)
WOMEN = MonitoredAttribute(
    feature="sex", monitored=("f",), reference=("m",), metric_limits=(("flip_rate", Limits(upper=0.05)),), threshold=0.8
)
MONITOR = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(WOMEN,), min_records=10, max_records=10_000)
SAYS = "The model gives other answers to the same record: "


class Tossing:
    """Knows the income alone, and tosses a coin for those from `low` on and below `high`."""

    def __init__(self, low: int = 30, high: int = 70) -> None:
        self.coin, self.low, self.high = Random(8), low, high

    def decide(self, income: int) -> int:
        return 0 if income < self.low else 1 if income >= self.high else self.coin.randint(0, 1)

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        return [(self.decide(row[columns.index("income")]), 0.5) for row in rows]


def people(model: Tossing, count: int, sexes: str = "fm", *, seed: int = 5, prefix: str = "r") -> list[dict[str, Any]]:
    chance = Random(seed)
    incomes = [chance.randint(0, 99) for _ in range(count)]
    return [
        {"id": f"{prefix}{no}", "sex": sexes[no % len(sexes)], "income": income, "prediction": model.decide(income)}
        for no, income in enumerate(incomes)
    ]


@pytest.fixture
def tossing() -> Tossing:
    return Tossing()


@pytest.fixture
def server(tossing: Tossing) -> Iterator[ModelServer]:
    with serve(tossing) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer) -> Scene:
    return scene(database, (SEX, INCOME), MONITOR, endpoint=Endpoint(url=server.url, concurrency=1))


def test_flips_are_those_beyond_repeats_and_mitigated_figures_have_no_verdict(stage: Scene, tossing: Tossing) -> None:
    with stage.database.transaction() as session:
        store_mitigation_settings(session, stage.deployment.no, MitigationSettings(mode=Mode.LIFT_ONLY))
    stage.log(people(tossing, 2000), NOON)

    found = stage.check(NOON)

    for group in ("f", "m"):
        flips = found.get("flip_rate", "counterfactual", "sex", group)
        assert flips.value is not None
        assert flips.lower is not None
        assert flips.upper is not None
        assert flips.lower < 0 < flips.upper
        assert abs(flips.value) < 0.1
        assert flips.verdict != "unfair"
        assert SAYS in (flips.details.caution or "")
        assert 0.1 < (flips.details.counts["repeats_gained"] + flips.details.counts["repeats_lost"]) / flips.details.counts["repeats"] < 0.3  # type: ignore[operator]
    assert found.get("flip_rate", "counterfactual", "sex", scope="attribute").details.counts["repeats"] == 100
    after = found.get("disparate_impact_after", "mitigated", "sex", "f")
    assert (after.verdict, SAYS in (after.details.caution or "")) == (None, True)
    assert "No verdict: the model gives other answers to the same record." in list_statements(after)
    assert "repeats alone would lift" in (after.details.caution or "")
    before = found.get("disparate_impact_before", "mitigated", "sex", "f")
    assert (before.verdict, before.details.caution) == ("fair", None)
    assert found.get("disparate_impact", "counterfactual", "sex", "f").verdict == "fair"


def test_the_check_and_the_sentence_of_flips_say_how_many_of_those_asked_again_differ(stage: Scene, tossing: Tossing) -> None:
    stage.log(people(tossing, 2000), NOON)
    found = stage.check(NOON)

    repeats = (found.run.window or {})["repeats"]
    flips = found.get("flip_rate", "counterfactual", "sex", scope="attribute")
    assert repeats["asked"] == 100
    assert 10 < repeats["differ"] < 30
    assert f"{SAYS}{repeats['differ']} of 100 differ; repeats alone would lift " in (flips.details.caution or "")


def test_a_check_without_calls_reads_the_repeats_of_earlier_ones_and_a_day_has_them(stage: Scene, tossing: Tossing) -> None:
    stage.log(people(tossing, 2000), NOON)
    first, again = stage.check(NOON), stage.check(NOON)

    with stage.database.transaction() as session:
        days = roll_up(
            read_summed_tables(session, stage.deployment.no, SeriesFilter(), outcomes=MONITOR.outcomes, limit=100),
            Period.DAY,
            stage.monitor(),
            MitigationSettings(),
        )
    mine = [found.get("flip_rate", "counterfactual", "sex", "f") for found in (first, again)]
    (day,) = (one.measurement for one in days if one.measurement.metric == "flip_rate" and one.measurement.group == "f")
    assert mine[0].value == mine[1].value == day.value
    assert mine[0].verdict == mine[1].verdict == day.verdict


@pytest.mark.parametrize("sexes", ["fmdxyz", pytest.param("fmmmmd", marks=pytest.mark.thorough)])
def test_a_record_is_asked_again_as_often_as_it_has_copies(stage: Scene, tossing: Tossing, sexes: str) -> None:
    stage.watch(replace(MONITOR, attributes=(replace(WOMEN, reference=tuple(sorted(set(sexes) - {"f"}))),)))
    stage.log(people(tossing, 3000, sexes), NOON)

    found = stage.check(NOON)

    flips = found.get("flip_rate", "counterfactual", "sex", "f")
    assert flips.value is not None
    assert flips.lower is not None
    assert flips.upper is not None
    # One copy differs in 0.2 of the records, one of so many in more.
    assert flips.lower < 0 < flips.upper
    assert flips.value == pytest.approx(0, abs=0.2)
    assert flips.verdict != "unfair"


@pytest.mark.thorough
def test_a_group_whose_answers_alone_vary_is_compared_with_its_own_repeats(stage: Scene, tossing: Tossing) -> None:
    women, others = people(tossing, 1000, "f"), people(tossing, 3000, "m", seed=6, prefix="m")
    men = [record for record in others if not 30 <= record["income"] < 70]  # of whom the model is sure
    stage.log([*women, *men[:1000]], NOON)

    found = stage.check(NOON)

    of_women, of_men = (found.get("flip_rate", "counterfactual", "sex", group) for group in "fm")
    assert of_women.verdict != "unfair"
    assert (of_men.value, of_men.verdict) == (0, "fair")
    assert "repeats alone would lift 0 of " in (of_men.details.caution or "")


@pytest.mark.thorough
def test_a_model_that_keeps_its_answers_is_asked_twenty_records_after_three_checks_and_nothing_else_changes(database: Database) -> None:
    steady = Tossing(50, 50)
    with serve(steady) as running:
        stage = scene(database, (SEX, INCOME), MONITOR, endpoint=Endpoint(url=running.url))
        calls = []
        for hour in range(5):
            running.counts.clear()
            stage.log(people(steady, 2000, prefix=f"{hour}-"), NOON + hour * HOUR)
            found = stage.check(NOON + hour * HOUR, trigger=Trigger.SCHEDULE)
            calls.append(running.counts.rows - 2000)
            stage.watch(replace(MONITOR, seed=hour))

    assert calls == [100, 100, 100, 20, 20]
    assert (found.run.window or {})["checks_with_equal_answers"] == 5
    flips = found.get("flip_rate", "counterfactual", "sex", "f")
    assert (flips.value, flips.verdict, flips.details.caution, "repeats" in flips.details.counts) == (0, "fair", None, False)
