"""Every metric that is asked for has a row for each of its scopes and groups: a number, or null with its reason."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from app.library.frame_report import Report
from app.library.measurements import measure_frame
from app.statistics.catalogue import CATALOGUE, Data
from app.statistics.group_labels import ComparedGroup
from app.statistics.intervals.verdicts import Undefined
from tests.builders.page_words import says
from tests.builders.whole_catalogue import every_row

DRAWS = 20
GROUPS = (ComparedGroup("18-25", "monitored"), ComparedGroup("66-75", "monitored"), ComparedGroup("26-65", "reference"))


def applicants() -> pd.DataFrame:
    """Eighty applicants; of neither outcome, label, group or stratum is there none."""
    random = np.random.default_rng(3)
    score = random.random(80)
    return pd.DataFrame(
        {
            "age": [20, 70, 40, 60] * 20,
            "job": ["clerk", "clerk", "farmer", "farmer", "clerk"] * 16,
            "children": random.integers(0, 4, 80),
            "income": random.integers(1, 9, 80) * 1000,
            "score": score,
            "prediction": (score > 0.5).astype(int),
            "label": (random.random(80) < score).astype(int),
        }
    )


WORLDS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "as they come": lambda frame: frame,
    "all predictions favourable": lambda frame: frame.assign(prediction=1),
    "all predictions unfavourable": lambda frame: frame.assign(prediction=0),
    "all labels favourable": lambda frame: frame.assign(label=1),
    "all labels unfavourable": lambda frame: frame.assign(label=0),
    "an empty group": lambda frame: frame[frame["age"] != 70],
    "nobody but one monitored group": lambda frame: frame[frame["age"] < 26],
    "no scores": lambda frame: frame.assign(score=np.nan),
    "one score": lambda frame: frame.assign(score=0.5),
    "no stratum": lambda frame: frame.assign(job=None),
    "no outcome in the lists": lambda frame: frame.assign(prediction=7, label=7),
    "two records": lambda frame: frame.head(2),
}


def measured(frame: pd.DataFrame, data: Data) -> Report:
    """Every metric of that data."""
    labelled = {"label": "label"} if data != "as_logged" else {}
    predicted = {"prediction": "prediction"} if data != "training" else {}
    scored = {"score": "score"} if data != "training" else {}
    return measure_frame(
        frame,
        attribute="age",
        **labelled,
        **predicted,
        **scored,
        strata="job",
        features=["children", "income"],
        favourable=1,
        unfavourable=0,
        monitored=[(18, 25), (66, 75)],
        reference=[(26, 65)],
        draws=DRAWS,
    )


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("data", ["as_logged", "training", "labelled"])
def test_every_metric_has_a_row_for_each_of_its_scopes_and_groups(data: Data, world: str) -> None:
    report = measured(WORLDS[world](applicants()), data)

    rows = [(figure.metric, figure.scope, figure.group) for figure in report.measured]
    assert len(rows) == len(set(rows))
    of_predictions = every_row("as_logged", GROUPS, set(CATALOGUE)) if data == "labelled" else set()
    assert {row for row in rows if row[1] != "worst_pair"} == every_row(data, GROUPS, set(CATALOGUE)) | of_predictions
    assert all(figure.number.reason for figure in report.measured if isinstance(figure.number, Undefined))


def test_metrics_of_scores_say_of_each_group_that_it_has_none(snapshot: SnapshotAssertion) -> None:
    report = measured(applicants().assign(score=np.nan), "labelled")

    reasons = {
        figure.group: figure.number.reason
        for figure in report.measured
        if figure.metric == "brier_score" and isinstance(figure.number, Undefined)
    }
    assert says(reasons["18-25"], "18-25")
    assert reasons["18-25"] == snapshot
