"""Explanation of a change in a DataFrame."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from app.base.errors import InvalidInput
from app.library.compared_rates import ChangeExplanation, explain_change
from app.statistics.attribution.cell_parts import ChangeParts

START = pd.Timestamp("2026-10-05T00:00:00Z")
CHANGE = pd.Timestamp("2026-10-09T00:00:00Z")
COLUMNS: dict[str, Any] = {
    "attribute": "sex",
    "reference": "man",
    "prediction": "approved",
    "favourable": "yes",
    "features": ["income", "area"],
    "time": "at",
    "at": CHANGE,
}


def log(*, poorer: float = 0, stricter: float = 0, records: int = 40_000) -> pd.DataFrame:
    """Decisions by income; from CHANGE on women with lower incomes apply, or women are decided upon more strictly."""
    rng = np.random.default_rng(1)
    at = START + pd.to_timedelta(np.arange(records) * 8 * 86_400 / records, unit="s")
    woman, late = rng.random(records) < 0.4, at >= CHANGE
    income = rng.normal(40, 10, records) - poorer * (woman & late)
    chance = 1 / (1 + np.exp(-(income - 40 - stricter * (woman & late)) / 5))
    return pd.DataFrame(
        {
            "at": at,
            "sex": np.where(woman, "woman", "man"),
            "income": income,
            "area": rng.choice(["north", "south"], records),
            "approved": np.where(rng.random(records) < chance, "yes", "no"),
        }
    )


def by_income(found: ChangeExplanation) -> tuple[ChangeParts, ChangeParts]:
    parts = found.groups[0].features[0].parts
    assert parts.of_difference is not None
    assert parts.of_log_ratio is not None
    return parts.of_difference, parts.of_log_ratio


@pytest.mark.thorough
def test_other_applicants_are_who_asked() -> None:
    found = explain_change(log(poorer=6), **COLUMNS)

    for parts in by_income(found):
        assert parts.change < -0.1
        assert parts.who_asked == pytest.approx(parts.change, abs=0.03)
        assert parts.how_answered == pytest.approx(0, abs=0.03)


@pytest.mark.thorough
def test_a_model_that_answers_differently_is_how_it_answers() -> None:
    for parts in by_income(explain_change(log(stricter=6), **COLUMNS)):
        assert parts.change < -0.1
        assert parts.how_answered == pytest.approx(parts.change, abs=0.03)
        assert parts.who_asked == pytest.approx(0, abs=0.03)


@pytest.mark.thorough
def test_the_gaps_and_the_records_are_those_of_the_log() -> None:
    frame = log(stricter=6)
    found = explain_change(frame, **COLUMNS)
    group = found.groups[0]

    late = frame["at"] >= CHANGE
    rates = frame.assign(late=late).groupby(["late", "sex"])["approved"].agg(lambda one: (one == "yes").mean())
    assert (found.records_before, found.records_after) == (int((~late).sum()), int(late.sum()))
    assert group.gap_before == pytest.approx(rates[False, "woman"] - rates[False, "man"])
    assert group.gap_after == pytest.approx(rates[True, "woman"] - rates[True, "man"])
    for one in group.features:
        parts = one.parts.of_difference
        assert parts is not None
        assert group.gap_after is not None
        assert group.gap_before is not None
        assert parts.who_asked + parts.how_answered + parts.no_counterpart == pytest.approx(group.gap_after - group.gap_before)


@pytest.mark.parametrize("at", ["2026-10-09", "2026-10-09T02:00:00+02:00", datetime(2026, 10, 9), datetime(2026, 10, 9, tzinfo=UTC)])  # noqa: DTZ001 - UTC is meant
def test_the_moment_is_read_in_every_usual_form(at: object) -> None:
    assert explain_change(log(records=500), **COLUMNS | {"at": at}).at == CHANGE.to_pydatetime()


def test_a_group_without_records_on_one_side_has_no_change() -> None:
    frame = log(records=2_000)
    found = explain_change(frame[(frame["sex"] == "man") | (frame["at"] < CHANGE)], **COLUMNS).groups[0]

    assert found.gap_before is not None
    assert (found.gap_after, found.features) == (None, ())


@pytest.mark.parametrize("at", ["2026-10-01", "2026-11-01", "soon", None])
def test_a_moment_that_divides_nothing_is_refused(at: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        explain_change(log(records=100), **COLUMNS | {"at": at})

    assert [problem.field for problem in refused.value.problems] == ["at"]
