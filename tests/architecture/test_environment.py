"""The environment that `scripts/run` and `scripts/test` make."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("has_development_lock", [False, True])
def test_the_openscale_face_is_there_with_the_development_lock_alone(tmp_path: Path, *, has_development_lock: bool) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    if has_development_lock:
        (environment / ".installed-requirements-dev.lock").touch()

    script = '. "$1/scripts/environment"; python="$2/bin/python"; make_command'
    subprocess.run(["bash", "-c", script, "bash", REPOSITORY, environment], check=True)  # noqa: S607 - the shell of the scripts

    (paths,) = environment.rglob("evenhand.pth")
    faces = {Path(line).name for line in paths.read_text().splitlines()} & {"client", "openscale"}
    assert faces == ({"client", "openscale"} if has_development_lock else {"client"})
