"""Makes the models that the real servers serve, and the rows that are asked about: python train.py FOLDER

Runs in the environment with the oldest numpy: newer ones read what it writes.
"""

import json
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

ROWS = 400


def main():
    folder = Path(sys.argv[1])
    for kind in ("whole", "mixed"):
        frame, wanted = people(kind)
        pipeline = fitted(kind, frame, wanted)
        joblib.dump(pipeline, folder / f"{kind}.joblib")
        asked = frame.to_numpy() if kind == "whole" else frame
        answers = zip(pipeline.predict(asked).tolist(), pipeline.predict_proba(asked)[:, 1].tolist())
        columns = [frame[name].tolist() for name in frame]
        rows = [
            {**dict(zip(frame, row)), "prediction": prediction, "probability": chance}
            for row, (prediction, chance) in zip(zip(*columns), answers)
        ]
        (folder / f"{kind}.json").write_text(json.dumps(rows))


def people(kind):
    random = np.random.default_rng(7)
    female = random.random(ROWS) < 0.45
    frame = pd.DataFrame(
        {
            "sex": np.where(female, "female", "male") if kind == "mixed" else female.astype(np.int64),
            "income": random.lognormal(10, 0.6, ROWS) + 1 / 3 if kind == "mixed" else random.integers(8_000, 90_000, ROWS),
            "age": random.integers(18, 76, ROWS),
            "owner": random.random(ROWS) < 0.4 if kind == "mixed" else random.integers(0, 2, ROWS),
        }
    )
    points = frame["income"] / 60_000 - 0.6 * female + random.normal(0, 0.4, ROWS)
    favourable = points > points.median()
    return frame, np.where(favourable, "yes", "no") if kind == "mixed" else favourable.astype(np.int64)


def fitted(kind, frame, wanted):
    if kind == "whole":
        return make_pipeline(StandardScaler(), LogisticRegression()).fit(frame.to_numpy(), wanted)
    columns = ColumnTransformer([("text", OneHotEncoder(), ["sex"])], remainder=StandardScaler())
    return make_pipeline(columns, LogisticRegression()).fit(frame, wanted)


if __name__ == "__main__":
    main()
