"""Our figures before and after mitigation beside those computed from the same records and their copies, in both modes.

The golden counterfactual figure is of one monitored value and the reference by themselves. Ours takes the copies of all monitored values
into the reference, as a perfect equality of the attribute: with several monitored values (Housing) the two differ, and the golden
one is ours of a table that holds that value and the reference alone. With one they are the same.
"""

import csv
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from app.statistics.group_labels import Role
from app.statistics.intervals.verdicts import Measured
from app.statistics.measures.perturbed_data import measure_mitigated, measure_mitigated_labelled
from app.statistics.tables.count_table import MitigatedLabelledCells
from app.statistics.tables.record_kinds import MitigatedCells
from tests.builders.results import found
from tests.contract.parity import CASES, DRAWS, EXACT, Found, golden_json, numbers, plain, records_of
from tests.golden import golden

Mode: TypeAlias = Literal["lift_only", "reference_substitution"]
Outcomes: TypeAlias = npt.NDArray[np.int64]

MODES: tuple[Mode, ...] = ("lift_only", "reference_substitution")
ATTRIBUTES = ((CASES[0], "sex"), (CASES[1], "Sex"), (CASES[1], "Housing"))


def test_every_attribute_of_the_golden_values_is_compared() -> None:
    assert {*ATTRIBUTES} == {(case, name) for case in CASES for name in golden_json(f"{case}/debias.json") if name != "note"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("case", "attribute"), ATTRIBUTES)
def test_payload_before_and_after_is_the_golden_one(case: str, attribute: str, mode: Mode) -> None:
    expected = golden_json(f"{case}/debias.json")[attribute]
    monitored = list(expected["before"]["payload_DI"])

    measured = measure_mitigated(_table(case, attribute, mode, monitored), seed=0, draws=DRAWS)

    found = numbers(measured)
    assert _of_groups(found, "disparate_impact_before", monitored) == pytest.approx(expected["before"]["payload_DI"], abs=EXACT)
    assert _of_groups(found, "disparate_impact_after", monitored) == pytest.approx(expected[mode]["payload_DI"], abs=EXACT)
    changed = {name: _pooled_count(measured, f"{name}_rate", name) for name in ("changed", "lifted", "lowered")}
    assert changed == {
        "changed": expected[mode]["changed_rows"],
        "lifted": expected[mode]["unfavorable_to_favorable"],
        "lowered": expected[mode]["favorable_to_unfavorable"],
    }
    assert _pooled_count(measured, "changed_rate", "n") == expected["n_monitored"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("case", "attribute"), ATTRIBUTES)
def test_counterfactual_before_and_after_is_the_golden_one(case: str, attribute: str, mode: Mode) -> None:
    expected = golden_json(f"{case}/debias.json")[attribute]

    for value in expected["before"]["balanced"]:
        found = numbers(measure_mitigated(_table(case, attribute, mode, [value]), seed=0, draws=DRAWS))

        before, after = (plain(found[f"counterfactual_disparate_impact_{side}", "group", value]) for side in ("before", "after"))
        assert before == pytest.approx(expected["before"]["balanced"][value], abs=EXACT)
        assert after == pytest.approx(expected[mode]["balanced"][value], abs=EXACT)


@pytest.mark.parametrize(("case", "attribute"), ATTRIBUTES)
def test_counterfactual_before_of_each_of_all_monitored_values_is_that_of_the_value_alone(case: str, attribute: str) -> None:
    expected = golden_json(f"{case}/debias.json")[attribute]["before"]["balanced"]

    found = numbers(measure_mitigated(_table(case, attribute, "lift_only", list(expected)), seed=0, draws=DRAWS))

    for value, fairness in expected.items():
        assert plain(found["counterfactual_disparate_impact_before", "group", value]) == pytest.approx(fairness, abs=EXACT)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("case", "attribute"), ATTRIBUTES)
def test_accuracy_before_and_after_is_the_golden_one(case: str, attribute: str, mode: Mode) -> None:
    expected = golden_json(f"{case}/debias.json")[attribute]
    actual, (before, after) = records_of(case).actual, _outcomes(case, attribute, mode)
    table = MitigatedLabelledCells.from_records(
        (),
        np.full(actual.size, -1),
        actual=actual,
        before=before,
        after=after,
        correct_before=(before == actual).astype(np.int64),
        correct_after=(after == actual).astype(np.int64),
    )

    found = numbers(measure_mitigated_labelled(table, seed=0, draws=DRAWS))

    for name in ("accuracy", "balanced_accuracy"):
        figures = {part: plain(found[f"{name}_{part}", "overall", None]) for part in ("before", "after", "change")}
        assert figures["before"] == pytest.approx(expected["before"][name], abs=EXACT)
        assert figures["after"] == pytest.approx(expected[mode][name], abs=EXACT)
        assert figures["change"] == pytest.approx(expected[mode][name] - expected["before"][name], abs=EXACT)


def _reference(case: str, attribute: str) -> str:
    (reference,) = golden_json(f"{case}/openscale.json")[attribute]["config"]["reference"]
    return str(reference)


def _copies(case: str, attribute: str) -> dict[str, dict[str, int]]:
    """The outcome of each copy, by the record's id and the value it was changed to."""
    copies: dict[str, dict[str, int]] = {}
    with (golden(case) / "perturbed.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["attribute"] == attribute:
                copies.setdefault(row["row_id"], {})[row["perturbed_value"]] = int(row["prediction"])
    return copies


def _outcomes(case: str, attribute: str, mode: Mode) -> tuple[Outcomes, Outcomes]:
    """The outcome of each record before and after: as reference is its only copy into the one reference value."""
    records, reference, copies = records_of(case), _reference(case, attribute), _copies(case, attribute)
    values, ids = records.columns[attribute], records.columns["row_id"]
    before = records.predicted
    as_reference = np.array(
        [own if value == reference else copies[row][reference] for row, value, own in zip(ids, values, before, strict=True)]
    )
    return before, np.maximum(before, as_reference) if mode == "lift_only" else as_reference


def _table(case: str, attribute: str, mode: Mode, monitored: Sequence[str]) -> MitigatedCells:
    """The records of these values and of the reference; those of other values are in no group, and their copies are not counted."""
    records, reference, copies = records_of(case), _reference(case, attribute), _copies(case, attribute)
    before, after = _outcomes(case, attribute, mode)
    groups: list[tuple[str, Role]] = [*((value, "monitored") for value in monitored), (reference, "reference")]
    labels = [label for label, _ in groups]
    codes = np.array([labels.index(value) if value in labels else -1 for value in records.columns[attribute]])
    classified, copies_before, copies_after = np.zeros((3, codes.size, len(groups)), np.int64)
    for record, (row, code) in enumerate(zip(records.columns["row_id"], codes, strict=True)):
        own_is_reference = code == len(monitored)
        for value, outcome in copies[row].items():
            if value not in labels or (value == reference) == own_is_reference:
                continue
            place = labels.index(value)
            classified[record, place], copies_before[record, place] = 1, outcome
            # A copy of a reference record is held against the record it was made of; a copy into the reference stays.
            copies_after[record, place] = _mitigated(outcome, int(before[record]), mode) if own_is_reference else outcome
    return MitigatedCells.from_records(
        groups,
        codes,
        before=before,
        after=after,
        copies_classified=classified,
        copies_before=copies_before,
        copies_after=copies_after,
    )


def _mitigated(own: int, as_reference: int, mode: Mode) -> int:
    return max(own, as_reference) if mode == "lift_only" else as_reference


def _of_groups(found: Found, metric: str, labels: Sequence[str]) -> dict[str, float]:
    return {label: plain(found[metric, "group", label]) for label in labels}


def _pooled_count(measured: Sequence[Measured], metric: str, name: str) -> Any:  # noqa: ANN401 - a detail
    known: Mapping[str, Any] = found(measured, metric, "pooled").details.to_json()
    return known[name]
