from collections import Counter
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from app.base.clock import HOUR
from app.cli.example.applicants import FEATURES, GOOD, draw_applicants, draw_outcomes
from app.cli.example.command import build_results_table
from app.cli.example.model_server import train
from app.cli.example.story import draw_visits

MIDDAY = datetime(2030, 1, 1, 13, tzinfo=UTC)


def test_an_hour_has_the_same_visitors_and_labels_whenever_it_is_asked_for() -> None:
    visits, labels = draw_visits(MIDDAY)

    assert (visits, labels) == draw_visits(MIDDAY)
    assert all(MIDDAY <= visit.at < MIDDAY + HOUR for visit in visits)
    assert {label.id for label in labels} < {visit.id for visit in visits}
    assert max(Counter(visit.id for visit in visits).values()) == 1


def test_the_night_is_quieter_than_the_day() -> None:
    assert len(draw_visits(MIDDAY - 12 * HOUR)[0]) < len(draw_visits(MIDDAY)[0])


def test_applicants_have_every_feature_in_order_with_its_type() -> None:
    types = {"string": str, "integer": int}

    for applicant in draw_applicants(50, np.random.default_rng(1)):
        assert list(applicant) == list(FEATURES)
        assert all(type(applicant[name]) is types[kind] for name, kind in FEATURES.items())


def test_the_model_favours_men_whose_chances_of_paying_back_are_no_better() -> None:
    random = np.random.default_rng(1)
    people = draw_applicants(4_000, random)
    answers = train().predict(list(FEATURES), [list(person.values()) for person in people])
    is_woman = np.array([person["sex"] == "female" for person in people])
    favoured = np.array([label == GOOD for _, _, label in answers])
    pays_back = np.array([label == GOOD for label in draw_outcomes(people, random)])

    assert favoured[is_woman].mean() / favoured[~is_woman].mean() < 0.7
    assert pays_back[is_woman].mean() / pays_back[~is_woman].mean() == pytest.approx(1, abs=0.05)


def test_changing_nothing_but_the_sex_changes_what_the_model_says() -> None:
    people = draw_applicants(2_000, np.random.default_rng(2))
    model = train()

    rates = [np.mean([model_says[2] == GOOD for model_says in _scored(model, people, sex)]) for sex in ("female", "male")]
    assert rates[0] / rates[1] < 0.7


def test_the_table_has_a_line_for_what_could_not_be_measured() -> None:
    point = {"attribute": "sex", "scope": "group", "lower": None, "upper": None, "n": 3, "verdict": None}
    check = {
        "deployment_id": "credit-risk",
        "to": "2030-01-01T13:00:00Z",
        "window": {"records": 3, "additional_records": 0},
    }
    measurements = [
        {**point, "metric": "favourable_rate", "data": "as_logged", "group": "female", "value": None},
        {**point, "metric": "disparate_impact", "data": "as_logged", "group": "female", "value": None, "verdict": "not_computable"},
    ]
    printed = StringIO()
    Console(file=printed, width=80).print(build_results_table(check, measurements))

    assert "not" in printed.getvalue()
    assert "None" not in printed.getvalue()


def _scored(model: Any, people: list[dict[str, Any]], sex: str) -> list[list[Any]]:  # noqa: ANN401 - the example's model
    answers: list[list[Any]] = model.predict(list(FEATURES), [list({**person, "sex": sex}.values()) for person in people])
    return answers
