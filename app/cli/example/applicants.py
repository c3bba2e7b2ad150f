"""Made-up loan applicants, by a seeded generator.

*The past decision* is that of an imagined clerk, who demanded more of women and a little more of people under
26; the model learns both. *The outcome* depends on means alone.
"""

from collections.abc import Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pandas import DataFrame

Applicant = dict[str, str | int]

FEATURES = {
    "checking_status": "string",
    "savings": "string",
    "housing": "string",
    "sex": "string",
    "age": "integer",
    "employment_years": "integer",
    "loan_amount": "integer",
    "loan_duration": "integer",
}

GOOD, BAD = "No Risk", "Risk"

WOMEN_HANDICAP = 1.9
YOUNG_HANDICAP = 0.6
"""In log-odds: 1.9 turns a chance of 80 % into one of 37 %."""

_MIN_AGE, _MAX_AGE = 18, 75
_MAX_YOUNG_AGE = 25
_SHARE_OF_WOMEN = 0.45
_STATUSES = {"none": (0.40, 1.6), "below_0": (0.25, -1.8), "0_to_200": (0.25, -0.2), "above_200": (0.10, 1.2)}
_SAVINGS = {
    "below_100": (0.55, -0.6),
    "100_to_500": (0.20, 0.2),
    "above_500": (0.15, 1.4),
    "unknown": (0.10, 0.6),
}
_HOUSING = {"own": (0.65, 0.6), "rent": (0.25, -0.6), "free": (0.10, 0.0)}
"""Share of the applicants, and log-odds, by value."""


def draw_applicants(count: int, random: Generator) -> list[Applicant]:
    age = (_MIN_AGE + (_MAX_AGE - _MIN_AGE) * random.beta(1.4, 3.2, count)).round().astype(int)
    columns = {
        "checking_status": _draw_values(_STATUSES, count, random),
        "savings": _draw_values(_SAVINGS, count, random),
        "housing": _draw_values(_HOUSING, count, random),
        "sex": np.where(random.random(count) < _SHARE_OF_WOMEN, "female", "male"),
        "age": age,
        "employment_years": (random.beta(1.2, 2.0, count) * np.minimum(age - _MIN_AGE + 1, 30)).astype(int),
        "loan_amount": (random.lognormal(7.9, 0.6, count) / 100).round().astype(int) * 100,
        "loan_duration": random.choice([6, 12, 18, 24, 36, 48], count, p=[0.1, 0.25, 0.2, 0.25, 0.12, 0.08]),
    }
    rows = zip(*(columns[name].tolist() for name in FEATURES), strict=True)
    return [dict(zip(FEATURES, row, strict=True)) for row in rows]


def draw_outcomes(people: list[Applicant], random: Generator) -> list[str]:
    return _draw_labels(_find_log_odds(people), random)


def _draw_values(
    values: Mapping[str, tuple[float, float]], count: int, random: Generator
) -> NDArray[np.str_]:
    return random.choice(list(values), count, p=[share for share, _ in values.values()])


def _find_log_odds(people: list[Applicant]) -> NDArray[np.float64]:
    log_odds = []
    for applicant in people:
        assets = (
            _STATUSES[str(applicant["checking_status"])][1]
            + _SAVINGS[str(applicant["savings"])][1]
            + _HOUSING[str(applicant["housing"])][1]
        )
        burden = 0.06 * (int(applicant["loan_duration"]) - 20) + 0.00024 * (
            int(applicant["loan_amount"]) - 3000
        )
        log_odds.append(1.5 + assets - burden + 0.12 * (min(int(applicant["employment_years"]), 15) - 5))
    return np.array(log_odds, dtype=np.float64)


def _draw_labels(log_odds: NDArray[np.float64], random: Generator) -> list[str]:
    chances = 1.0 / (1.0 + np.exp(-log_odds))
    return [GOOD if is_good else BAD for is_good in random.random(len(chances)) < chances]


SEED = 20_260_101
TRAINING_RECORDS = 5_000
DECISION = "decision"


def draw_training_data() -> DataFrame:
    random = np.random.default_rng(SEED)
    people = draw_applicants(TRAINING_RECORDS, random)
    handicap = [
        WOMEN_HANDICAP * (applicant["sex"] == "female")
        + YOUNG_HANDICAP * (int(applicant["age"]) <= _MAX_YOUNG_AGE)
        for applicant in people
    ]
    decisions = _draw_labels(_find_log_odds(people) - np.array(handicap), random)
    return DataFrame(people).assign(**{DECISION: decisions})
