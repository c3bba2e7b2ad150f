"""Hours cut out of public data in random order, scored by a model that is fitted here, and swapped for another one at a known hour.

The rows are read where they are and copied nowhere. A swap changes the cut-off of the monitored group only, so the disparate impact of both
models on all rows is known exactly.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from app.statistics.e_values.nulls import Hours, SideHours

ADULT_COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race", "sex"),
    *("capital_gain", "capital_loss", "hours_per_week", "native_country", "income"),
]
"""The file has no header."""


@dataclass(frozen=True)
class DataSource:
    """One data set: its name, the files with the rows that the model is fitted to and those that are replayed, and its columns."""

    name: str
    fitted_file: str
    replayed_file: str
    sex: str
    label: str
    favourable: str
    left_out: tuple[str, ...] = ()


ADULT = DataSource("Adult", "adult.test", "adult.data", sex="sex", label="income", favourable=">50K", left_out=("fnlwgt",))
OPENSCALE = DataSource(
    "OpenScale credit",
    "openscale_credit_risk_test_data.csv",
    "openscale_credit_risk_training.csv",
    sex="Sex",
    label="Risk",
    favourable="No Risk",
)


@dataclass(frozen=True, eq=False)
class Population:
    """The rows that are replayed: whether each is of a woman, and the model's score of it."""

    is_female: npt.NDArray[np.bool_]
    scores: npt.NDArray[np.float64]

    def decide(self, ratio: float) -> npt.NDArray[np.bool_]:
        """Returns the decisions of a model that approves as many men as the fitted one, and women at this ratio of the men's rate."""
        approved = self.decide_at_one_cut_off()
        women = np.flatnonzero(self.is_female)
        count = round(ratio * float(approved[~self.is_female].mean()) * len(women))
        approved[women] = False
        # A stable order: rows of equal scores are decided in the order of the file.
        approved[women[np.argsort(-self.scores[women], kind="stable")[:count]]] = True
        return approved

    def decide_at_one_cut_off(self) -> npt.NDArray[np.bool_]:
        """Returns the decisions of the fitted model: approved from a score of one half on."""
        return np.asarray(self.scores >= 0.5)

    def ratio_of(self, approved: npt.NDArray[np.bool_]) -> float:
        """Returns the disparate impact of these decisions on all rows."""
        return float(approved[self.is_female].mean() / approved[~self.is_female].mean())

    def cut(self, decisions: Sequence[npt.NDArray[np.bool_]], seed: int, *, records: int, again: bool) -> Hours:
        """Returns hours of that many rows in random order, hour h with the decisions number h.

        With `again` rows are drawn with replacement; without it each row is used once.
        """
        rng = np.random.default_rng(seed)
        size, total = len(decisions) * records, len(self.scores)
        if size > total and not again:
            raise ValueError(f"{len(decisions)} hours of {records} rows need {size} rows, and there are {total}")
        rows = rng.integers(0, total, size) if again else rng.permutation(total)[:size]
        by_hour = rows.reshape(len(decisions), records)
        approved = np.array([each[some] for each, some in zip(decisions, by_hour, strict=True)])
        women = self.is_female[by_hour]
        return Hours(
            *(SideHours((approved & side).sum(axis=1, dtype=np.float64), side.sum(axis=1, dtype=np.float64)) for side in (women, ~women))
        )


def fit_and_score(source: DataSource, folder: Path) -> Population:
    """Returns the rows of the replayed file, scored by a logistic regression on the rows of the other file."""
    fitted, replayed = (_read(folder / name, source) for name in (source.fitted_file, source.replayed_file))
    names = [name for name in fitted if name not in {source.label, *source.left_out}]
    numeric = [place for place, name in enumerate(names) if all(_is_number(value) for value in fitted[name])]
    others = [place for place in range(len(names)) if place not in numeric]
    model = make_pipeline(
        make_column_transformer((StandardScaler(), numeric), (OneHotEncoder(handle_unknown="ignore"), others)),
        LogisticRegression(max_iter=1_000),
    )
    model.fit(_table(fitted, names, numeric), np.array([_is(value, source.favourable) for value in fitted[source.label]]))
    scores = model.predict_proba(_table(replayed, names, numeric))[:, 1]
    return Population(np.array([value.lower() == "female" for value in replayed[source.sex]]), scores)


def _read(path: Path, source: DataSource) -> dict[str, list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) > 1]
    names, values = (ADULT_COLUMNS, rows) if source is ADULT else (rows[0], rows[1:])
    return {name: list(column) for name, column in zip(names, zip(*values, strict=True), strict=True)}


def _is(value: str, expected: str) -> bool:
    # The labels of `adult.test` end with a full stop.
    return value.rstrip(".") == expected


def _is_number(value: str) -> bool:
    return value.lstrip("-").isdigit()


def _table(columns: dict[str, list[str]], names: Sequence[str], numeric: Sequence[int]) -> npt.NDArray[np.object_]:
    parts = [[float(value) for value in columns[name]] if place in numeric else columns[name] for place, name in enumerate(names)]
    return np.array(parts, dtype=np.object_).T
