"""Extras of the package that a test needs, and an environment in which one is not installed."""

from pathlib import Path

import pytest

from app.mitigation.detector.installed import explain_missing_packages

NEEDS_DETECTOR = pytest.mark.skipif(explain_missing_packages() is not None, reason="the extra detector is not installed")

DETECTOR = ("joblib", "scikit-learn", "skops", "sklearn", "threadpoolctl")
"""Its packages and their modules."""

_HIDING = """
import sys
from importlib.machinery import PathFinder


class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        return None if fullname.partition(".")[0] in {names} else super().find_spec(fullname, path, target)

    @staticmethod
    def find_distributions(*args, **options):
        return (found for found in PathFinder.find_distributions(*args, **options) if found.name not in {names})


sys.meta_path[sys.meta_path.index(PathFinder)] = Hiding
"""


def without_detector(folder: Path) -> dict[str, str]:
    """The variable by which Python, and each Python that it starts, is as if the extra were not installed."""
    (folder / "sitecustomize.py").write_text(_HIDING.replace("{names}", repr(DETECTOR)))
    return {"PYTHONPATH": str(folder)}
