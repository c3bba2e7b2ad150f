"""Texts of figures, moments and states on pages. An absent value reads as a dash.

The names of filters of templates are in `FILTERS`.
"""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from ..base.values import frozen, isolate
from ..checks.views.headlines import VERDICT_WORDS
from ..checks.views.logged_view import QUALITY
from ..checks.views.view_shapes import Change, Outcomes, SubRange
from ..domain.check import Measurement
from ..statistics.catalogue import CATALOGUE
from ..statistics.catalogue.metric import CountFigure, RateFigure
from ..statistics.e_values.state_words import capitalise
from ..statistics.sentences.figure_sentences import (
    MAX_GAP_DIGITS,
    count_digits,
    round_gap,
    say_percent,
    write_limits,
    write_minus,
)

ABSENT = "–"

_DATA_SETS = {
    "as_logged": "as logged",
    "counterfactual": "counterfactual",
    "openscale": "records and copies, as OpenScale counts",
    "labelled": "labelled records",
    "training": "training data",
    "mitigated": "before and after mitigation",
    "mitigated_labelled": "labelled, before and after mitigation",
}

# Not within a longer word: ids have digits next to hyphens, too.
_NUMBER_RANGE = re.compile(r"(?<![\w-])\d{1,6}(?:\.\d{1,6})?(?:[–-]\d{1,6}(?:\.\d{1,6})?)+(?![\w-])")

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

# Texts of people, values of forms and attributes that programs read stay; a day may be an element of its own.
_MOMENT = re.compile(
    r"<(code|pre|textarea|option|svg|bdi)\b(?! class=\"whole\")[^>]*>.*?</\1>"
    r'|\b(?:value|href|datetime|data-[a-z-]+)="[^"]*"'
    r"|(?P<day>\d{4}-\d\d-\d\d)(?:</bdi>)? (?P<time>\d\d:\d\d(?::\d\d)?)\b"
    r"(?: (?P<until>to|–|and) (?P<end>\d\d:\d\d)\b)?"
    r"(?! UTC[+-])(?: UTC)?",
    re.DOTALL,
)

_MIN_DIGITS, _MIN_SHARE_DIGITS = 2, 1
"""Decimals of a figure, and of one in per cent."""

_ONE_DECIMAL_FROM = 1000
"""Figures from here on have one decimal."""

_PERCENT_SIGN = "\u00a0%"

_POINTS_UNIT = "\u00a0points"
"""Units after a space at which no line ends."""

_CHANGES_OF_SHARES = frozenset(change for *_, change in QUALITY)
"""Metrics in percentage points."""

_CHANGED_SHARES = frozenset(share for *shares, _ in QUALITY for share in shares)
"""Metrics in per cent, before and after mitigation."""


@frozen
class Number:
    """Value with its 95 % interval; without one `text` is a dash and `reason` says why."""

    text: str
    interval: str
    reason: str | None


@frozen
class RoundedChange:
    """Share before and after mitigation, and its change, which are all shown with `digits`."""

    before: Measurement
    after: Measurement | None
    change: Measurement | None
    digits: int


def write_figure(value: float | None) -> str:
    return ABSENT if value is None else write_minus(f"{value:.2f}")


def write_count(value: float | None) -> str:
    """Writes `12,345`; a number that is not whole has one decimal."""
    if value is None:
        return ABSENT
    return write_minus(f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}")


def write_interval(ends: tuple[float | None, float | None]) -> str:
    """Writes `0.55 to 0.73`; an interval without a bound is `0.55 and more` or `up to 0.73`."""
    return join_ends(*(None if end is None else write_figure(end) for end in ends))


def join_ends(lower: str | None, upper: str | None) -> str:
    if lower is None and upper is None:
        return ABSENT
    if upper is None:
        return f"{lower} and more"
    return f"up to {upper}" if lower is None else f"{lower} to {upper}"


def write_limits_or_dash(ends: tuple[float | None, float | None]) -> str:
    return ABSENT if ends == (None, None) else write_limits(ends)


def write_time(at: datetime | None) -> str:
    return ABSENT if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def put_in_zone(page: str, zone: ZoneInfo) -> str:
    """Rewrites the moments of a page as `2026-11-22 10:00 UTC+01:00`."""
    if zone.key == "UTC":
        return page

    def write_moment(match: re.Match[str]) -> str:
        if match["day"] is None:
            return match[0]
        try:
            moments = [
                datetime.fromisoformat(f"{match['day']}T{time}+00:00").astimezone(zone)
                for time in (match["time"], match["end"])
                if time
            ]
        except (ValueError, OverflowError):
            return match[0]
        closing = "</bdi>" if "</bdi>" in match[0] else ""
        offset = f"{moments[0]:%z}"
        end = ""
        if match["end"] is not None:
            day = "" if moments[1].date() == moments[0].date() else f"{moments[1]:%Y-%m-%d} "
            end = f" {match['until']} {day}{moments[1]:%H:%M}"
        clock = moments[0].strftime("%H:%M:%S"[: len(match["time"])])
        return f"{moments[0]:%Y-%m-%d}{closing} {clock}{end} UTC{offset[:3]}:{offset[3:5]}"

    return _MOMENT.sub(write_moment, page)


def write_time_of_text(at: object) -> str:
    """Writes a time in ISO 8601 as `write_time` does; another text stays."""
    try:
        return write_time(datetime.fromisoformat(str(at)))
    except ValueError:
        return str(at)


def write_plain_json(value: object) -> str:
    """Writes JSON for people: letters of all scripts as they are; an absent value is `nothing`."""
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def write_iso_time(at: datetime | None) -> str:
    return "" if at is None else at.astimezone(UTC).isoformat()


def write_age(at: datetime | None, now: datetime) -> str:
    if at is None:
        return ABSENT
    age = now - at
    if age < _MINUTE:
        return "just now"
    unit, name = next(
        (unit, name) for unit, name in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")) if age >= unit
    )
    number = age // unit
    return f"{number} {name}{'s' if number > 1 else ''} ago"


def name_verdict(verdict: str | None) -> str:
    return ABSENT if verdict is None else VERDICT_WORDS.get(verdict, verdict.replace("_", " "))


def name_data_set(name: str | None) -> str:
    """Names the data of a figure: `openscale` reads `records and copies, as OpenScale counts`."""
    return ABSENT if name is None else _DATA_SETS.get(name, name.replace("_", " "))


def spell_name(name: str | None) -> str:
    """Writes `disparate impact` for `disparate_impact`."""
    return ABSENT if name is None else name.replace("_", " ")


def keep_unbroken(text: str) -> Markup:
    """Keeps ranges of numbers and days in one line: `aged 26–75`, `2026-11-23`. The text is escaped."""
    isolated = _NUMBER_RANGE.sub(r'<bdi class="whole">\g<0></bdi>', str(escape(text)))
    return Markup(isolated)  # noqa: S704 - escaped before


def decode_query(query: object) -> str:
    """Writes the query of an address for people: `since: 2025-11-26T06:20:00+00:00, preset: ll144`."""
    members = parse_qsl(str(query), keep_blank_values=True)
    return ", ".join(f"{name}: {value}" for name, value in members) or str(query)


def write_whole_number(number: float | None) -> str:
    return ABSENT if number is None else f"{number:,.0f}"


def write_percent(rate: float | None) -> str:
    """Writes `37 %`; below 10 % with one decimal."""
    return ABSENT if rate is None else f"{say_percent(rate)} %"


def format_measurement(measurement: Measurement, min_digits: int = _MIN_SHARE_DIGITS) -> Number:
    """Writes a share in per cent, its change in percentage points, a count, or a number.

    `min_digits` is the least number of digits of shares and their changes.
    """
    metric = CATALOGUE[measurement.metric]
    ends = (measurement.lower, measurement.upper)
    marks = (measurement.lower_limit, measurement.upper_limit, metric.ideal)
    if measurement.value is None:
        return Number(ABSENT, ABSENT, measurement.reason or "no reason is known")
    if isinstance(metric.measure, RateFigure) or measurement.metric in _CHANGED_SHARES:
        return _write_number(measurement.value, ends, marks, min_digits, scale=100, unit=_PERCENT_SIGN)
    if measurement.metric in _CHANGES_OF_SHARES:
        return _write_number(
            measurement.value, ends, (), min_digits, scale=100, unit=_POINTS_UNIT, is_change=True
        )
    if isinstance(metric.measure, CountFigure):
        interval = join_ends(*(None if end is None else write_count(end) for end in ends))
        return Number(write_count(measurement.value), interval, None)
    return _write_number(measurement.value, ends, marks, _MIN_DIGITS)


def _write_number(
    value: float,
    ends: tuple[float | None, float | None],
    marks: tuple[float | None, ...],
    min_digits: int,
    *,
    scale: int = 1,
    unit: str = "",
    is_change: bool = False,
) -> Number:
    """Writes value and interval with digits that keep them apart from 0 and the marks."""
    zero_and_marks = (0.0, *(None if mark is None else scale * mark for mark in marks))
    numbers = [None if number is None else scale * number for number in (value, *ends)]
    digits = max(count_digits(number, zero_and_marks, min_digits) for number in numbers if number is not None)
    text, *end_texts = (
        None
        if number is None
        else f"{'+' if is_change and number > 0 else ''}{_write_digits(number, digits)}"
        for number in numbers
    )
    interval = join_ends(*end_texts)
    return Number(f"{text}{unit}", interval if interval == ABSENT else f"{interval}{unit}", None)


def _write_digits(value: float, digits: int) -> str:
    if abs(value) >= _ONE_DECIMAL_FROM:
        return write_minus(f"{value:,.1f}")
    # A value that rounds to zero is not zero; and there is no negative zero for people.
    return write_minus(f"{value:.2g}" if value and not round(value, digits) else f"{value + 0.0:.{digits}f}")


def round_change(change: Change) -> RoundedChange:
    """Finds the digits at which the three agree; where none do, the change is that of the rounded shares."""
    before = change.before
    after = change.after
    difference = change.change
    if (
        before.value is None
        or after is None
        or after.value is None
        or difference is None
        or difference.value is None
    ):
        return RoundedChange(before, after, difference, _MIN_SHARE_DIGITS)
    gap = round_gap(100 * after.value, 100 * before.value)
    if gap.digits == MAX_GAP_DIGITS:
        difference = replace(difference, value=gap.gap / 100)
    return RoundedChange(before, after, difference, gap.digits)


def format_share(outcomes: Outcomes | SubRange) -> Number:
    if outcomes.share is None:
        return Number(ABSENT, ABSENT, outcomes.reason or "no reason is known")
    ends = (outcomes.lower, outcomes.upper)
    return _write_number(outcomes.share, ends, (), _MIN_SHARE_DIGITS, scale=100, unit=_PERCENT_SIGN)


FILTERS = {
    "ago": write_age,
    "capitalised": capitalise,
    "count": write_count,
    "data_set": name_data_set,
    "decoded_query": decode_query,
    "figure": write_figure,
    "interval": write_interval,
    "iso": write_iso_time,
    "isolated": isolate,
    "limits": write_limits_or_dash,
    "minus": write_minus,
    "moment": write_time,
    "moment_of_text": write_time_of_text,
    "percent": write_percent,
    "plain_json": write_plain_json,
    "unbroken": keep_unbroken,
    "verdict": name_verdict,
    "whole": write_whole_number,
    "words": spell_name,
}
