"""The report that `evenhand metrics` prints: who was compared, a table of figures, and what they mean in words."""

import textwrap
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.frames import Report, judged, sentence_of
from app.metrics import CATALOGUE, MINIMUM_GROUP_SIZE, Measured, Undefined, Value, Verdict

COLOURS = {Verdict.FAIR: "green", Verdict.UNWATCHED: "yellow", Verdict.SUSPECTED: "yellow", Verdict.UNFAIR: "red"}
SCOPES = {
    "worst": "furthest out",
    "worst_pair": "furthest apart",
    "pooled": "all monitored",
    "reference": "reference",
    "attribute": "all groups",
    "overall": "everybody",
}
"""How a scope without a label of its own is called in the table."""

_SEARCHED = {"worst": "Furthest out: ", "worst_pair": "Furthest apart: "}

_MEANINGS = {
    Verdict.FAIR: "the value is within the limits, even if its interval reaches outside",
    Verdict.UNWATCHED: "the value is within the one limit there is, but beyond its mirror image on the other side",
    Verdict.SUSPECTED: "the value is outside, but its interval reaches inside",
    Verdict.UNFAIR: "the value is outside with its whole interval",
    Verdict.INSUFFICIENT_DATA: f"one side has fewer than {MINIMUM_GROUP_SIZE} records that count",
}

PAIR = 2
GROUPS_NAMED = 12
"""How many groups the heading names before the rest become `…`."""


def rendered(report: Report, name: str, console: Console) -> str:
    """The report under the file's name, as wide as the console and with its colours."""
    shown = list(_shown(report))
    with console.capture() as capture:
        for line in _heading(report, name):
            console.print(escape(printable(line)))
        console.print(_table(shown))
        for note in _notes(shown):
            console.print(escape(textwrap.fill(note, console.width, break_on_hyphens=False)), soft_wrap=True)
        for sentence in _sentences(shown, groups=len(report.groups)):
            console.print(escape(_wrapped(printable(sentence), console.width)), soft_wrap=True)
    # Tables fill their lines with spaces, which a file or a page would keep.
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _heading(report: Report, name: str) -> Iterator[str]:
    out = f", {report.in_no_group:,} of them in no group" if report.in_no_group else ""
    yield f"{name}: {report.records:,} records{out}. Favourable: {', '.join(report.favourable)}."
    groups = [f"{group.label} {group.records:,} ({group.role})" for group in report.groups]
    # The reference stands last, and must be seen.
    seen = groups if len(groups) <= GROUPS_NAMED else [*groups[: GROUPS_NAMED - 1], "…", groups[-1]]
    yield f"{report.attribute}: {', '.join(seen)}."
    if report.chosen is not None:
        yield f"{report.chosen[:1].upper()}{report.chosen[1:]}."
    for warning in report.warnings:
        yield f"Warning: {warning}."


def _shown(report: Report) -> Iterator[Measured]:
    """The measurements that say something of their own: with one monitored value the one furthest out and the pooled are that value."""
    roles = [group.role for group in report.groups]
    repeated = {"worst", "pooled"} if roles.count("monitored") == 1 else set()
    repeated |= {"reference"} if roles.count("reference") == 1 else set()
    repeated |= {"worst_pair"} if len(roles) == PAIR else set()
    for measured in report.measured:
        if measured.scope not in repeated:
            yield measured


def _sentences(shown: Sequence[Measured], *, groups: int) -> Iterator[str]:
    """What the figures mean, without repeating: of many groups the headline of each metric, and each reason for which one is missing."""
    headline = {"overall", "attribute", "worst", "worst_pair"} | ({"group"} if groups == PAIR else set())
    with_headline = {measured.metric for measured in shown if measured.scope in headline}
    told = [
        measured
        for measured in shown
        if measured.scope in headline or measured.metric not in with_headline or isinstance(measured.number, Undefined)
    ]
    # The two that search all groups may read alike and differ in their interval only, so that each says which it is.
    yield from dict.fromkeys(f"{_SEARCHED.get(measured.scope, '')}{sentence_of(measured)}" for measured in told)


def _notes(shown: Sequence[Measured]) -> Iterator[str]:
    """What the marks and the verdicts in the table mean."""
    if any(_is_cautioned(measured) for measured in shown):
        yield "* The records are too few, or too unevenly spread, for the interval to be relied on."
    verdicts = {judged(measured) for measured in shown} - {None, Verdict.NOT_COMPUTABLE}
    if not verdicts:
        yield ""
        return
    limits: dict[str, list[str]] = {}
    for key in dict.fromkeys(measured.metric for measured in shown):
        row = CATALOGUE[key]
        if row.limits != (None, None):
            limits.setdefault(_limits(*row.limits), []).append(row.title)
    yield f"Limits: {'; '.join(f'{told} for ' + ', '.join(titles) for told, titles in limits.items())}."
    yield f"Verdicts: {'; '.join(f'{_word(given)} = {meaning}' for given, meaning in _MEANINGS.items() if given in verdicts)}."
    yield ""


def _limits(lower: float | None, upper: float | None) -> str:
    if lower is None or upper is None:
        return f"at most {upper:.4g}" if lower is None else f"at least {lower:.4g}"
    return f"{lower:.4g} to {upper:.4g}"


def _is_cautioned(measured: Measured) -> bool:
    return "caution" in measured.details and isinstance(measured.number, Value)


def printable(text: str) -> str:
    """The text with what a terminal would take for a command, such as to change colours or to go back, spelled out."""
    return "".join(character if character.isprintable() or character == "\n" else repr(character)[1:-1] for character in text)


def _wrapped(sentence: str, width: int) -> str:
    """The sentence as an item of a list; a percent sign stays with its number."""
    kept = sentence.replace(" %", "\u00a0%")
    return textwrap.fill(kept, width, initial_indent="• ", subsequent_indent="  ", break_on_hyphens=False).replace("\u00a0", " ")


def _table(shown: Sequence[Measured]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, justify in (("metric", "left"), ("group", "left"), ("value", "right"), ("95 % interval", "right"), ("n", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    table.add_column("verdict")
    before, marked = None, any(_is_cautioned(measured) for measured in shown)
    for measured in shown:
        title = CATALOGUE[measured.metric].title if measured.metric != before else ""
        before = measured.metric
        number = measured.number
        value = _figure(number.value) if isinstance(number, Value) else "–"
        interval = _interval(number) + ("" if not marked else "*" if _is_cautioned(measured) else " ")
        table.add_row(escape(title), escape(printable(_whose(measured))), value, interval, f"{number.n:,}", _verdict(judged(measured)))
    return table


def _whose(measured: Measured) -> str:
    worst = measured.details.get("worst_group")
    name = measured.group or SCOPES.get(measured.scope, measured.scope)
    return f"{name}: {worst}" if measured.group is None and worst else name


def _interval(number: Value | Undefined) -> str:
    if isinstance(number, Undefined):
        return ""
    lower, upper = ("open" if end is None else _figure(end) for end in (number.lower, number.upper))
    return f"{lower} to {upper}"


def _figure(value: float) -> str:
    """Four decimals of what is near 1, fewer of what is large, two digits of what four decimals would make 0."""
    if abs(value) >= 10:  # noqa: PLR2004 - of a count no decimals are wanted
        return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
    return f"{value:.4f}" if value == 0 or abs(value) >= 1e-3 else f"{value:.1e}"  # noqa: PLR2004 - 0.0010 still shows two digits


def _verdict(given: Verdict | None) -> str:
    if given is None:
        return ""
    return f"[{COLOURS[given]}]{_word(given)}[/]" if given in COLOURS else _word(given)


def _word(given: Verdict) -> str:
    return given.value.replace("_", " ")
