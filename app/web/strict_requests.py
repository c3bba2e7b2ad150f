"""Requests taken literally: query parameters of no effect, and bodies that two readers would understand
differently, would look understood.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar, get_args, get_origin

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from ..base.errors import FieldProblem, InvalidInput, UnsupportedMediaType
from ..base.strict_json import require_strict
from ..base.values import nearest

MOST_PROBLEMS = 100

_LONGEST = 100

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_TAKEN: dict[Callable[..., Any], tuple[str, ...]] = {}


async def known_parameters_only(request: Request) -> None:
    """Refuses unknown parameters, and repeated ones that are no lists."""
    if request.scope["query_string"]:
        require_parameters(
            [name for name, _ in request.query_params.multi_items()],
            declared_parameters(request.scope["route"]),
        )


def require_parameters(sent: Sequence[str], allowed: Mapping[str, bool]) -> None:
    """A repeated name needs True in `allowed`."""
    problems = []
    for name, times in Counter(sent).items():
        field = f"query.{name:.{_LONGEST}}"
        if name not in allowed:
            problems.append(FieldProblem(field, _describe_unknown(name, list(allowed))))
        elif times > 1 and not allowed[name]:
            problems.append(FieldProblem(field, f"is given {times:,} times; give it once"))
    if problems:
        raise InvalidInput(problems[:MOST_PROBLEMS])


def declared_parameters(route: APIRoute) -> Mapping[str, bool]:
    return dict(_list_declared(route.dependant))


def _list_declared(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    for inner in dependant.dependencies:
        yield from _list_declared(inner)
    for parameter in dependant.query_params:
        annotation = parameter.field_info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from (
                (field.alias or name, _is_list(field.annotation))
                for name, field in annotation.model_fields.items()
            )
        else:
            yield parameter.alias, _is_list(annotation)


def _is_list(annotation: Any) -> bool:  # noqa: ANN401 - a type, or a form of typing
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_list(get_args(annotation)[0])
    return origin in (list, set, frozenset, tuple) or (
        origin is not None
        and any(_is_list(argument) for argument in get_args(annotation) if get_origin(argument) is not None)
    )


def _describe_unknown(name: str, allowed: Sequence[str]) -> str:
    if not allowed:
        return "is no parameter of this address, which takes none"
    near = nearest(name, allowed) or next(
        (candidate for candidate in allowed if candidate in name or name in candidate), None
    )
    suggestion = "." if near is None else f"; did you mean {near}?"
    return f"is no parameter of this address{suggestion} It takes {', '.join(allowed)}"


def takes(*media_types: str) -> Callable[[_Endpoint], _Endpoint]:
    def mark(endpoint: _Endpoint) -> _Endpoint:
        _TAKEN[endpoint] = media_types
        return endpoint

    return mark


async def understood_only(request: Request) -> None:
    """Refuses a body that is neither strict JSON nor of another type of the route."""
    has_body = "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
    if request.method not in _WITH_BODY or not has_body:
        return
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    media_types = _TAKEN.get(request.scope["endpoint"], ())
    if media_type not in media_types and not is_json(media_type):
        expected = (
            f"one of the content types application/json, {', '.join(media_types)}"
            if media_types
            else "JSON with the content type application/json"
        )
        raise UnsupportedMediaType(f"Send {expected}; found {media_type or 'none'!r}.")
    # The route reads the body itself: it may be too large for memory.
    if not media_types:
        require_strict(await request.body())


def is_json(media_type: str) -> bool:
    return media_type == "application/json" or (
        media_type.startswith("application/") and media_type.endswith("+json")
    )
