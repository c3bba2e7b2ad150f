"""Parts of a report in any format. All texts are plain texts."""

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime
from typing import TypeAlias

from ..charts.drawing import Chart
from ..charts.theme import ThemeLook
from ..frozen import frozen


@frozen
class Paragraph:
    text: str
    is_caution: bool = False


@frozen
class Bullets:
    items: tuple[str, ...]


@frozen
class ReportTable:
    """The first column names its row; `is_last_wide`: the last holds sentences."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str | None = None
    is_last_wide: bool = False


@frozen
class ReportChart:
    caption: str
    draw: Callable[[ThemeLook], Chart]


Block: TypeAlias = Paragraph | Bullets | ReportTable | ReportChart


@frozen
class Section:
    """Heading of `level` (2 or 3) and its contents."""

    title: str
    blocks: tuple[Block, ...]
    level: int = 2


@frozen(kw_only=True)
class Made:
    """Time of making and author: `by` is a key's id, or `user:` and a name; `name` is for people."""

    at: datetime
    by: str
    name: str = ""

    @property
    def author(self) -> str:
        return self.name or self.by


@frozen(kw_only=True)
class Fact:
    name: str
    value: str


@frozen(kw_only=True)
class GroupRow:
    """Row of the forest plot: `picture` is SVG, empty for figures that are not ratios."""

    attribute: str
    group: str
    records: str
    picture: str
    logged: str
    counterfactual: str
    verdict: str
    since: str


@frozen(kw_only=True)
class FirstPage:
    """First page. `axis` is SVG, and empty without pictures.

    `about` names the headline's check, `note` concerns its interval. `group` is a display name. `windows` say of
    which records the headline is. `categories` are the page's names of groups and references by their labels in tables of people.
    """

    about: str
    verdict: str
    headline: str
    cautions: tuple[str, ...]
    notes: tuple[str, ...]
    facts: tuple[Fact, ...]
    axis: str
    groups: tuple[GroupRow, ...]
    since: tuple[str, ...]
    owner: str | None = None
    attribute: str | None = None
    group: str | None = None
    note: str = ""
    windows: tuple[str, ...] = ()
    categories: Mapping[str, str] = field(default_factory=dict)


@frozen(kw_only=True)
class TimeRow:
    name: str
    picture: str
    summary: str


@frozen(kw_only=True)
class ReportedAlert:
    opened: str
    about: str
    sentence: str
    acknowledged: str
    resolved: str


@frozen(kw_only=True)
class SecondPage:
    """Second page. `axis` is SVG, empty without rows; `carried` is empty where nothing was attributed."""

    time_notes: tuple[str, ...]
    axis: str
    times: tuple[TimeRow, ...]
    alert_notes: tuple[str, ...]
    alerts: tuple[ReportedAlert, ...]
    method: tuple[str, ...]
    limits: tuple[str, ...]
    origin: tuple[Fact, ...]
    carried: str = ""


@frozen(kw_only=True)
class Attachment:
    name: str
    media_type: str
    description: str
    content: bytes


@frozen(kw_only=True)
class Document:
    """Whole report. One of tables has sections only, no pages."""

    title: str
    subtitle: str
    made: Made
    first: FirstPage | None = None
    second: SecondPage | None = None
    annex: tuple[Section, ...]
    attachments: tuple[Attachment, ...] = ()
