"""A handler for `logging`: programs that write their decisions as JSON lines log them to Evenhand without another call."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from .client import Evenhand

_MEMBERS = frozenset({"features", "prediction", "probability", "id", "meta", "scored_at", "label"})


class EvenhandHandler(logging.Handler):
    """Logs each message that is a JSON object, or a mapping, with `features` and `prediction`. Other messages and members are ignored."""

    def __init__(self, client: Evenhand, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self._client = client

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] == "evenhand_client":
            return
        members = _members_of(record)
        if members is not None and "features" in members and "prediction" in members:
            self._client.log(**{name: members[name] for name in _MEMBERS & members.keys()})

    def flush(self) -> None:
        """Does nothing: the client sends in the background, and at the end of the program."""


def _members_of(record: logging.LogRecord) -> Mapping[str, Any] | None:
    if isinstance(record.msg, Mapping):
        return record.msg
    try:
        text = record.getMessage()
        found = json.loads(text) if text.lstrip().startswith("{") else None
    except Exception:  # noqa: BLE001 - arguments of a message that do not fit; other handlers report them
        return None
    return found if isinstance(found, dict) else None
