from typing import Any

from app.base.values import Range
from app.database.engine import Database
from app.domain.deployment import ProblemType
from app.domain.monitor import Monitor, OutcomeRule
from tests.builders.applicants import APPLICANT, SEX
from tests.scenes import NOON, Scene, scene


def priced(database: Database) -> Scene:
    outcomes = OutcomeRule(favourable=(Range(0, 100),), unfavourable=(Range(100.5, 1000),))
    monitor = Monitor(outcomes=outcomes, attributes=(SEX,), min_records=10)
    return scene(database, APPLICANT, monitor, endpoint=None, problem_type=ProblemType.REGRESSION)


def quotes(prices: list[Any], sex: str) -> list[dict[str, Any]]:
    return [{"sex": sex, "income": 0, "age": 30, "prediction": price, "id": f"{sex}{no}"} for no, price in enumerate(prices)]


def test_numbers_are_favourable_by_closed_ranges_and_those_between_are_unclassified(database: Database) -> None:
    stage = priced(database)
    stage.log(quotes([100] * 6 + [100.5] * 4 + [100.2] * 3, "female") + quotes([0.0] * 9 + [1000] * 3, "male"), NOON)

    result = stage.check(NOON)

    assert result.value("favourable_rate", "as_logged", "sex", "female") == 0.6
    assert result.value("favourable_rate", "as_logged", "sex", "male") == 0.75
    assert result.run.window is not None
    assert result.run.window["unclassified_records"] == 3


def test_a_text_among_the_numbers_is_unclassified_and_breaks_nothing(database: Database) -> None:
    stage = priced(database)
    stage.log(quotes([50] * 10 + ["n/a"] * 2, "female") + quotes([50] * 10, "male"), NOON)

    result = stage.check(NOON)

    assert result.run.window is not None
    assert result.run.window["unclassified_records"] == 2
    assert result.value("disparate_impact", "as_logged", "sex", "female") == 1.0
