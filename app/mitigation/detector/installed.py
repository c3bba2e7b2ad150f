"""Whether the bias detector can be used here: its packages are an extra."""

from functools import cache
from importlib.util import find_spec

MISSING = (
    "its packages are not installed; install them for the service and its workers: pip install "
    "'evenhand[detector]'"
)


@cache
def explain_missing_packages() -> str | None:
    """Reason why no detector can be used here; None if the packages are installed. Imports none: that takes
    seconds.
    """
    return MISSING if find_spec("sklearn") is None or find_spec("skops") is None else None
