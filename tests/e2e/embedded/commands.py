"""The command `evenhand` as a process: how it is called, and with what environment."""

import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
EVENHAND = [sys.executable, "-m", "app.cli"]


def environment(folder: Path, port: int) -> dict[str, str]:
    """The variables of a service that keeps everything in the folder and listens on the port."""
    kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return {**kept, "EVENHAND_DATA_DIR": str(folder / "data"), "EVENHAND_PORT": str(port), "TMPDIR": str(folder)}
