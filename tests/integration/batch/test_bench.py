"""The benchmark of counting files, started as `scripts/bench batch` starts it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]


@pytest.mark.nightly
def test_the_benchmark_counts_its_files_in_processes_of_their_own(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "scripts.benchmarks.batch", "--millions", "1", "--folder", str(tmp_path)]
    ended = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, check=False)

    # It ends with 1 where a ratio falls short, as it may next to other tests.
    assert ended.returncode in {0, 1}
    assert "1 million, local" in ended.stdout, ended.stderr
