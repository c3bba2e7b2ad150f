"""What a report consists of, whatever it is written as: sections of paragraphs, lists, tables and figures. All texts are plain texts."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from app.charts.rendering import Spec
from app.charts.theme import Theme


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
    """Rows under a head. The first column of a row is its name. `note` is said below. `is_last_wide`: the last column holds sentences."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str | None = None
    is_last_wide: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart; `draw` makes it for the background that it is to stand on."""

    caption: str
    draw: Callable[[Theme], Spec]


Block: TypeAlias = Paragraph | Bullets | Table | Figure


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of that level (2 or 3) and what stands under it."""

    title: str
    blocks: tuple[Block, ...]
    level: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """When a report is made, and by whom."""

    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    made: Made
    sections: tuple[Section, ...]
