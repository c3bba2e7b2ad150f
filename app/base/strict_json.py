"""JSON taken literally: a text that two readers would understand differently is refused."""

import json
import re
from typing import Any

from .encodings import locate_fault
from .errors import InvalidInput

JsonObject = dict[str, Any]

_MAX_SHOWN = 100

_SIGNIFICANT_DIGIT = re.compile(r"[1-9]")


def parse_json(text: str | bytes, otherwise: Any) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def require_strict(body: bytes) -> None:
    """Raises InvalidInput if an object names a member twice, a number is so small that it would be read as 0,
    or the body is not UTF-8.

    Text that is not JSON passes, because its reader reports it better.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Another reader could guess another encoding.
        raise InvalidInput("body", f"is not JSON in UTF-8: {locate_fault(error)}") from error
    if "\0" in text:
        raise InvalidInput("body", "is not JSON in UTF-8")
    try:
        json.loads(text, object_pairs_hook=_refuse_repeated, parse_float=_refuse_vanishing)
    except _NotStrict as error:
        raise InvalidInput("body", str(error)) from error
    except (ValueError, RecursionError):
        return


def vanishes(number: str) -> bool:
    return float(number) == 0 and _SIGNIFICANT_DIGIT.search(re.split("[eE]", number)[0]) is not None


class _NotStrict(Exception):
    """The reason, in words that follow a field's name."""


def _refuse_repeated(members: list[tuple[Any, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = dict(members)
    if len(document) < len(members):
        names = set()
        for name, _ in members:
            if name in names:
                shown_name = name[:_MAX_SHOWN] if name.isprintable() else ascii(name[:_MAX_SHOWN])[1:-1]
                raise _NotStrict(f"names the member '{shown_name}' twice in one object")
            names.add(name)
    return document


def _refuse_vanishing(text: str) -> float:
    if vanishes(text):
        raise _NotStrict(
            f"holds the number {text:.{_MAX_SHOWN}}, which is too small for double precision and would be "
            "read as 0"
        )
    return float(text)
