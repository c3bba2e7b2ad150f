"""The built package, installed next to what belongs to others: an `app` package of another distribution, and a user's own `app.py`."""

import os
import re
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.progress import wait_until

REPOSITORY = Path(__file__).resolve().parents[2]
FOREIGN = 'raise ImportError("this is not Evenhand")\n'


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on the import path with the package and a foreign `app`."""
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "app").mkdir()
    (site / "app" / "__init__.py").write_text(FOREIGN)
    return site


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A user's folder, with an `app.py` and a `migrations` folder of its own."""
    (tmp_path / "app.py").write_text(FOREIGN)
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "__init__.py").write_text(FOREIGN)
    return tmp_path


def test_the_package_takes_one_name_and_holds_every_file_of_its_folders(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    packed = {"app": "evenhand", "migrations": "evenhand/migrations", "docs": "evenhand/docs"}
    expected = {
        f"{target}/{file.relative_to(REPOSITORY / folder)}"
        for folder, target in packed.items()
        for file in (REPOSITORY / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".png"
    }

    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"evenhand"}
    assert expected - names == set()


def test_the_library_measures_a_frame_next_to_a_foreign_app(site: Path, elsewhere: Path) -> None:
    program = (
        "import evenhand, pandas\n"
        "from evenhand.library import measure_frame\n"
        "print(evenhand.__file__)\n"
        "print(callable(measure_frame))\n"
        "import sys; print(sorted(name for name in sys.modules if name.partition('.')[0] in ('app', 'migrations')))\n"
    )
    printed = _run(site, elsewhere, "-c", program).splitlines()

    assert printed == [str(site / "evenhand" / "__init__.py"), "True", "[]"]


def test_the_service_runs_from_the_package_next_to_a_foreign_app(site: Path, elsewhere: Path, database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    environment = _environment(site) | {
        "DATABASE_URL": database_url,
        "EVENHAND_DATA_DIR": str(elsewhere / "data"),
        "EVENHAND_PORT": str(port),
    }
    assert "evenhand 0" in _run(site, elsewhere, "-m", "evenhand.cli", "--version")
    subprocess.run([sys.executable, "-m", "evenhand.cli", "migrate"], cwd=elsewhere, env=environment, check=True, capture_output=True)
    created = [sys.executable, "-m", "evenhand.cli", "keys", "create", "--role", "read", "--name", "a reader"]
    printed = subprocess.run(created, cwd=elsewhere, env=environment, check=True, capture_output=True, text=True).stdout
    key = re.findall(r"evk_\S+", printed)[0]
    with subprocess.Popen([sys.executable, "-m", "evenhand.cli", "serve"], cwd=elsewhere, env=environment) as serving:
        try:
            wait_until(lambda: serving.poll() is not None or _is_ready(port), "the service is ready")
            page = httpx.get(f"http://127.0.0.1:{port}/login", trust_env=False)
            manual = httpx.get(f"http://127.0.0.1:{port}/help/tutorial", auth=("anyone", key), trust_env=False)
        finally:
            serving.terminate()

    assert page.status_code == 200
    assert "<h1" in manual.text
    assert serving.returncode == 0


def _run(site: Path, folder: Path, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=_environment(site), check=True, capture_output=True, text=True
    ).stdout


def _environment(site: Path) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "DATABASE_URL"} | {"PYTHONPATH": str(site)}


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health/ready", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
