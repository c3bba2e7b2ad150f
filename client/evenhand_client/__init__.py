"""Logs the decisions of a model to Evenhand: in microseconds, in the background, each exactly once.

>>> from evenhand_client import Evenhand
>>> evenhand = Evenhand("http://127.0.0.1:8000", key, "credit-risk")
>>> record_id = evenhand.log({"sex": "female", "income": 42000}, prediction="refused")
"""

from .aio import AsyncEvenhand
from .asgi import EvenhandMiddleware
from .client import Evenhand
from .counting import Report, Stats
from .handler import EvenhandHandler
from .models import monitored

VERSION = "0.1.0"

__all__ = [
    "VERSION",
    "AsyncEvenhand",
    "Evenhand",
    "EvenhandHandler",
    "EvenhandMiddleware",
    "Report",
    "Stats",
    "monitored",
]
