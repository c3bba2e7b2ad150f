"""A package named mlflow with just enough to load the rule of `rules.py`, put on the path of the processes that load a model.

A model is a folder. It may hold `crashes`, the number of processes that will end at their next page, and gets `asked`, the number of rows
of each page that was answered, one on a line.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_PYFUNC = """
import os
from pathlib import Path

import pandas as pd

from tests.models.rules import RuleScorer


class Model:
    def __init__(self, folder):
        self.folder = Path(folder)
        if not (self.folder / "MLmodel").is_file():
            raise FileNotFoundError("there is no MLmodel")

    def predict(self, frame):
        crashes = self.folder / "crashes"
        left = int(crashes.read_text()) if crashes.is_file() else 0
        if left and (self.folder / "asked").is_file():
            crashes.write_text(str(left - 1))
            os._exit(3)
        found = RuleScorer().predict(list(frame.columns), frame.astype(object).where(frame.notna(), None).values.tolist())
        with (self.folder / "asked").open("a") as asked:
            asked.write(f"{len(frame)}\\n")
        return pd.DataFrame(found, columns=["prediction", "probability"])


load_model = Model
"""

_SAVE = (
    "import sys, time\nimport cloudpickle, mlflow, pandas\nfrom tests.models import rules\nfrom tests.models.rules import RuleScorer\n\n"
    # Whole, because executors of Spark cannot import the tests.
    "cloudpickle.register_pickle_by_value(rules)\n\n"
    "class Rule(mlflow.pyfunc.PythonModel):\n"
    "    def __init__(self, asked, seconds):\n"
    "        self.asked, self.seconds = asked, float(seconds)\n\n"
    "    def predict(self, context, frame, params=None):\n"
    "        with open(self.asked, 'a') as asked:\n"
    "            asked.write(f'{len(frame)}\\n')\n"
    "        time.sleep(self.seconds)\n"
    "        found = RuleScorer().predict(list(frame.columns), frame.values.tolist())\n"
    "        return pandas.DataFrame(found, columns=['prediction', 'probability'])\n\n"
    "types = {'sex': 'string', 'income': 'integer', 'age': 'double'}\n"
    "columns = [mlflow.types.ColSpec(kind, name) for name, kind in types.items()]\n"
    "signature = mlflow.models.ModelSignature(mlflow.types.Schema(columns))\n"
    "mlflow.pyfunc.save_model(sys.argv[1], python_model=Rule(*sys.argv[2:]), signature=signature, pip_requirements=[])\n"
)
"""A program that saves the same rule by MLflow itself, in the folder that is its first argument. The model appends the number of rows of
each page to a file, the second, and takes some seconds for a page, the third."""

_REGISTER = (
    "import sys\nimport mlflow\n\n"
    "folder, registry, name, alias = sys.argv[1:]\n"
    "client = mlflow.MlflowClient(registry, registry)\n"
    "client.create_registered_model(name)\n"
    "client.set_registered_model_alias(name, alias, client.create_model_version(name, folder).version)\n"
)
"""A program that registers the model of a folder in a registry."""


def put_mlflow_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_installed: bool = True) -> None:
    """Writes the package below the folder and puts it before all others for processes that are started from now on."""
    package = folder / "stub" / "mlflow"
    package.mkdir(parents=True)
    missing = "raise ModuleNotFoundError(\"No module named 'mlflow'\", name='mlflow')"
    (package / "__init__.py").write_text("" if is_installed else missing)
    (package / "pyfunc.py").write_text(_PYFUNC)
    monkeypatch.setenv("PYTHONPATH", f"{package.parent}:{Path(__file__).parents[2]}")


def rule_model(folder: Path) -> Path:
    """Makes the folder a model."""
    folder.mkdir(parents=True)
    (folder / "MLmodel").touch()
    return folder


def rows_asked(folder: Path) -> list[int]:
    """Returns the number of rows of each page that the model answered."""
    asked = folder / "asked"
    return [int(line) for line in asked.read_text().split()] if asked.is_file() else []


def register_rule_model(folder: Path, registry: str, *, name: str, alias: str) -> None:
    """Registers the saved model as version 1 of that name, with the alias, in a registry of the installed MLflow; makes the registry."""
    subprocess.run([sys.executable, "-c", _REGISTER, str(folder), registry, name, alias], check=True, capture_output=True)


def save_rule_model(folder: Path, *, asked: Path = Path(os.devnull), seconds: float = 0) -> None:
    """Saves the rule in the folder with the installed MLflow, in a process of its own, because it warns of much.

    The model appends the number of rows of each page to the file `asked` before it answers, and takes that many seconds for a page.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", _SAVE, str(folder), str(asked), str(seconds)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])})
