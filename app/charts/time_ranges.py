"""Ranges of time that the pages of a deployment show, and their steps in pictures.

24 hours are 24 hours, also on a day on which the clocks change. Moments without an offset are on the clock of
the chosen zone.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..base.clock import HOUR, floor_to_hour
from ..base.errors import InvalidInput
from ..base.values import frozen_by_name
from ..domain.check import Span


class RangePreset(StrEnum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    ALL = "all"


class EarlierKind(StrEnum):
    """Time to compare with: the one right before, or the last one of another model revision."""

    PERIOD = "period"
    REVISION = "revision"


LENGTHS = {
    RangePreset.DAY: timedelta(days=1),
    RangePreset.WEEK: timedelta(days=7),
    RangePreset.MONTH: timedelta(days=30),
    RangePreset.QUARTER: timedelta(days=90),
    RangePreset.YEAR: timedelta(days=365),
}
"""`all` is as long as there are checks."""

USUAL_PRESET = RangePreset.WEEK
"""Preset where none is chosen, if the deployment was checked for longer."""

MAX_ZONE_CHARACTERS = 64

STEPS = (
    *(timedelta(minutes=minutes) for minutes in (1, 5, 15, 30)),
    *(HOUR * hours for hours in (1, 2, 3, 4, 6, 8, 12)),
    *(timedelta(days=days) for days in (1, 2, 7, 28, 364)),
)
"""Steps of pictures; each after 12 hours is whole days, after 2 days whole weeks."""

_Word = TypeVar("_Word", bound=StrEnum)
_WEEK = timedelta(days=7)
_MOMENT_FORM = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
_EXPECTED_MOMENT = (
    "must be a date and time such as 2026-03-01T09:00, with or without an offset such as Z or +01:00"
)


@frozen_by_name
class RangeChoice:
    """Range that a person chose; without preset and start, the page decides. No `end` is without `start`."""

    preset: RangePreset | None = None
    start: datetime | None = None
    end: datetime | None = None
    earlier: EarlierKind | None = None
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))

    @property
    def is_chosen(self) -> bool:
        return self.preset is not None or self.start is not None

    def query(self) -> dict[str, str]:
        """Returns the parameters of an address from which `read_choice` reads the choice."""
        members = {
            "range": self.preset,
            "from": self.start and write_moment(self.start),
            "to": self.end and write_moment(self.end),
            "compare": self.earlier,
            "zone": None if self.zone.key == "UTC" else self.zone.key,
        }
        return {name: str(value) for name, value in members.items() if value is not None}

    def span(
        self, now: datetime, *, usual: RangePreset = USUAL_PRESET, oldest: datetime | None = None
    ) -> Span:
        """Returns the time from `start` up to `end`; of a preset from the full hour so long ago up to now.

        `oldest` is where `all` begins; without it, or where it lies ahead of now, `all` is as long as the
        usual preset.

        Raises:
            InvalidInput: the start is not before the end, which is now if only a start is chosen.
        """
        if self.start is not None:
            end = self.end or now
            if self.start >= end:
                raise InvalidInput(
                    "from", f"must lie before {'to' if self.end else 'now'}, {write_moment(end)}"
                )
            return Span(self.start, end)
        preset = self.preset or usual
        if preset is RangePreset.ALL and oldest is not None and oldest < now:
            return Span(floor_to_hour(oldest), now)
        return Span(floor_to_hour(now) - LENGTHS.get(preset, LENGTHS[USUAL_PRESET]), now)


def choose_usual_preset(oldest: datetime | None, now: datetime) -> RangePreset:
    """Chooses all the time there is while it is shorter than the usual preset."""
    is_young = oldest is not None and oldest > floor_to_hour(now) - LENGTHS[USUAL_PRESET]
    return RangePreset.ALL if is_young else USUAL_PRESET


def read_choice(sent: Mapping[str, str]) -> RangeChoice:
    """Reads the members `range`, `from`, `to`, `compare` and `zone`; an empty one is not chosen."""
    zone = read_zone(sent.get("zone", ""))
    preset = _read_word("range", sent.get("range", ""), RangePreset)
    start = read_moment("from", sent["from"], zone) if sent.get("from") else None
    end = read_moment("to", sent["to"], zone) if sent.get("to") else None
    if preset is not None and (start is not None or end is not None):
        raise InvalidInput("range", "is given together with from or to; give a range, or from and to")
    if end is not None and start is None:
        raise InvalidInput("from", "is missing: to needs it; give both")
    earlier = _read_word("compare", sent.get("compare", ""), EarlierKind)
    choice = RangeChoice(preset=preset, start=start, end=end, earlier=earlier, zone=zone)
    if start is not None and end is not None:
        choice.span(end)
    return choice


def read_zone(name: str) -> ZoneInfo:
    """Reads the name of a time zone; an empty one is UTC. Raises InvalidInput."""
    try:
        return ZoneInfo(name[: MAX_ZONE_CHARACTERS + 1] or "UTC")
    # A name that is a path, or a folder of the database, raises other errors.
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInput(
            "zone", f"must be the name of a time zone such as Europe/Berlin, found {name!r:.100}"
        ) from error


def read_moment(name: str, text: str, zone: ZoneInfo) -> datetime:
    """Reads a moment, without an offset on the clock of the zone; an hour that comes twice is the first one.

    Raises:
        InvalidInput: it is no moment, or the clock of the zone skips it.
    """
    if not _MOMENT_FORM.fullmatch(text):
        raise InvalidInput(name, _EXPECTED_MOMENT)
    try:
        parsed = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise InvalidInput(name, _EXPECTED_MOMENT) from error
    try:
        if parsed.tzinfo is not None:
            return parsed.astimezone(UTC)
        moment = parsed.replace(tzinfo=zone).astimezone(UTC)
        if moment.astimezone(zone).replace(tzinfo=None) != parsed:
            raise InvalidInput(name, f"does not exist in {zone.key}: its clocks skip this hour")
    except OverflowError as error:
        raise InvalidInput(name, "lies outside the years 1 to 9999 in UTC") from error
    return moment


def write_moment(moment: datetime) -> str:
    plain = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{plain.isoformat(timespec='auto' if plain.second or plain.microsecond else 'minutes')}Z"


def find_period_before(span: Span) -> Span | None:
    """Finds the time of equal length right before; None if the calendar has none."""
    length = span.end - span.start
    if span.start - datetime.min.replace(tzinfo=UTC) < length:
        return None
    return Span(span.start - length, span.start)


def choose_picture_step(span: Span, limit: int) -> timedelta:
    """The shortest step of which the span has at most `limit`; beyond `STEPS`, whole weeks."""
    length = span.end - span.start
    # The ends of the span may cut the first and the last step, so one more than fits is needed.
    shortest = next((step for step in STEPS if length <= step * (limit - 1)), None)
    return _WEEK * -(-length // (_WEEK * (limit - 1))) if shortest is None else shortest


def _read_word(name: str, text: str, kind: type[_Word]) -> _Word | None:
    try:
        return kind(text) if text else None
    except ValueError as error:
        raise InvalidInput(name, f"must be one of {', '.join(kind)}") from error
