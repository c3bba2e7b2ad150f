"""Saves the models for `mlflow models serve`: python save_mlflow.py FOLDER"""

import json
import sys
from pathlib import Path

import mlflow
import pandas as pd
from mlflow.models import infer_signature
from scoring import COLUMNS, Scorer


class Named(mlflow.pyfunc.PythonModel):
    def __init__(self, scorer):
        self.scorer = scorer

    def predict(self, context, model_input, params=None):
        predictions, chances = self.scorer.score(model_input, COLUMNS)
        return pd.DataFrame({"prediction": predictions, "probability": chances})


def main():
    folder = Path(sys.argv[1])
    for kind in ("whole", "mixed"):
        frame = pd.DataFrame(json.loads((folder / f"{kind}.json").read_text()))[COLUMNS]
        named = Named(Scorer(folder, kind))
        signature = infer_signature(frame, named.predict(None, frame))
        code = [str(Path(__file__).with_name("scoring.py"))]
        mlflow.pyfunc.save_model(folder / f"mlflow-{kind}", python_model=named, signature=signature, pip_requirements=[], code_paths=code)
        mlflow.sklearn.save_model(
            named.scorer.pipeline,
            folder / f"mlflow-{kind}-proba",
            pyfunc_predict_fn="predict_proba",
            signature=infer_signature(frame, named.scorer.pipeline.predict_proba(frame)),
            pip_requirements=[],
            serialization_format="cloudpickle",
        )


if __name__ == "__main__":
    main()
