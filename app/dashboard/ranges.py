"""Range bar: the time that the pages of a deployment show. It is in the address, and every link of these pages keeps it."""

import html
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated
from urllib.parse import parse_qsl, urlencode
from zoneinfo import ZoneInfo

from fastapi import Depends, Query, Request

from ..domain.checks import Span
from ..domain.time_ranges import LENGTHS, MAX_ZONE, USUAL, Earlier, RangeChoice, RangePreset, read_choice

MAX_MOMENT = 40
"""Max characters of a moment in an address."""

PRESETS: Mapping[RangePreset, str] = {
    RangePreset.DAY: "24 h",
    RangePreset.WEEK: "7 d",
    RangePreset.MONTH: "30 d",
    RangePreset.QUARTER: "90 d",
    RangePreset.YEAR: "1 y",
    RangePreset.ALL: "All",
}
PRESET_TITLES: Mapping[RangePreset, str] = {
    RangePreset.DAY: "The last 24 hours",
    RangePreset.WEEK: "The last 7 days",
    RangePreset.MONTH: "The last 30 days",
    RangePreset.QUARTER: "The last 90 days",
    RangePreset.YEAR: "The last 365 days",
    RangePreset.ALL: "From the first check on",
}
EARLIER_TIMES: Mapping[Earlier, str] = {Earlier.PERIOD: "the period before", Earlier.REVISION: "the model revision before"}

_TIMES = frozenset({"range", "from", "to"})
_KEPT_ATTRIBUTES = re.compile(r'<(a|dialog|form)\b((?:[^>"]|"[^"]*")*)>')
_ADDRESS = re.compile(r'\b(href|data-close|data-after)="(\?[^"]*|/(?:deployments/|alerts/[0-9a-f]{8}-)[^"]*)"')
_OF_FILTERS = frozenset({"since", "until"})
"""Members of the filter of records, which are about time, too: who chooses a range lets go of them."""


def read_range(
    request: Request,
    preset: Annotated[str, Query(alias="range", max_length=20)] = "",
    start: Annotated[str, Query(alias="from", max_length=MAX_MOMENT)] = "",
    end: Annotated[str, Query(alias="to", max_length=MAX_MOMENT)] = "",
    compare: Annotated[str, Query(max_length=20)] = "",
    zone: Annotated[str, Query(max_length=MAX_ZONE)] = "",
) -> RangeChoice:
    """Returns the range of the address, and keeps it for the links of the page.

    Raises:
        InvalidInput: a member of it is none that it can be.
    """
    choice = read_choice({"range": preset, "from": start, "to": end, "compare": compare, "zone": zone})
    request.state.range_choice = choice
    return choice


def range_of(request: Request) -> RangeChoice | None:
    """Returns the range that `read_range` found in the address; None on a page without one."""
    choice: RangeChoice | None = getattr(request.state, "range_choice", None)
    return choice


RangeIn = Annotated[RangeChoice, Depends(read_range)]
"""Range of the address. A route that shows nothing by time declares it as a dependency, so that its links keep it."""

KEEPS_RANGE = Depends(read_range)


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeLink:
    """One choice of the bar: its text, its title, the query that chooses it, and whether it is chosen."""

    text: str
    title: str
    query: str
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeBar:
    """The bar of one page. `span` is None on a list that shows everything until a range is chosen.

    `others` are the other members of the address, which the form sends along; `start` and `end` are what its controls for times show, on
    the clock of the zone.
    """

    choice: RangeChoice
    span: Span | None
    presets: tuple[RangeLink, ...]
    earlier_times: tuple[RangeLink, ...]
    utc: RangeLink
    others: tuple[tuple[str, str], ...]
    start: str
    end: str

    @property
    def zone(self) -> ZoneInfo:
        """Returns the zone on whose clock the bar shows times."""
        return self.choice.zone


def build_bar(
    request: Request,
    choice: RangeChoice | None,
    span: Span | None,
    *,
    usual: RangePreset = USUAL,
    compares: bool = False,
    without: Collection[RangePreset] = (),
) -> RangeBar:
    """Returns the bar of the page that was asked for. `compares`: the page can compare with an earlier time.

    The page has no presets that it is `without`; where one of them was chosen on another page, the `usual` one is shown as chosen. Of the
    other members of the address it keeps all but the place in a list, which belongs to another time.
    """
    choice = choice or RangeChoice()
    left_out = {*_TIMES, "compare", "zone", "cursor", *_OF_FILTERS}
    others = tuple((name, value) for name, value in request.query_params.multi_items() if name not in left_out and value)

    def link(text: str, title: str, chosen: RangeChoice, *, is_chosen: bool) -> RangeLink:
        return RangeLink(text=text, title=title, query=f"?{urlencode([*others, *chosen.query().items()])}", is_chosen=is_chosen)

    present = None if choice.start is not None else choice.preset or usual
    present = usual if present in without else present
    bare = replace(choice, preset=None, start=None, end=None)
    presets = [
        link(text, PRESET_TITLES[preset], replace(bare, preset=preset), is_chosen=preset is present)
        for preset, text in PRESETS.items()
        if preset not in without
    ]
    earlier_times = [
        link("nothing", "Nothing earlier", replace(choice, earlier=None), is_chosen=choice.earlier is None),
        *(link(text, text, replace(choice, earlier=kind), is_chosen=kind is choice.earlier) for kind, text in EARLIER_TIMES.items()),
    ]
    utc = replace(choice, zone=ZoneInfo("UTC"))
    return RangeBar(
        choice=choice,
        span=span,
        presets=tuple(presets),
        earlier_times=tuple(earlier_times) if compares else (),
        utc=link("UTC", "Times in UTC", utc, is_chosen=choice.zone.key == "UTC"),
        others=others,
        start="" if span is None else _of_control(span.start, choice.zone),
        end="" if span is None else _of_control(span.end, choice.zone),
    )


def chosen_span(choice: RangeChoice | None, now: datetime) -> Span | None:
    """Returns the time that a list is cut to; None where no range is chosen, or all of it.

    Raises:
        InvalidInput: the start is not before now, which is the end where none is chosen.
    """
    if choice is None or not choice.is_chosen or (choice.preset is not None and choice.preset not in LENGTHS):
        return None
    return choice.span(now)


def keep_range(page: str, choice: RangeChoice) -> str:
    """Returns the page whose links to pages of deployments and alerts, and whose forms of the method GET, carry the chosen range along.

    Links that choose a range themselves are left alone, and so is everything marked with `data-range`. Texts of people cannot be
    taken for a link: in a rendered page their quotation marks are escaped.
    """
    kept = choice.query()
    if not kept:
        return page

    def extend(found: re.Match[str]) -> str:
        name, address = found[1], html.unescape(found[2])
        path, _, fragment = address.partition("#")
        path, _, query = path.partition("?")
        present = parse_qsl(query, keep_blank_values=True)
        names = {each for each, _ in present}
        added = [(each, value) for each, value in kept.items() if each not in names and not (each in _TIMES and names & _TIMES)]
        # The template of an address after a form was sent has {id} in it, in the path.
        whole = f"{path}?{urlencode([*present, *added])}{f'#{fragment}' if fragment else ''}"
        return f'{name}="{html.escape(whole)}"'

    def change(found: re.Match[str]) -> str:
        if "data-range" in found[2]:
            return found[0]
        tag = f"<{found[1]}{_ADDRESS.sub(extend, found[2])}>"
        if found[1] == "form" and 'method="get"' in found[2]:
            fields = (f'<input type="hidden" name="{name}" value="{html.escape(value)}">' for name, value in kept.items())
            return tag + "".join(fields)
        return tag

    return _KEPT_ATTRIBUTES.sub(change, page)


def _of_control(moment: datetime, zone: ZoneInfo) -> str:
    """Returns the moment as a control for times shows it, to the minute."""
    return f"{moment.astimezone(zone).replace(tzinfo=None):%Y-%m-%dT%H:%M}"
