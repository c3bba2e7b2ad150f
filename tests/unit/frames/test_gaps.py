"""Explanation of a gap in a DataFrame."""

from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from app.base.errors import InvalidInput
from app.library.carried_gap import explain_gap, plan_gap

COLUMNS: dict[str, Any] = {
    "attribute": "sex",
    "reference": "man",
    "prediction": "approved",
    "favourable": "yes",
    "features": ["income", "debt", "area", "age"],
}


def decide(rows: pd.DataFrame) -> npt.NDArray[np.str_]:
    """Decides by income, debt and area; never by age."""
    points = rows["income"] - 0.5 * rows["debt"] - 10 * (rows["area"] == "north").astype(float)
    return np.where(points > 15, "yes", "no")


def loans(records: int = 6_000, seed: int = 1, share: float = 0.3) -> pd.DataFrame:
    """Loans in which women have lower incomes and live more often in the north, and are as old as men."""
    rng = np.random.default_rng(seed)
    woman = rng.random(records) < share
    frame = pd.DataFrame(
        {
            "sex": np.where(woman, "woman", "man"),
            "income": rng.normal(40, 10, records) - 6 * woman,
            "debt": rng.normal(40, 10, records),
            "area": np.where(rng.random(records) < np.where(woman, 0.6, 0.3), "north", "south"),
            "age": rng.integers(20, 70, records),
        },
        index=np.repeat("the same", records),
    )
    return frame.assign(approved=decide(frame))


def test_the_model_says_what_carries_the_gap() -> None:
    found = explain_gap(loans(), decide, **COLUMNS)
    women = found.groups[0]

    assert (women.group, women.reference, found.attribute, found.warnings) == ("woman", "man", "sex", ())
    assert women.gap is not None
    assert women.carried is not None
    shares = {player.features: player for player in women.carried.players}
    assert [player.features for player in women.carried.players][:2] == [("income",), ("area",)]
    assert sum(player.share for player in women.carried.players) == pytest.approx(women.carried.gap_of_pairs, abs=1e-12)
    assert women.carried.gap_of_pairs + women.carried.sampling == pytest.approx(women.gap, abs=1e-12)
    assert shares["age",].share == 0
    income = shares["income",]
    assert income.interval is not None
    assert income.interval[0] < income.share < income.interval[1] < 0


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_the_shares_of_two_to_six_features_sum_to_the_gap_of_the_pairs(size: int) -> None:
    frame = loans(1_500).assign(children=lambda one: one["age"] % 4, city=lambda one: one["age"] % 3)
    features = ["income", "area", "debt", "age", "children", "city"][:size]

    def by_features(rows: pd.DataFrame) -> npt.NDArray[np.str_]:
        return decide(rows.assign(debt=rows.get("debt", pd.Series(40.0, rows.index))))

    frame["approved"] = by_features(frame[features])
    found = explain_gap(frame, by_features, together=[], pairs=200, **COLUMNS | {"features": features}).groups[0]

    assert found.carried is not None
    assert len(found.carried.players) == size
    assert sum(player.share for player in found.carried.players) == pytest.approx(found.carried.gap_of_pairs, abs=1e-12)
    assert found.carried.gap_of_pairs < 0


def test_the_rows_are_said_beforehand_and_are_those_that_are_asked() -> None:
    asked = []

    def count(rows: pd.DataFrame) -> npt.NDArray[np.str_]:
        asked.append(len(rows))
        assert list(rows.columns) == COLUMNS["features"]
        return decide(rows)

    plan = plan_gap(loans(), **COLUMNS)
    found = plan.explain(count)

    assert plan.players == (("income",), ("debt",), ("area",), ("age",))
    assert plan.rows == 500 * 14 + 100
    assert sum(asked) == plan.rows == found.rows


def test_without_a_model_only_the_cells_divide_the_gap() -> None:
    found = explain_gap(loans(), **COLUMNS)
    women = found.groups[0]

    assert (women.carried, found.rows) == (None, 0)
    parts = {one.feature: one for one in women.parts}
    for one in women.parts:
        assert one.who_applies + one.how_treated + one.no_counterpart == pytest.approx(women.gap)
        assert all(interval is not None for interval in astuple(one.intervals))
    # Women of the same income are refused more often, because they live in the north.
    assert parts["income"].who_applies < -0.1
    assert parts["income"].how_treated < -0.04
    assert parts["age"].who_applies == pytest.approx(0, abs=0.01)


def test_correlated_features_are_one_player() -> None:
    frame = loans().assign(tax=lambda one: one["income"] * 0.3 + 1, region=lambda one: one["area"] + "ern")
    columns = COLUMNS | {"features": ["income", "area", "tax", "region", "debt"]}

    assert plan_gap(frame, **columns).players == (("income", "tax"), ("area", "region"), ("debt",))
    assert plan_gap(frame, together=[], **columns).players == (("income",), ("area",), ("tax",), ("region",), ("debt",))
    assert plan_gap(frame, together=[["debt", "area"]], **columns).players == (("income",), ("area", "debt"), ("tax",), ("region",))


@pytest.mark.nightly
def test_more_than_six_players_are_asked_along_orders() -> None:
    frame = loans()
    more = {f"noise_{number}": np.random.default_rng(number).normal(size=len(frame)) for number in range(4)}
    columns = COLUMNS | {"features": [*COLUMNS["features"], *more]}
    plan = plan_gap(frame.assign(**more), **columns)
    found = plan.explain(decide)

    men = int((frame["sex"] == "man").sum())
    assert plan.rows == min(4_000, men) * 2 * 7 + 100
    assert found.groups[0].carried is not None
    assert {player.features[0] for player in found.groups[0].carried.players if abs(player.share) > 1e-9} == {"income", "debt", "area"}


def test_every_monitored_group_has_its_own_explanation() -> None:
    frame = loans().assign(sex=lambda one: np.where(np.arange(len(one)) % 10 == 0, "other", one["sex"]))
    found = explain_gap(frame, decide, pairs=100, **COLUMNS)

    assert [group.group for group in found.groups] == ["other", "woman"] or [group.group for group in found.groups] == ["woman", "other"]
    assert found.rows == 2 * (100 * 14 + 100)


def test_another_model_than_the_logged_one_is_warned_about() -> None:
    found = explain_gap(loans(), lambda rows: np.where(rows["income"] > 40, "yes", "no"), **COLUMNS)

    assert len(found.warnings) == 1
    assert "answers" in found.warnings[0]


def test_pairs_with_an_answer_that_is_no_outcome_are_left_out() -> None:
    def waver(rows: pd.DataFrame) -> npt.NDArray[np.str_]:
        return np.where(rows["age"] % 50 == 21, "ask again", decide(rows))

    women = explain_gap(loans(), waver, unfavourable="no", **COLUMNS).groups[0]

    assert women.carried is not None
    assert women.carried.pairs_left_out > 0
    assert women.carried.pairs + women.carried.pairs_left_out == 500


def test_the_same_seed_gives_the_same_explanation() -> None:
    one, same, other = (explain_gap(loans(), decide, seed=seed, pairs=100, **COLUMNS) for seed in (1, 1, 2))

    assert one == same
    assert one != other


def test_a_group_without_records_has_no_gap() -> None:
    columns = COLUMNS | {"monitored": ["woman", "child"]}
    found = explain_gap(loans(), decide, pairs=50, **columns).groups[1]

    assert (found.group, found.gap, found.carried, found.parts) == ("child", None, None, ())


def test_few_records_have_shares_and_no_interval() -> None:
    women = explain_gap(loans(60, share=0.2), decide, **COLUMNS).groups[0]

    assert women.carried is not None
    assert [player.interval for player in women.carried.players] == [None] * 4


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"features": []}, "features"),
        ({"features": ["income", "income"]}, "features"),
        ({"features": ["wealth"]}, "features"),
        ({"together": [["income", "wealth"]]}, "together"),
        ({"together": [["income", "debt"], ["debt", "age"]]}, "together"),
        ({"together": ["income", "debt"]}, "together"),
        ({"together": "income"}, "together"),
        ({"pairs": 0}, "pairs"),
        ({"bins": 9}, "bins"),
        ({"draws": True}, "draws"),
        ({"seed": -1}, "seed"),
        ({"prediction": "repaid"}, "prediction"),
        ({"favourable": "maybe"}, "favourable"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_a_wrong_argument_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        plan_gap(loans(100), **COLUMNS | change)

    assert [problem.field for problem in refused.value.problems] == [field]


def test_too_many_texts_are_refused() -> None:
    frame = loans(2_000).assign(name=[f"person {number}" for number in range(2_000)])

    with pytest.raises(InvalidInput, match="2,000 different texts"):
        plan_gap(frame, **COLUMNS | {"features": ["name"]})


@pytest.mark.parametrize("model", [lambda rows: decide(rows)[:-1], lambda rows: rows, lambda _rows: "yes"])
def test_a_model_that_answers_in_another_shape_is_refused(model: Callable[[pd.DataFrame], object]) -> None:
    with pytest.raises(InvalidInput, match="one prediction for each"):
        explain_gap(loans(200), model, **COLUMNS)


def test_a_model_that_answers_in_other_words_is_refused() -> None:
    with pytest.raises(InvalidInput, match="model's answer"):
        explain_gap(loans(200), lambda rows: (decide(rows) == "yes").astype(int), **COLUMNS)
