"""Range bar: the time that a deployment's pages show, kept in the addresses of their links."""

import html
import re
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Annotated
from urllib.parse import parse_qsl, urlencode
from zoneinfo import ZoneInfo

from fastapi import Depends, Query, Request

from ..access.gate.gate import CLOCK_COOKIE
from ..base.errors import InvalidInput
from ..base.values import frozen_by_name
from ..charts.time_ranges import (
    LENGTHS,
    MAX_ZONE_CHARACTERS,
    EarlierKind,
    RangeChoice,
    RangePreset,
    read_choice,
    read_zone,
)
from ..domain.check import Span
from ..web.middleware import list_declared_parameters, require_parameters

MAX_MOMENT_CHARACTERS = 40
"""Characters of a moment in an address."""

PRESETS = {
    RangePreset.DAY: ("24 h", "The last 24 hours"),
    RangePreset.WEEK: ("7 d", "The last 7 days"),
    RangePreset.MONTH: ("30 d", "The last 30 days"),
    RangePreset.QUARTER: ("90 d", "The last 90 days"),
    RangePreset.YEAR: ("1 y", "The last 365 days"),
    RangePreset.ALL: ("All", "From the first check on"),
}

EARLIER_TIMES = {EarlierKind.PERIOD: "the period before", EarlierKind.REVISION: "the model revision before"}

COMMON_PARAMETERS = frozenset({"clock", "zone", "order"})
"""Parameters of every page: those of `read_zone_of_reader`."""

_RANGE_PARAMETERS = frozenset({"range", "from", "to"})

_TAG = re.compile(r'<(a|dialog|form)\b((?:[^>"]|"[^"]*")*)>')

_ADDRESS = re.compile(
    r'\b(href|data-close|data-after)="(\?[^"]*|/(?:deployments/|alerts/[0-9a-f]{8}-)[^"]*)"'
)

_FILTER_TIMES = frozenset({"since", "until"})
"""Parameters of the filter of records, which a chosen range replaces."""


def read_zone_of_reader(
    request: Request,
    clock: Annotated[str, Query(max_length=MAX_ZONE_CHARACTERS)] = "",
    zone: Annotated[str, Query(max_length=MAX_ZONE_CHARACTERS)] = "",
    _order: Annotated[str, Query(alias="order", max_length=20)] = "",
) -> ZoneInfo:
    """Reads the zone of the page's times: that chosen now, that of the address, or that chosen before.

    Scripts read the order of a table.

    Raises:
        InvalidInput: the zone of the address does not exist. One chosen before is then UTC.
    """
    try:
        chosen = read_zone(clock or zone or request.cookies.get(CLOCK_COOKIE, "").replace(".", "/"))
    except InvalidInput:
        if clock or zone:
            raise
        chosen = ZoneInfo("UTC")
    request.state.zone = chosen
    return chosen


async def refuse_unknown_parameters(
    request: Request, _zone: Annotated[ZoneInfo, Depends(read_zone_of_reader)]
) -> None:
    """Raises InvalidInput for a parameter that neither the route nor every page has."""
    names = [name for name, _ in request.query_params.multi_items() if name not in COMMON_PARAMETERS]
    require_parameters(names, list_declared_parameters(request.scope["route"]))


def find_zone(request: Request) -> ZoneInfo:
    """Finds the zone that `read_zone_of_reader` read; UTC where an error came before."""
    zone: ZoneInfo = getattr(request.state, "zone", ZoneInfo("UTC"))
    return zone


def read_range(
    request: Request,
    zone: Annotated[ZoneInfo, Depends(read_zone_of_reader)],
    preset: Annotated[str, Query(alias="range", max_length=20)] = "",
    start: Annotated[str, Query(alias="from", max_length=MAX_MOMENT_CHARACTERS)] = "",
    end: Annotated[str, Query(alias="to", max_length=MAX_MOMENT_CHARACTERS)] = "",
    compare: Annotated[str, Query(max_length=20)] = "",
) -> RangeChoice:
    """Reads the range, and keeps it for the page's links.

    Raises:
        InvalidInput: a member has a value that it cannot have.
    """
    choice = read_choice({"range": preset, "from": start, "to": end, "compare": compare, "zone": zone.key})
    request.state.range_choice = choice
    return choice


def find_page_range(request: Request) -> RangeChoice | None:
    """Finds the range that `read_range` read; None on a page without one."""
    choice: RangeChoice | None = getattr(request.state, "range_choice", None)
    return choice


RangeIn = Annotated[RangeChoice, Depends(read_range)]
KEEPS_RANGE = Depends(read_range)
"""Dependency of a route that shows nothing by time, so that its links keep the range."""


@frozen_by_name
class RangeLink:
    """Link of the bar; `query` is that of the same page with the link's range."""

    text: str
    title: str
    query: str
    is_chosen: bool


@frozen_by_name
class RangeBar:
    """Values of the bar; `span` is None on a list that shows everything until a range is chosen.

    `other_members` of the address are sent along by the form; `start` and `end` are on the clock of the zone.
    """

    choice: RangeChoice
    span: Span | None
    presets: tuple[RangeLink, ...]
    earlier_times: tuple[RangeLink, ...]
    other_members: tuple[tuple[str, str], ...]
    start: str
    end: str


def build_bar(
    request: Request,
    choice: RangeChoice,
    span: Span | None,
    *,
    usual: RangePreset,
    compares: bool = False,
    without: Collection[RangePreset] = (),
) -> RangeBar:
    """Builds the bar of a page. If it `compares`, it offers earlier times to compare with.

    Where a preset that the page is `without` was chosen, `usual` is shown as chosen. The cursor of a list is
    dropped from the address.
    """
    dropped_names = {*_RANGE_PARAMETERS, "compare", "zone", "clock", "cursor", *_FILTER_TIMES}
    other_members = tuple(
        (name, value)
        for name, value in request.query_params.multi_items()
        if name not in dropped_names and value
    )

    def build_link(text: str, title: str, target: RangeChoice, *, is_chosen: bool) -> RangeLink:
        return RangeLink(
            text=text,
            title=title,
            query=f"?{urlencode([*other_members, *target.query().items()])}",
            is_chosen=is_chosen,
        )

    shown_preset = None
    if choice.start is None:
        shown_preset = usual if choice.preset is None or choice.preset in without else choice.preset
    without_range = replace(choice, preset=None, start=None, end=None)
    presets = [
        build_link(*texts, replace(without_range, preset=preset), is_chosen=preset is shown_preset)
        for preset, texts in PRESETS.items()
        if preset not in without
    ]
    earlier_times = [
        build_link(
            "nothing", "Nothing earlier", replace(choice, earlier=None), is_chosen=choice.earlier is None
        ),
        *(
            build_link(text, text, replace(choice, earlier=kind), is_chosen=kind is choice.earlier)
            for kind, text in EARLIER_TIMES.items()
        ),
    ]
    return RangeBar(
        choice=choice,
        span=span,
        presets=tuple(presets),
        earlier_times=tuple(earlier_times) if compares else (),
        other_members=other_members,
        start="" if span is None else _write_for_control(span.start, choice.zone),
        end="" if span is None else _write_for_control(span.end, choice.zone),
    )


def find_chosen_span(choice: RangeChoice, now: datetime) -> Span | None:
    """Finds the time that a list is cut to; None where no range is chosen, or all of it.

    Raises:
        InvalidInput: the start is not before the end, which is now where none is chosen.
    """
    if not choice.is_chosen or (choice.preset is not None and choice.preset not in LENGTHS):
        return None
    return choice.span(now)


def keep_range(page: str, choice: RangeChoice) -> str:
    """Adds the range to links to pages of deployments and alerts, and to forms of the method GET.

    Links that choose a range and elements marked `data-range` stay. In a rendered page quotation marks of
    people's texts are escaped, so that these texts cannot be taken for a link.
    """
    parameters = choice.query()
    if not parameters:
        return page

    def extend_address(match: re.Match[str]) -> str:
        name = match[1]
        path, _, fragment = html.unescape(match[2]).partition("#")
        path, _, query = path.partition("?")
        own_parameters = parse_qsl(query, keep_blank_values=True)
        names = {name for name, _ in own_parameters}
        added = [
            (name, value)
            for name, value in parameters.items()
            if name not in names and not (name in _RANGE_PARAMETERS and names & _RANGE_PARAMETERS)
        ]
        # The template of an address after a form was sent has {id} in it.
        target = f"{path}?{urlencode([*own_parameters, *added])}{f'#{fragment}' if fragment else ''}"
        return f'{name}="{html.escape(target)}"'

    def change_tag(match: re.Match[str]) -> str:
        if "data-range" in match[2]:
            return match[0]
        tag = f"<{match[1]}{_ADDRESS.sub(extend_address, match[2])}>"
        if match[1] == "form" and 'method="get"' in match[2]:
            fields = (
                f'<input type="hidden" name="{name}" value="{html.escape(value)}">'
                for name, value in parameters.items()
            )
            return tag + "".join(fields)
        return tag

    return _TAG.sub(change_tag, page)


def _write_for_control(moment: datetime, zone: ZoneInfo) -> str:
    return f"{moment.astimezone(zone).replace(tzinfo=None):%Y-%m-%dT%H:%M}"
