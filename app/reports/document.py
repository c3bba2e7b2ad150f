"""Parts of a report in any format: sections of paragraphs, lists, tables and figures. All texts are plain texts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from ..charts.drawing import Chart
from ..charts.theme import ThemeLook


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
class ReportTable:
    """Rows under a head. The first column of a row is its name. `note` is shown below. `is_last_wide`: the last column holds sentences."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str | None = None
    is_last_wide: bool = False


@dataclass(frozen=True, slots=True)
class ReportChart:
    """A chart; `draw` makes it in the look of the report."""

    caption: str
    draw: Callable[[ThemeLook], Chart]


Block: TypeAlias = Paragraph | Bullets | ReportTable | ReportChart


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of that level (2 or 3) and its contents."""

    title: str
    blocks: tuple[Block, ...]
    level: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Time at which a report is made, and who asked for it: `by` is a key's id, or `user:` and a name; `name` is for people."""

    at: datetime
    by: str
    name: str = ""

    @property
    def author(self) -> str:
        """Returns the name of the person or the key; of one without a name its id."""
        return self.name or self.by


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A name and its value."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One row of the forest plot: `picture` is SVG, empty for figures that are not ratios; texts have the same figures."""

    attribute: str
    group: str
    records: str
    picture: str
    logged: str
    counterfactual: str
    verdict: str
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPage:
    """The first page: `headline` in one sentence, the groups, since when, the verdict. `axis` is SVG, and empty without pictures.

    `about` says which check the headline is about. `owner` is that of the deployment when the report is made; None: nobody is named.
    `attribute` and `group` are those of the headline, the group by its display name; None where it is about none. `note` is on its
    interval; it may be empty. `windows` say of which records the headline is, and what longer times show. `categories` are the names of
    the groups and references of that page by their labels in tables of people.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRow:
    """One attribute on one data set over the time; `picture` is SVG."""

    name: str
    picture: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedAlert:
    """One alert, and the actions of people on it."""

    opened: str
    about: str
    sentence: str
    acknowledged: str
    resolved: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondPage:
    """The second page: time, alerts and actions, method, limits, and the origin of the report. `axis` is SVG, empty without rows.

    `carried` says what carries the gap of a group; it is empty where nothing was attributed.
    """

    time_notes: tuple[str, ...]
    axis: str
    times: tuple[TimeRow, ...]
    alert_notes: tuple[str, ...]
    alerts: tuple[ReportedAlert, ...]
    method: tuple[str, ...]
    limits: tuple[str, ...]
    origin: tuple[Fact, ...]
    carried: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that the PDF carries."""

    name: str
    media_type: str
    description: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole report. One on fairness has two pages, and an annex where it was asked for; one of tables has nothing but its sections."""

    title: str
    subtitle: str
    made: Made
    first: FirstPage | None = None
    second: SecondPage | None = None
    annex: tuple[Section, ...] = ()
    attachments: tuple[Attachment, ...] = ()
