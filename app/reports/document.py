"""Parts of a report in any format, its figures as texts, and the whole as plain data for both templates.

Figures have four digits after the point. All texts are plain texts. At the end the PDF, which Typst sets.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from importlib.resources import files
from typing import Any, Literal

import typst

from ..base.values import frozen, frozen_by_name, isolate
from ..charts.pictures.drawing import LOOKS, Chart, Theme, ThemeLook, load_fonts, replace_undrawable
from ..checks.views.headlines import VERDICT_WORDS
from ..domain.check import Measurement
from ..statistics.catalogue import CATALOGUE
from ..statistics.catalogue.metric import RateFigure
from ..statistics.sentences.figure_sentences import choose_joint, count_digits, write_minus

_PICTURES = {"svg", "picture", "axis"}
"""Members that are SVG, whose text is not isolated."""

ABSENT = "–"
"""In place of a figure that there is not."""

_ONE_DECIMAL_FROM = 1000
"""Numbers of at least this size have one decimal, others four."""

_MIN_DIGITS = 2


@frozen
class Paragraph:
    text: str
    is_caution: bool = False


def build_caution(text: str) -> Paragraph:
    return Paragraph(text, is_caution=True)


@frozen
class Bullets:
    items: Sequence[str]


@frozen
class ReportTable:
    """Table; its first column names the row. `is_last_wide`: the last column holds sentences."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str | None = None
    is_last_wide: bool = False


@frozen
class ReportChart:
    caption: str
    draw: Callable[[ThemeLook], Chart]


Json = dict[str, Any]

Block = Paragraph | Bullets | ReportTable | ReportChart


@frozen
class Section:
    title: str
    blocks: Sequence[Block]
    level: int = 2


@frozen
class ReportStamp:
    """Time and author of a report: `by` is a key's id, or `user:` and a name; `name` is for people."""

    at: datetime
    by: str
    name: str = ""

    @property
    def author(self) -> str:
        return self.name or self.by


@frozen
class Fact:
    name: str
    value: str


@frozen_by_name
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


@frozen_by_name
class FirstPage:
    """First page of a report. `axis` is SVG, and empty without pictures.

    `about` names the headline's records, `note` concerns its interval. `group` is a display name. A period
    has a `table` in place of `groups`. `windows` say of which records the headline is.
    """

    about: str
    verdict: str
    headline: str
    cautions: Sequence[str]
    notes: Sequence[str]
    facts: Sequence[Fact]
    since: Sequence[str]
    axis: str = ""
    groups: Sequence[GroupRow] = ()
    owner: str | None = None
    attribute: str | None = None
    group: str | None = None
    note: str = ""
    table: ReportTable | None = None
    windows: Sequence[str] = ()


@frozen
class TimeRow:
    """Figure of an attribute over time: `picture` is SVG, `summary` its words."""

    name: str
    picture: str
    summary: str


@frozen_by_name
class ReportedAlert:
    opened: str
    about: str
    sentence: str
    acknowledged: str
    resolved: str


@frozen_by_name
class SecondPage:
    """Second page of a report. `axis` is SVG, empty without rows.

    `drivers` is empty where nothing was attributed.
    """

    time_notes: Sequence[str]
    axis: str
    times: Sequence[TimeRow]
    alert_notes: Sequence[str]
    alerts: Sequence[ReportedAlert]
    method: Sequence[str]
    limits: Sequence[str]
    origin: Sequence[Fact]
    drivers: str = ""


@frozen
class Attachment:
    """File inside the PDF; its content is UTF-8."""

    name: str
    media_type: str
    description: str
    content: bytes


@frozen_by_name
class Document:
    """Whole report: two pages and an annex; one of tables has only the annex."""

    title: str
    subtitle: str
    made: ReportStamp
    first: FirstPage | None = None
    second: SecondPage | None = None
    annex: Sequence[Section]
    attachments: Sequence[Attachment] = ()


def write_document(document: Document, look: ThemeLook) -> Json:
    """Writes a report as data for a template, with charts in that look; `alt` is the chart in a sentence.

    Characters that neither PDF nor XML can carry are replaced, and names written from right to left isolated.
    """
    annex = [
        {
            "title": section.title,
            "level": section.level,
            "id": f"s{position}",
            "blocks": list(_write_blocks(section.blocks, look)),
        }
        for position, section in enumerate(document.annex, start=1)
    ]
    content = {
        "title": document.title,
        "subtitle": document.subtitle,
        "made_at": write_time(document.made.at),
        "made_by": document.made.author,
        "first": None if document.first is None else asdict(document.first),
        "second": None if document.second is None else asdict(document.second),
        "annex": annex,
    }
    data: Json = _isolate_texts(content)
    return data


def _write_blocks(blocks: Iterable[Block], look: ThemeLook) -> Iterable[Json]:
    for block in blocks:
        match block:
            case Paragraph(text, is_caution):
                yield {"kind": "caution" if is_caution else "paragraph", "text": text}
            case Bullets():
                yield {"kind": "bullets", **asdict(block)}
            case ReportTable():
                yield {"kind": "table", **asdict(block)}
            case ReportChart(caption, draw):
                chart = draw(look)
                yield {"kind": "figure", "caption": caption, "alt": chart.description, "svg": chart.svg}


def _isolate_texts(member: Any, name: str = "") -> Any:  # noqa: ANN401 - any JSON
    match member:
        case str():
            text = replace_undrawable(member)
            return text if name in _PICTURES else isolate(text)
        case dict():
            return {replace_undrawable(key): _isolate_texts(value, key) for key, value in member.items()}
        case list() | tuple():
            return [_isolate_texts(value) for value in member]
        case _:
            return member


def write_number(value: float | None) -> str:
    return ABSENT if value is None else _format_like(value, value)


def write_share(value: float | None) -> str:
    return ABSENT if value is None else f"{100 * value:.2f} %"


def write_points(value: float | None) -> str:
    """Writes percentage points with their sign."""
    if value is None:
        return ABSENT
    rounded = round(100 * value, 2)
    return write_minus(f"{rounded:+.2f}") if rounded else "0.00"


def write_count(value: float) -> str:
    return f"{value:,.10g}"


def write_p_value(value: float | None) -> str:
    """A p-value that a float cannot hold comes as 0, which none is."""
    if value is None:
        return ABSENT
    return f"{value:.4g}" if value else "< 1e-300"


def write_interval(lower: float | None, upper: float | None, *, value: float | None = None) -> str:
    """Writes a 95 % interval, with as many decimals as `value` has."""
    model = max(abs(end or 0.0) for end in (lower, upper)) if value is None else value
    lower_text = "no lower end" if lower is None else _format_like(lower, model)
    return f"{lower_text} to {'no upper end' if upper is None else _format_like(upper, model)}"


def write_ends(
    value: float, lower: float | None, upper: float | None, marks: Iterable[float | None]
) -> tuple[str, str]:
    """Writes value and interval, `0.26` and `0.15–0.46`; digits show each number on its side of the marks."""
    numbers = [number for number in (value, lower, upper) if number is not None]
    all_marks = tuple(marks)
    digits = max(count_digits(number, all_marks, _MIN_DIGITS) for number in numbers)

    def write(number: float) -> str:
        return write_minus(f"{number:.{digits}f}")

    if lower is None:
        return write(value), "no interval" if upper is None else f"up to {write(upper)}"
    if upper is None:
        return write(value), f"{write(lower)} and more"
    return write(value), f"{write(lower)}{choose_joint(lower)}{write(upper)}"


def write_share_interval(lower: float | None, upper: float | None) -> str:
    return ABSENT if lower is None or upper is None else f"{100 * lower:.2f} to {write_share(upper)}"


def write_points_interval(lower: float | None, upper: float | None) -> str:
    return ABSENT if lower is None or upper is None else f"{write_points(lower)} to {write_points(upper)}"


def format_measured_value(measurement: Measurement) -> str:
    """The value, or the reason why there is none."""
    if measurement.value is None:
        return f"none: {measurement.reason or 'no reason is known'}"
    return (
        write_share(measurement.value) if _is_share(measurement.metric) else write_number(measurement.value)
    )


def format_interval(measurement: Measurement) -> str:
    if measurement.value is None:
        return ABSENT
    if _is_share(measurement.metric):
        return write_share_interval(measurement.lower, measurement.upper)
    return write_interval(measurement.lower, measurement.upper, value=measurement.value)


def _is_share(metric: str) -> bool:
    return metric in CATALOGUE and isinstance(CATALOGUE[metric].measure, RateFigure)


def format_value_and_interval(measurement: Measurement | None) -> tuple[str, str]:
    if measurement is None:
        return ABSENT, ABSENT
    return format_measured_value(measurement), format_interval(measurement)


def name_verdict(measurement: Measurement | None) -> str:
    return ABSENT if measurement is None else VERDICT_WORDS[measurement.verdict]


def write_time(at: datetime | None) -> str:
    """Writes a moment in UTC, to the second, or a dash."""
    return ABSENT if at is None else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _format_like(value: float, model: float) -> str:
    """Writes a number with as many decimals as one of the size of `model` has."""
    return write_minus(f"{value:,.1f}" if abs(model) >= _ONE_DECIMAL_FROM else f"{value:,.4f}")


_TEMPLATE = (files(__package__) / "templates" / "report.typ").read_bytes()

_MAX_ATTEMPTS = 4
_UNDRAWN_TEXT = re.compile(r'the text `"(.+?)"` could not be displayed')
_ESCAPED_CHARACTER = re.compile(r"\\u\{([0-9a-f]+)\}")
_INVISIBLE_CATEGORIES = {"Cf", "Mn", "Me"}


def write_pdf(document: Document) -> bytes:
    """Sets the report as PDF/UA-1. A character without a glyph becomes its name: `[grinning face]`.

    Texts go in as JSON, never as markup.
    """
    attachments = [
        asdict(attachment) | {"content": attachment.content.decode()} for attachment in document.attachments
    ]
    content = json.dumps(write_document(document, LOOKS[Theme.PRINT]), ensure_ascii=False)
    attachments_json = json.dumps(attachments, ensure_ascii=False)
    for _ in range(_MAX_ATTEMPTS):
        try:
            return _compile_pdf(content, attachments_json, document, "ua-1")
        except typst.TypstError as error:
            missing = _UNDRAWN_TEXT.findall(str(error.diagnostic))
            if not missing:
                break
            content = content.translate(_name_characters(missing))
    # The standard forbids a character without a glyph; a report with a gap is better than none.
    return _compile_pdf(content, attachments_json, document, "1.7")


def _name_characters(texts: Iterable[str]) -> dict[int, str]:
    """Texts in place of characters, by code: `[name]`; empty for a character that changes the one
    before it.
    """
    characters = {
        character
        for text in texts
        for character in _ESCAPED_CHARACTER.sub(lambda match: chr(int(match[1], 16)), text)
    }
    replacements = {}
    for character in characters:
        if not character.isascii():
            code = f"U+{ord(character):04X}"
            category = unicodedata.category(character)
            name = unicodedata.name(character, code).lower() if category == "So" else code
            replacements[ord(character)] = "" if category in _INVISIBLE_CATEGORIES else f"[{name}]"
    return replacements


def _compile_pdf(
    content: str, attachments: str, document: Document, standard: Literal["ua-1", "1.7"]
) -> bytes:
    # Without this time the present one would go in, and the same report would be another file.
    return typst.compile(
        _TEMPLATE,
        font_paths=load_fonts(),
        sys_inputs={"report": content, "files": attachments},
        pdf_standards=standard,
        timestamp=document.made.at,
    )
