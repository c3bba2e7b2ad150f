"""Causes of a gap: each row of the golden values, and worlds in which the cause is known."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from app.evidence.attribution.attribution import RevisionBoundary
from app.evidence.cause_words import CauseNames, say_cause
from app.evidence.causes import NOT_SEEN, CauseFigures, GapCause, LabelQuality, RateChange, recognise_causes
from app.statistics.attribution.cell_parts import count_cells, explain_change_of_gap
from app.statistics.intervals.rate_estimates import RATIO
from app.statistics.sentences.everything_equal import Ratio, say_everything_equal
from tests.golden import golden

RECORDS = 6_000
NAMES = CauseNames(
    attribute="sex",
    group="women",
    reference="men",
    boundary=RevisionBoundary(before="1", after="2", at=datetime(2026, 11, 24, 20, tzinfo=UTC)),
    remarks={GapCause.FEW_DATA: "Too few records to tell."},
)
FloatArray = npt.NDArray[np.float64]


def golden_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(golden("A9_accountability.json").read_text(encoding="utf-8"))["causes"]
    return rows


def test_each_golden_row_has_its_causes() -> None:
    rows = golden_rows()
    found = {row["case"]: [cause.value for cause in recognise_causes(msgspec.convert(row["inputs"], CauseFigures))] for row in rows}

    assert found == {row["case"]: row["shown"] for row in rows}
    assert {cause for causes in found.values() for cause in causes} == set(GapCause)


@dataclass(frozen=True)
class People:
    """Who applied, and the points that the model gives them; at 0 and more it says yes."""

    is_woman: npt.NDArray[np.bool_]
    income: FloatArray
    points: Callable[[npt.NDArray[np.bool_], FloatArray], FloatArray]

    def is_favourable(self, *, as_woman: bool | None = None) -> npt.NDArray[np.bool_]:
        is_woman = self.is_woman if as_woman is None else np.full(len(self.income), as_woman)
        return self.points(is_woman, self.income) >= 0

    @property
    def rates(self) -> tuple[float, float]:
        answers = self.is_favourable()
        return float(answers[self.is_woman].mean()), float(answers[~self.is_woman].mean())


def apply(seed: int, *, sex: float = 0.0, women: float = 0.0, men: float = 0.0) -> People:
    """`sex` are the points that the model takes from women; incomes of women and men are so much higher."""
    rng = np.random.default_rng(seed)
    is_woman = np.arange(RECORDS) % 2 == 0
    luck = rng.normal(size=RECORDS)
    return People(
        is_woman,
        rng.normal(size=RECORDS) + np.where(is_woman, women, men),
        lambda flags, income: income + 0.3 * luck - sex * flags,
    )


def compare(part: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> Ratio:
    interval = RATIO.interval(part.sum(), len(part), other.sum(), len(other), 1.96)
    return float(part.mean() / other.mean()), interval.lower, interval.upper


def figures_of(people: People, before: People | None = None) -> CauseFigures:
    answers = people.is_favourable()
    change = None
    if before is not None:
        incomes = np.concatenate([before.income, people.income])
        of_women = np.concatenate([before.is_woman, people.is_woman])
        is_late = np.arange(2 * RECORDS) >= RECORDS
        places = [np.flatnonzero((of_women == flag) & (is_late == late)) for flag in (True, False) for late in (False, True)]
        cells = count_cells(incomes, np.concatenate([before.is_favourable(), answers]), places)
        parts = explain_change_of_gap(*cells).of_log_ratio
        assert parts is not None
        change = RateChange(before=before.rates, after=people.rates, who={"income": parts.who_asked})
    return CauseFigures(
        state="unfair",
        smallest=RECORDS // 2,
        logged=compare(answers[people.is_woman], answers[~people.is_woman]),
        counterfactual=compare(people.is_favourable(as_woman=True), people.is_favourable(as_woman=False)),
        change=change,
    )


@pytest.mark.parametrize("direction", [1.0, -1.0], ids=["at a disadvantage", "favoured"])
@pytest.mark.parametrize("seed", range(5))
def test_a_known_cause_is_recognised_and_its_sentence_is_true(seed: int, direction: float) -> None:
    fair = apply(seed)
    by_sex = figures_of(apply(seed + 100, sex=0.8 * direction))
    by_income = figures_of(apply(seed + 100, women=-0.8 * direction))
    by_both = figures_of(apply(seed + 100, sex=0.5 * direction, women=-0.5 * direction))

    assert recognise_causes(by_sex) == (GapCause.ATTRIBUTE_ITSELF,)
    assert say_cause(GapCause.ATTRIBUTE_ITSELF, by_sex, NAMES).startswith("With everything else equal the gap stays: ")
    assert recognise_causes(by_income) == (GapCause.PROXY,)
    assert say_cause(GapCause.PROXY, by_income, NAMES) == (
        "With everything else equal all of the gap goes: it comes through other features, in which the groups differ."
    )
    assert set(recognise_causes(by_both)) == {GapCause.ATTRIBUTE_ITSELF, GapCause.PROXY}
    shares = [int(say_cause(cause, by_both, NAMES).split(" %")[0].split()[-1]) for cause in (GapCause.ATTRIBUTE_ITSELF, GapCause.PROXY)]
    assert sum(shares) == pytest.approx(100, abs=1)
    others_apply = figures_of(apply(seed + 100, women=-0.8 * direction), fair)
    assert recognise_causes(others_apply) == (GapCause.WHO_APPLIES, GapCause.PROXY)
    men_change = figures_of(apply(seed + 100, men=0.8 * direction), fair)
    assert recognise_causes(men_change) == (GapCause.REFERENCE_CHANGED, GapCause.PROXY)
    new_model = replace(figures_of(apply(seed + 100, sex=0.8 * direction), fair), revision_boundary=True)
    assert recognise_causes(new_model) == (GapCause.MODEL_CHANGED, GapCause.ATTRIBUTE_ITSELF)
    assert "goes with who applied: another mix of income" in say_cause(GapCause.WHO_APPLIES, others_apply, NAMES)
    rates = [f"{100 * rate:.1f}" for rate in (fair.rates[1], men_change.change.after[1])] if men_change.change else []
    assert f"that of men moved from {rates[0]} to {rates[1]} %" in say_cause(GapCause.REFERENCE_CHANGED, men_change, NAMES)
    assert "caused" not in say_cause(GapCause.MODEL_CHANGED, new_model, NAMES)


def test_few_records_are_not_called_a_finding() -> None:
    """A counterfactual interval that holds 1 is no proof that the attribute carries nothing."""
    open_figures = CauseFigures(state="unfair", smallest=40, logged=(0.5, 0.3, 0.7), counterfactual=(0.6, 0.3, 1.2))

    assert recognise_causes(open_figures) == (GapCause.PROXY,)
    sentence = say_cause(GapCause.PROXY, open_figures, NAMES)
    assert sentence == "With everything else equal no gap is certain: 0.60 (0.30–1.20). Some may stay: more records would show it."


def test_nothing_is_said_of_what_nobody_measured() -> None:
    unknown = CauseFigures(state="unfair", logged=(0.5, 0.3, 0.7))

    assert recognise_causes(unknown) == ()
    assert say_everything_equal(unknown.logged, None) == say_everything_equal(None, (0.5, 0.3, 0.7)) == ""
    assert recognise_causes(CauseFigures(state="no data")) == ()


def test_a_model_that_does_not_see_the_attribute_is_said_so() -> None:
    unseen = CauseFigures(state="unfair", logged=(0.5, 0.3, 0.7), counterfactual_reason=NOT_SEEN)

    assert say_cause(GapCause.PROXY, unseen, replace(NAMES, drivers=("income", "area"))) == (
        "The model does not see sex: the gap comes through income and area, in which the groups differ."
    )


@pytest.mark.parametrize(
    ("counterfactual", "sentence"),
    [
        ((0.57, 0.5, 0.65), "With everything else equal the gap stays: 0.57 (0.50–0.65)."),
        ((0.97, 0.9, 1.05), "With everything else equal no gap is certain: 0.97 (0.90–1.05)."),
        ((0.93, 0.9, 0.96), "With everything else equal hardly any of the gap stays: 0.93 (0.90–0.96)."),
        ((0.75, 0.7, 0.8), "With everything else equal 47 % of the gap stays: 0.75 (0.70–0.80)."),
        ((1.2, 1.1, 1.3), "With everything else equal the gap turns round: 1.20 (1.10–1.30)."),
        ((0.0, 0.0, 0.2), "With everything else equal there is a gap: 0.00 (0.00–0.20)."),
        ((1.6, 1.2, None), "With everything else equal the gap turns round: 1.60 (1.20 and more)."),
    ],
)
def test_what_stays_is_said_with_its_interval(counterfactual: Ratio, sentence: str) -> None:
    assert say_everything_equal((0.54, 0.47, 0.63), counterfactual) == sentence


def test_labels_lead_where_they_are_poor() -> None:
    figures = CauseFigures(state="not computable", needs_labels=True, labels=LabelQuality(one_decision_only=True))

    assert recognise_causes(figures) == (GapCause.LABELS,)
