"""The models of `train.py`, asked about rows in any of the environments."""

from pathlib import Path

import joblib
import pandas as pd

COLUMNS = ["sex", "income", "age", "owner"]


class Scorer:
    """One of the models; `score` gives a class and its probability of the second class for each row."""

    def __init__(self, folder, kind):
        self.kind = kind
        self.pipeline = joblib.load(Path(folder) / f"{kind}.joblib")

    def score(self, rows, columns=None):
        frame = pd.DataFrame(rows, columns=list(columns or COLUMNS))[COLUMNS]
        asked = frame.to_numpy() if self.kind == "whole" else frame
        return self.pipeline.predict(asked).tolist(), self.pipeline.predict_proba(asked)[:, 1].tolist()

    def answer(self, rows, columns=None):
        return [{"prediction": one, "probability": chance} for one, chance in zip(*self.score(rows, columns))]
