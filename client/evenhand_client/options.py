"""Options of a client: arguments first, then environment variables, then defaults."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

MAX_FLUSH_AT = 10_000
"""Max records that the service takes in one request."""

ON_FULL = ("drop_new", "block", "spool")
PREFIX = "EVENHAND_"

_TEXTS = {"url": "", "key": "", "deployment": "", "on_full": "drop_new"}

_NUMBERS = {
    "flush_at": (1000, 1, MAX_FLUSH_AT),
    "flush_interval": (1.0, 0.01, 3600),
    "max_queue": (100_000, 1, 100_000_000),
    "max_spool_bytes": (268_435_456, 1, 2**50),
    "sample_rate": (1.0, 0, 1),
    "timeout": (5.0, 0.01, 3600),
}
"""Defaults, in their type, and the least and the most."""

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class Options:
    """Everything that is set about one client. `why_disabled` is None where it is enabled."""

    url: str
    key: str
    deployment: str
    flush_at: int
    flush_interval: float
    max_queue: int
    on_full: str
    spool_dir: str
    max_spool_bytes: int
    sample_rate: float
    timeout: float
    why_disabled: str | None

    @property
    def spool_folder(self) -> Path | None:
        """The folder of this deployment's files: records of another one must not be sent to this one's address."""
        return Path(self.spool_dir) / quote(self.deployment, safe="").replace(".", "%2E") if self.spool_dir else None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Options:
        """Returns the options of the arguments; None is looked up in the environment, as `EVENHAND_` and the name in capitals.

        Raises:
        ValueError: a value cannot be used. A missing address, key or deployment disables the client.
        """
        found = _Lookup(arguments)
        values = {name: found.get(name, default, str) for name, default in _TEXTS.items()}
        values["url"] = values["url"].rstrip("/")
        values["spool_dir"] = found.get("spool_dir", "", lambda value: str(os.fspath(value)))
        values |= {name: found.number(name, *bounds) for name, bounds in _NUMBERS.items()}
        if values["on_full"] not in ON_FULL:
            raise ValueError(f"on_full must be one of {', '.join(ON_FULL)}; found {values['on_full']!r}")
        if values["on_full"] == "spool" and not values["spool_dir"]:
            raise ValueError("on_full='spool' needs a spool_dir")
        if values["url"] and urlsplit(values["url"]).scheme not in ("http", "https"):
            raise ValueError(f"url must begin with http:// or https://; found {values['url']!r}")
        missing = [name for name in ("url", "key", "deployment") if not values[name]]
        why = None if found.get("enabled", True, _boolean) else "enabled is false"
        if why is None and missing:
            why = f"no {missing[0]} was given (argument {missing[0]}, or {PREFIX}{missing[0].upper()})"
        return cls(**values, why_disabled=why)


class _Lookup:
    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments

    def get(self, name: str, default: Any, read: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - an option of any type
        value, place = self._arguments.get(name), name
        if value is None:
            place = PREFIX + name.upper()
            value = os.environ.get(place)
            if not value:
                return default
        try:
            return read(value)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{place}: expected a {type(default).__name__}, found {value!r}") from error

    def number(self, name: str, default: float, least: float, most: float) -> Any:  # noqa: ANN401 - as its default, int or float
        value = self.get(name, default, type(default))
        if not least <= value <= most:
            raise ValueError(f"{name} must be between {least} and {most}; found {value}")
        return value


def _boolean(value: object) -> bool:
    word = str(value).lower()
    if word not in _TRUE + _FALSE:
        raise ValueError
    return word in _TRUE
