"""Whether the bias detector can be used here: its packages are an extra."""

from functools import cache
from importlib.util import find_spec

MISSING = (
    "its packages are not installed; install them for the service and its workers: pip install "
    "'evenhand[detector]'"
)


@cache
def why_missing() -> str | None:
    """MISSING without the extra's packages. Imports none, which would take seconds."""
    return MISSING if find_spec("sklearn") is None or find_spec("skops") is None else None
