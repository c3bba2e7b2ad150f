"""Options of a report on a deployment."""

from dataclasses import dataclass

from ..domain.category_schemes import CategoryMapping


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """Options of a report on a deployment, as they were typed."""

    start: str | None
    end: str | None
    sheets: tuple[str, ...]
    attributes: tuple[str, ...]
    controls: tuple[str, ...]
    preset: str | None
    tool: str
    categories: tuple[CategoryMapping, ...] = ()
