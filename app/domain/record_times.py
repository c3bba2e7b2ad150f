"""Times of records as senders write them; kinds, sources and counts of records that arrive or are refused."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from enum import StrEnum
from itertools import product
from typing import NamedTuple

from ..base.errors import InvalidInput
from ..base.values import frozen_by_name

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MAX_CLOCK_LEAD = timedelta(days=1)
"""Max lead of the sender's clock."""

KEPT = timedelta(days=31)
"""Time for which counts of arrivals are kept."""

_ISO = "ISO 8601"
_ISO_DATE = "YYYY-MM-DD"
# Forms of a text of digits, by its length: a date, or a unit of `_UNIT_MICROSECONDS`.
_FORMS_BY_DIGITS = {
    8: ["YYYYMMDD"],
    10: ["YYYYMMDDHH", "s"],
    12: ["YYYYMMDDHHMM"],
    13: ["ms"],
    14: ["YYYYMMDDHHMMSS"],
    16: ["us"],
    17: ["YYYYMMDDHHMMSSmmm"],
    18: ["dotnet", "filetime"],
    19: ["ns"],
}

_UNIT_MICROSECONDS = {
    "s": "1e6",
    "ms": "1e3",
    "us": "1",
    "ns": "1e-3",
    "dotnet": "0.1",
    "filetime": "0.1",
    "excel": "864e8",
}

_UNIT_BEGIN_SECONDS = {"dotnet": -62_135_596_800, "filetime": -11_644_473_600, "excel": -2_209_161_600}
"""Of units that do not begin in 1970, in seconds from it: the years 1 and 1601, and 30 December 1899."""

_DIGITS = re.compile("[0-9]+")
_SECONDS = re.compile(r"[0-9]{10}\.[0-9]+")
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")
_ISO_TEXT = re.compile(r"[0-9]{4}(-?)[0-9]{2}\1[0-9]{2}([T ](?!24).+)?")
# Dates, and texts, that programs write where they have no time.
_DEFAULT_DATES = frozenset(
    """\
0001-01-01
1600-12-31
1601-01-01
1753-01-01
1899-12-30
1899-12-31
1900-01-01
1904-01-01
1969-12-31
1970-01-01
1980-01-01
2038-01-19
2079-06-06
2099-12-31
2262-04-11
2999-12-31
9999-12-31
""".splitlines()
)
_DEFAULT_CELL = re.compile(
    "0|-1|2147483647|4294967295|253402300799(999)?|-62135596800|0{8}|0{14}|0000-00-00.*"
)

_FORM_OF_HOURS = re.compile("HH|ISO|^[a-z]|%[HIXc]")
_MAX_GUESSED_FROM = 100
"""Texts that a form is guessed from."""

_GUESSED_HOURS = ("", "%H", "%H%M", "%H%M%S", " %H:%M", " %H:%M:%S", " %I:%M:%S %p")
_GUESSED_DAYS = (
    "%y%m%d",
    "%Y%m%d",
    "%d%m%Y",
    "%m%d%Y",
    "%Y%d%m",
    "%d%m%y",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
)


def parse_moment(option: str, at: object) -> datetime:
    """Parses a time; UTC is taken where no offset is stated. Raises InvalidInput: names the option."""
    try:
        moment = datetime.fromisoformat(f"{at}")
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            option,
            "must be a time such as 2026-03-01T09:00Z (UTC where no offset is stated), found "
            f"{f'{at}'!r:.100}",
        ) from error


class ImpossibleTime(StrEnum):
    """Why a record has no usable time, in the order in which they count."""

    NO_TIME = "no time"
    DEFAULT_DATE = "default date"
    NOT_A_TIME = "not a time"
    NO_HOUR = "date without a time"
    TOO_EARLY = "before the first possible time"
    FUTURE = "in the future"


class TimeReading(NamedTuple):
    """A usable time in UTC, or the reason for none. `is_placed`: an offset is stated or given by the rule."""

    reason: ImpossibleTime | None
    at: datetime = EPOCH
    is_date: bool = False
    is_placed: bool = True


def list_readings(text: str, form: str | None = None) -> Iterator[tuple[str, datetime]]:
    """Yields forms in which a cell is a time of any century, and the time, with an offset if stated."""
    forms = [form or (_ISO_DATE if len(text) == len(_ISO_DATE) else _ISO)]
    if form is None and _DIGITS.fullmatch(text):
        forms = _FORMS_BY_DIGITS.get(len(text), [])
    elif form is None and _SECONDS.fullmatch(text):
        forms = ["s"]
    for name in forms:
        with suppress(ValueError, OverflowError):
            yield name, _parse(text, name)


@frozen_by_name
class TimeRule:
    """Possible times, and their form where it is stated. `zone` is that of times without an offset, else UTC."""

    earliest: datetime
    latest: datetime
    form: str | None = None
    zone: tzinfo | None = UTC

    @classmethod
    def at(cls, now: datetime, earliest: date | str | None = None) -> "TimeRule":
        """Allows times from `earliest`, by default 1 January 20 years before, up to a day ahead of now.

        Raises:
            InvalidInput: `earliest` is no time.
        """
        first = parse_moment("earliest", f"{now.year - 20}-01-01" if earliest is None else earliest)
        return cls(earliest=max(first, EPOCH), latest=now + MAX_CLOCK_LEAD)

    def read(self, text: str) -> TimeReading:
        """Reads a cell. Raises InvalidInput if it may be two times."""
        if text == "":
            return TimeReading(ImpossibleTime.NO_TIME)
        text = text.strip()
        times_as_written = dict(list_readings(text, self.form))
        readings = {
            form: at if at.tzinfo else at.replace(tzinfo=self.zone or UTC)
            for form, at in times_as_written.items()
        }
        # Digits of another century are most often written in another form.
        possible = {
            form: at
            for form, at in readings.items()
            if form in (self.form, _ISO, _ISO_DATE) or EPOCH <= at <= self.latest
        }
        if len(possible) > 1:
            described = " or ".join(f"{at:%Y-%m-%d %H:%M} ({form})" for form, at in possible.items())
            raise InvalidInput(
                "time", f"{text!r} may be {described}; say how it is written with --time-format"
            )
        if _DEFAULT_CELL.fullmatch(text) or any(map(_is_default, (possible or readings).values())):
            return TimeReading(ImpossibleTime.DEFAULT_DATE)
        if not possible:
            return TimeReading(ImpossibleTime.NOT_A_TIME)
        [(form, at)] = possible.items()
        reason = None
        if at < self.earliest:
            reason = ImpossibleTime.TOO_EARLY
        elif at > self.latest:
            reason = ImpossibleTime.FUTURE
        return TimeReading(
            reason,
            at.astimezone(UTC),
            not _FORM_OF_HOURS.search(form),
            (times_as_written[form].tzinfo or self.zone) is not None,
        )

    def guess_form(self, texts: Sequence[str]) -> str | None:
        """Finds the first usual form in which all texts are possible times."""
        patterns = (day + hour for hour, day in product(_GUESSED_HOURS, _GUESSED_DAYS))
        forms = (replace(self, form=form) for form in [*patterns, *_UNIT_MICROSECONDS])
        return next(
            (rule.form for rule in forms if texts and all(rule.read(text).reason is None for text in texts)),
            None,
        )


@dataclass(slots=True)
class LeftOutTimes:
    """Records left out for one reason; `first` is the first such cell, in `record` from 1."""

    reason: ImpossibleTime
    first: str
    record: int
    count: int = 0

    def __str__(self) -> str:
        cell = "" if self.reason is ImpossibleTime.NO_TIME else f"{self.first!r:.100} "
        return f"{self.count:,} {self.reason} (first {cell}in record {self.record:,})"


@dataclass(slots=True)
class TimeTally:
    """Records without a possible time, and cells of digits, which may be misread."""

    records: int = 0
    digits: int = 0
    unread_digits: int = 0
    unread: list[str] = field(default_factory=list)
    left_out: dict[ImpossibleTime, LeftOutTimes] = field(default_factory=dict)

    def add(
        self, reason: ImpossibleTime | None, text: str, record: int | None = None, count: int = 1
    ) -> None:
        """Adds `count` records with this cell; `record` is the number of the first, by default the next."""
        record = self.records + 1 if record is None else record
        self.records += count
        if reason is ImpossibleTime.NOT_A_TIME and len(self.unread) < _MAX_GUESSED_FROM:
            self.unread.append(text)
        if _DIGITS.fullmatch(text):
            self.digits += count
            self.unread_digits += count * (reason is ImpossibleTime.NOT_A_TIME)
        if reason is not None:
            self.left_out.setdefault(reason, LeftOutTimes(reason, text, record)).count += count

    def find_refusal(self, rule: TimeRule) -> str | None:
        """Explains why the column is refused; None if enough of its times are usable."""
        count = sum(times.count for times in self.left_out.values())
        # Where some digits are no date, others may be a wrong one, such as a month that is a day.
        if 2 * count <= self.records and (self.unread_digits < 3 or 100 * self.unread_digits <= self.digits):  # noqa: PLR2004
            return None
        most_frequent, *less_frequent = sorted(self.left_out.values(), key=lambda times: -times.count)
        reasons = [
            f"{most_frequent}".removesuffix(")") + f"{_name_year(most_frequent.first)})",
            *(f"{times.count:,} {times.reason}" for times in less_frequent),
        ]
        form = rule.guess_form(self.unread)
        suggestion = "" if form is None else f" (here perhaps {form!r})"
        lead = f"has no usable time in {count:,} of {self.records:,} records: {', '.join(reasons)}"
        return f"{lead}. Say how it is written with --time-format{suggestion}"


def _name_year(text: str) -> str:
    """Says the year of a text of digits that may be a date of another century; else empty."""
    [form, *_] = _FORMS_BY_DIGITS.get(len(text), [""]) if _DIGITS.fullmatch(text) else [""]
    is_of_other_century = form.startswith("YYYY") and text[:2] not in ("19", "20")
    return f"; as {form} it is in the year {text[:4]}" if is_of_other_century else ""


def _is_default(at: datetime) -> bool:
    # A date that UTC would move out of the calendar is a default as it is written.
    return at.date().isoformat() in _DEFAULT_DATES or at.astimezone(UTC).date().isoformat() in _DEFAULT_DATES


def _parse(text: str, form: str) -> datetime:
    """Parses a text. Raises ValueError or OverflowError where it is no time of the form."""
    if form in _UNIT_MICROSECONDS and _NUMBER.fullmatch(text):
        count = Decimal(text) * Decimal(_UNIT_MICROSECONDS[form])
        # Excel's 15 digits miss the full hour by microseconds.
        return EPOCH + timedelta(
            seconds=_UNIT_BEGIN_SECONDS.get(form, 0),
            microseconds=int(round(count, -3) if form == "excel" else count),
        )
    if form.startswith(("ISO", "YYYY")):
        iso = f"{text[:8]}T{text[8:14]}.{text[14:]}".rstrip("T.") if _DIGITS.fullmatch(text) else text
        if not _ISO_TEXT.fullmatch(iso):
            raise ValueError(text)
        return datetime.fromisoformat(iso)
    at = datetime.strptime(text, form)  # noqa: DTZ007 - the offset is optional
    # Python also takes fewer digits than a pattern has.
    if _DIGITS.fullmatch(text) and not at.strftime(form).startswith(text):
        raise ValueError(text)
    return at


class LogKind(StrEnum):
    """Payload records, or feedback records."""

    PAYLOAD = "payload"
    FEEDBACK = "feedback"


class RecordSource(StrEnum):
    """The way by which a record came in. Senders of the REST API name theirs; `rest` is one that names
    none.
    """

    REST = "rest"
    CLIENT = "client"
    IMPORT = "import"
    GATEWAY = "gateway"
    EVENT = "event"


STATED_SOURCES = frozenset({RecordSource.REST, RecordSource.CLIENT, RecordSource.IMPORT})
"""Sources that a sender of the REST API may state."""


def read_stated_source(name: str) -> RecordSource:
    """Reads the source that a sender states. Raises InvalidInput if none may state it."""
    if name not in STATED_SOURCES:
        raise InvalidInput(
            "Evenhand-Source", f"must be one of {', '.join(sorted(STATED_SOURCES))}, found {name[:20]!a}"
        )
    return RecordSource(name)


class RejectionReason(StrEnum):
    """Kinds of reasons for which a record is not stored. None holds a value, so that counts hold no
    personal data.
    """

    MISSING = "missing"
    UNKNOWN_FIELD = "unknown_field"
    WRONG_TYPE = "wrong_type"
    OUT_OF_RANGE = "out_of_range"
    UNUSABLE_TEXT = "unusable_text"
    UNUSABLE_TIME = "unusable_time"
    WRONG_SHAPE = "wrong_shape"
    TOO_LARGE = "too_large"
    CONFLICT = "conflict"
    ORPHAN = "orphan"
    ERASED = "erased"
    UNREADABLE = "unreadable"
    """Counts as one, whatever the request held."""

    OTHER = "other"


@frozen_by_name
class Arrivals:
    """Records that were stored in one hour, by the service's clock, from one source."""

    hour: datetime
    source: RecordSource
    kind: LogKind
    records: int


@frozen_by_name
class RejectionCount:
    """Records of one hour that were not stored. `field` is empty where the service does not know it."""

    hour: datetime
    source: RecordSource
    kind: LogKind
    reason: RejectionReason
    field: str
    records: int
