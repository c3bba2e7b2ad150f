"""Masks secrets in log events, by key and by shape."""

import re
from collections.abc import Mapping

import structlog

MASK = "***"

_SECRET_NAME = re.compile(r"passw|secret|authorization|api[_-]?key|credential|token|cookie", re.IGNORECASE)
_SHAPES = (
    (
        re.compile(r"(evk_[A-Za-z0-9]+_)[A-Za-z0-9_-]+"),
        rf"\1{MASK}",
    ),  # the public prefix stays: it says which key
    (re.compile(r"(whsec_)[A-Za-z0-9+/=_-]+"), rf"\1{MASK}"),
    (re.compile(r"(://[^\s:/@]*):[^\s/@]+@"), rf"\1:{MASK}@"),
    (re.compile(r"([;?&](?:(?:access_)?token|sig)=)[^;?&\s)'\"]+", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE), rf"\1 {MASK}"),
)


def mask_secrets(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    return {name: _mask(name, value) for name, value in event.items()}


def remove_secrets(text: str) -> str:
    for shape, masked in _SHAPES:
        text = shape.sub(masked, text)
    return text


def _mask(name: str, value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if _SECRET_NAME.search(name):
        return MASK
    if isinstance(value, Mapping):
        return {key: _mask(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mask(name, item) for item in value]
    return remove_secrets(str(value))  # an exception or a URL object prints its secret too
