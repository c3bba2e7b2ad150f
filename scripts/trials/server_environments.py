"""Environments of model servers: made once below a cache folder, with the packages of each."""

import json
import subprocess
import sys
from pathlib import Path

PACKAGES = {
    "mlflow": ["mlflow==3.17.2", "scikit-learn==1.9.1"],
    "mlserver": ["mlserver==1.7.1", "mlserver-sklearn==1.7.1", "scikit-learn==1.9.1"],
    "kserve": ["kserve==0.21.0", "scikit-learn==1.9.1"],
    "bentoml": ["bentoml==1.4.39", "scikit-learn==1.9.1", "pandas==3.1.1"],
    "triton": ["nvidia-pytriton==0.7.0", "scikit-learn==1.9.1", "pandas==2.3.3"],
}
"""All have one version of scikit-learn, so that all can load the model."""


def find_system_python() -> str:
    """Returns an interpreter that no environment is around, if there is one."""
    return next((path for path in ("/usr/bin/python3", "/usr/local/bin/python3") if Path(path).exists()), sys.executable)


def make_environment(folder: Path, packages: list[str], interpreter: str) -> str:
    python, done = str(folder / "bin" / "python"), folder / "installed.json"
    if not done.exists() or json.loads(done.read_text()) != packages:
        print(f"installing {', '.join(packages)} ...", file=sys.stderr, flush=True)
        # A system's Python may lack the module that brings pip.
        subprocess.run([interpreter, "-m", "venv", "--clear", "--without-pip", folder], check=True)
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        subprocess.run([*pip, *packages], check=True, stdout=sys.stderr)
        done.write_text(json.dumps(packages))
    return python
