"""Which labels count in the accuracy before and after mitigation, and that a second look at the same window finds the same."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from app.database.engine import Database
from app.domain.deployment import Column, Endpoint, FieldKind, FieldType
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from tests.models.serving import ModelServer, serve
from tests.scenes import HOUR, NOON, Result, Scene, scene

COLUMNS = (
    Column(name="housing", type=FieldType.STRING, kind=FieldKind.CATEGORICAL),
    Column(name="income", type=FieldType.NUMBER, kind=FieldKind.NUMERIC),
)
HOUSING = MonitoredAttribute(feature="housing", monitored=("rent",), reference=("own",))
MALUS = {"rent": 20, "family": 10}


def score(housing: str, income: float) -> float:
    return (income - MALUS.get(housing, 0)) / 100


class Lender:
    """Good from an income of 50 on, of tenants from 70 on, and of those that live with family from 60 on."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        housing, income = list(columns).index("housing"), list(columns).index("income")
        return [(int(score(row[housing], row[income]) >= 0.5), None) for row in rows]


def applicants(housing: str, incomes: Sequence[int], prefix: str) -> list[dict[str, Any]]:
    return [
        {"id": f"{prefix}{income}", "housing": housing, "income": income, "prediction": int(score(housing, income) >= 0.5)}
        for income in incomes
    ]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serve(Lender()) as running:
        yield running


@pytest.fixture
def stage(database: Database, server: ModelServer) -> Scene:
    monitor = Monitor(outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)), attributes=(HOUSING,), min_records=1)
    return scene(database, COLUMNS, monitor, endpoint=Endpoint(url=server.url), probability=None)


def details(result: Result) -> dict[str, Any]:
    assert result.run.window is not None
    found: dict[str, Any] = result.run.window["mitigation"]["attributes"]["housing"]
    return found


def accuracies(result: Result, group: str) -> list[tuple[float | None, int]]:
    found = [result.get(f"accuracy_{when}", "mitigated_labelled", "housing", group) for when in ("before", "after")]
    return [(m.value, m.n) for m in found]


def left_out(result: Result, data: str) -> str:
    assert result.run.window is not None
    text: str = result.run.window["left_out"][data]["housing"]["text"]
    return text


def cells(result: Result) -> list[Any]:
    return [table.cells for table in result.tables if table.data == "mitigated_labelled"]


def test_labels_of_monitored_records_without_copies_are_left_out_whatever_was_predicted(stage: Scene) -> None:
    stage.log(applicants("rent", range(50, 90), "early"), NOON - HOUR)
    stage.log([*applicants("rent", range(50, 90), "late"), *applicants("own", range(40), "own")], NOON)
    # The model is right about all early tenants it accepts and wrong about all that it refuses.
    stage.label([(f"early{income}", 1) for income in range(50, 90)], NOON + HOUR / 2)

    result = stage.check(NOON)

    assert details(result)["labels_without_copies"] == 40
    assert result.get("accuracy_before", "mitigated_labelled", "housing", "rent").value is None
    assert left_out(result, "mitigated") == "All 80 records counted."
    assert left_out(result, "mitigated_labelled") == "0 of 40 records counted; left out: no outcome of this mitigation 40 (rent 40)."


def test_labels_with_features_of_their_own_count_the_same_in_every_check(stage: Scene) -> None:
    stage.log([*applicants("rent", range(50, 90), "late"), *applicants("own", range(40), "own")], NOON)
    stage.label([(f"late{income}", 1) for income in range(50, 90)], NOON + HOUR / 2)
    stage.label_features([{**row, "label": 1} for row in applicants("own", range(30, 70), "new")], NOON + HOUR / 2)

    first, second = stage.check(NOON), stage.check(NOON)

    assert details(first)["labels_of_other_revisions"] == 0
    assert first.get("accuracy_before", "mitigated_labelled", "housing", scope="overall").n == 80
    assert left_out(first, "mitigated_labelled") == "All 80 records counted."
    assert cells(first) == cells(second)


@pytest.mark.nightly
def test_labels_of_records_whose_copies_tell_nothing_count_with_their_own_outcome(stage: Scene) -> None:
    stage.watch(replace(stage.monitor(), attributes=(replace(HOUSING, reference=("own", "family")),)))
    # As many owners as people with family: from 50 to 59 their copies disagree, and no share is greater.
    stage.log(
        [*applicants("rent", range(50, 90), "late"), *applicants("own", range(40), "own"), *applicants("family", range(40), "f")], NOON
    )
    stage.label([(f"late{income}", 0) for income in range(50, 90)], NOON + HOUR / 2)

    first, second = stage.check(NOON), stage.check(NOON)

    assert (details(first)["undecided"], details(first)["labels_without_copies"]) == (10, 0)
    # Refused by 0 were 20; 10 of them, from 60 on, are lifted.
    assert accuracies(first, "rent") == [(0.5, 40), (0.25, 40)]
    assert cells(first) == cells(second)


def test_labels_of_records_with_a_part_of_their_copies_are_left_out(stage: Scene) -> None:
    stage.log([*applicants("rent", range(50, 90), "early"), *applicants("own", range(40), "o")], NOON - HOUR)
    stage.check(NOON - HOUR)
    stage.watch(replace(stage.monitor(), attributes=(replace(HOUSING, reference=("own", "family")),)))
    stage.log([*applicants("rent", range(50, 90), "late"), *applicants("family", range(40), "f")], NOON)
    stage.label([(f"early{income}", 0) for income in range(50, 90)], NOON + HOUR / 2)

    result = stage.check(NOON)

    assert details(result)["labels_without_copies"] == 40


@pytest.mark.thorough
def test_a_label_in_the_window_is_not_decided_by_what_was_stored_of_a_part_of_its_copies(stage: Scene) -> None:
    stage.log([*applicants("rent", range(50, 60), "late"), *applicants("own", range(40), "o"), *applicants("family", range(40), "f")], NOON)
    stage.label([(f"late{income}", 0) for income in range(50, 60)], NOON + HOUR / 2)
    stage.check(NOON)
    stage.watch(replace(stage.monitor(), attributes=(replace(HOUSING, reference=("own", "family")),)))

    first, second = stage.check(NOON), stage.check(NOON)

    # As an owner each would be accepted, with family none: a tie, of which the first half was stored before.
    assert accuracies(first, "rent") == [(1.0, 10), (1.0, 10)]
    assert cells(first) == cells(second)
