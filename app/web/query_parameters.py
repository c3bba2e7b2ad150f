"""Refuses query parameters of no effect, which would look understood."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from ..base.errors import FieldProblem, InvalidInput
from ..base.values import nearest

MOST_PROBLEMS = 100
"""Max parameters that one answer names."""

_LONGEST = 100


async def known_parameters_only(request: Request) -> None:
    """Refuses unknown parameters, and repeated ones that are no lists."""
    if request.scope["query_string"]:
        require_parameters(
            [name for name, _ in request.query_params.multi_items()],
            declared_parameters(request.scope["route"]),
        )


def require_parameters(sent: Sequence[str], allowed: Mapping[str, bool]) -> None:
    """Refuses unknown names, and repeated ones whose value in `allowed` is False."""
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
    """Names in order; True: the parameter may be repeated."""
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
