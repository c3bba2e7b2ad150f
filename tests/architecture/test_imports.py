"""The package does not know its own name: `app` in the repository, `evenhand` when installed."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_modules_import_each_other_relatively() -> None:
    absolute = {
        str(path.relative_to(REPOSITORY)): found
        for path in (REPOSITORY / "app").rglob("*.py")
        if (found := re.findall(r"^\s*(?:from|import) (?:app|evenhand|migrations)\b.*", path.read_text("utf-8"), re.MULTILINE))
    }

    assert absolute == {}
