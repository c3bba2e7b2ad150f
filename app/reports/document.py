"""Parts of a report in any format: sections of paragraphs, lists, tables and figures. All texts are plain texts."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from ..charts.rendering import Spec
from ..charts.theme import Theme


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences. `is_caution` sets them apart."""

    text: str
    is_caution: bool = False


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list without an order."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head. The first column of a row is its name. `note` is shown below. `is_last_wide`: the last column holds sentences."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str | None = None
    is_last_wide: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart; `draw` makes it for the background of the report."""

    caption: str
    draw: Callable[[Theme], Spec]


Block: TypeAlias = Paragraph | Bullets | Table | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of that level (2 or 3) and its contents."""

    title: str
    blocks: tuple[Block, ...]
    level: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Time at which a report is made, and the person who asked for it."""

    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    made: Made
    sections: tuple[Section, ...]
