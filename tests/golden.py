"""Where the golden values lie. They are read in place and never copied here."""

from pathlib import Path

import pytest

_GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden"


def golden(name: str) -> Path:
    """The golden file or folder of that name; the calling test is skipped where the golden values are not at hand."""
    path = _GOLDEN / name
    if not path.exists():
        pytest.skip(f"golden values are not at hand: {path}")
    return path


def dataset(name: str) -> Path:
    """The public data set of that file name; the calling test is skipped where the data sets are not at hand."""
    return golden(f"../data/{name}")
