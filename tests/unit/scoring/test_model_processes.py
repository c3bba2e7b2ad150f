"""Processes with a model give way as the worker that starts them does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PYFUNC = """
import os

class load_model:
    def __init__(self, folder):
        pass

    def predict(self, frame):
        return [os.nice(0), int(open("/proc/self/autogroup").read().split()[-1])]
"""

PROGRAM = """
import asyncio, sys
import httpx
from app.priority import lower_priority
from app.scoring.loaded_model import ModelProcesses

lower_priority(5)
processes = ModelProcesses(sys.argv[1], [sys.argv[1]])
page = httpx.Request("POST", "http://loaded.invalid/", json={"dataframe_split": {"columns": ["x"], "data": [[1]]}})
print(asyncio.run(processes.handle_async_request(page)).text)
processes.close()
"""


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this system has no niceness of sessions (autogroup)")
def test_the_session_of_a_model_has_the_niceness_of_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, model = tmp_path / "path" / "mlflow", tmp_path / "model"
    package.mkdir(parents=True)
    model.mkdir()
    (package / "__init__.py").touch()
    (package / "pyfunc.py").write_text(PYFUNC, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{package.parent}:{Path.cwd()}")

    done = subprocess.run([sys.executable, "-c", PROGRAM, str(model)], capture_output=True, text=True, check=True)

    niceness, of_session = json.loads(done.stdout)["predictions"]
    assert of_session == niceness > 0
