"""The report that `evenhand metrics` prints."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...domain.groups import collapse_blanks
from ...library.frame_report import Report, build_judged_figure, describe_measured, judge_by_catalogue
from ...statistics.catalogue import CATALOGUE
from ...statistics.intervals.verdicts import MINIMUM_GROUP_SIZE, Measured, Undefined, Value, Verdict
from ...statistics.sentences.figure_sentences import format_figure, format_to, write_limit, write_minus
from ...statistics.sentences.statements import UNBADGED, find_unbadged, format_p

VERDICT_COLOURS = {
    Verdict.FAIR: "green",
    Verdict.UNWATCHED: "yellow",
    Verdict.SUSPECTED: "yellow",
    Verdict.UNFAIR: "red",
}
SCOPE_NAMES = {
    "worst_pair": "furthest apart",
    "pooled": "all monitored",
    "reference": "reference",
    "attribute": "all groups",
    "overall": "everybody",
}

_INTERVAL_WORDS = "interval (of one of several groups, that which allows for the choice among them)"
_VERDICT_MEANINGS = {
    Verdict.FAIR: "the value is within the limits with its whole interval",
    Verdict.UNDECIDED: "the value is within the limits, but its interval reaches outside",
    Verdict.UNWATCHED: "the value is within the one limit there is, but beyond its mirror image on the "
    "other side",
    Verdict.SUSPECTED: f"the value is outside, but its {_INTERVAL_WORDS} reaches inside",
    Verdict.UNFAIR: f"the value is outside with its whole {_INTERVAL_WORDS}",
    Verdict.INSUFFICIENT_DATA: f"one side has fewer than {MINIMUM_GROUP_SIZE} records that count",
}

_PAIR_GROUPS = 2
MAX_NAMED_GROUPS = 12


def render_report(report: Report, name: str, console: Console) -> str:
    results = report.measured
    groups = [f"{show_blanks(group.label)} {group.records:,} ({group.role})" for group in report.groups]
    # The reference is last, and must not be cut.
    names = groups if len(groups) <= MAX_NAMED_GROUPS else [*groups[: MAX_NAMED_GROUPS - 1], "…", groups[-1]]
    heading = [
        f"{name}: {report.records.text} Favourable: {', '.join(report.favourable)}.",
        *report.records.lines[1:],
        f"{report.attribute}: {', '.join(names)}.",
        report.labels,
        f"{report.chosen[:1].upper()}{report.chosen[1:]}." if report.chosen else None,
        *(f"Warning: {warning}." for warning in report.warnings),
    ]
    lines = map(escape_unprintable, filter(None, heading))
    sentences = _list_sentences(results, groups=len(report.groups))
    return render_page(console, lines, _build_table(results), _list_notes(results), sentences)


def render_page(
    console: Console, heading: Iterable[str], table: Table, notes: Iterable[str], sentences: Iterable[str]
) -> str:
    with console.capture() as capture:
        for line in heading:
            console.print(escape(line))
        console.print(table)
        for note in notes:
            console.print(escape(fill_lines(note, console.width)), soft_wrap=True)
        for sentence in sentences:
            console.print(escape(fill_lines(sentence, console.width, "• ")), soft_wrap=True)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _list_sentences(results: Sequence[Measured], *, groups: int) -> list[str]:
    scopes = {"overall", "attribute", "worst_pair"} | ({"group"} if groups == _PAIR_GROUPS else set())

    def is_headline(measured: Measured) -> bool:
        return measured.scope in scopes or measured.worst_of is not None

    headline_metrics = {measured.metric for measured in results if is_headline(measured)}
    sentences = []
    for measured in results:
        if (
            is_headline(measured)
            or measured.metric not in headline_metrics
            or isinstance(measured.number, Undefined)
        ):
            opening = "Furthest out: " if _is_furthest(measured) else ""
            if measured.scope == "worst_pair":
                opening = "Furthest apart: "
            sentence = f"{opening}{describe_measured(measured)}"
            chosen = measured.interval_of_choice
            p_value = measured.details.chosen_p_value
            if chosen and measured.worst_of is not None:
                p_words = "" if p_value is None else f", and {format_p(p_value)}"
                interval = format_figure(chosen.value, chosen.lower, chosen.upper).interval
                sentence += (
                    f" Allowing for the choice among {measured.worst_of} groups, "
                    f"the interval is {interval}{p_words}."
                )
            sentences.append(sentence)
    return list(dict.fromkeys(sentences))


def _list_notes(results: Sequence[Measured]) -> Iterator[str]:
    if any(_is_cautioned(measured) for measured in results):
        yield "* The records are too few, or too unevenly spread, for the interval to be relied on."
    verdicts = {judge_by_catalogue(measured) for measured in results} - {None, Verdict.NOT_COMPUTABLE}
    if not verdicts:
        yield ""
        return
    limits = dict[str, list[str]]()
    for key in dict.fromkeys(measured.metric for measured in results):
        row = CATALOGUE[key]
        match row.limits:
            case (None, None):
                continue
            case (None, upper):
                text = f"at most {write_limit(upper)}"
            case (lower, None):
                text = f"at least {write_limit(lower)}"
            case (lower, upper):
                text = f"{write_limit(lower)} to {write_limit(upper)}"
        limits.setdefault(text, []).append(row.title)
    yield f"Limits: {'; '.join(f'{limit} for ' + ', '.join(titles) for limit, titles in limits.items())}."
    meanings = [
        f"{_name_verdict(verdict)} = {meaning}"
        for verdict, meaning in _VERDICT_MEANINGS.items()
        if verdict in verdicts
    ]
    yield f"Verdicts: {'; '.join(meanings)}."
    if find_unbadged([build_judged_figure(measured) for measured in results]):
        yield UNBADGED
    yield ""


def _is_furthest(measured: Measured) -> bool:
    return measured.worst_of is not None and measured.worst_of > 1


def _is_cautioned(measured: Measured) -> bool:
    return measured.details.caution is not None and isinstance(measured.number, Value)


def fill_lines(text: str, width: int, bullet: str = "") -> str:
    """No line ends between a number and its per cent sign."""
    filled = textwrap.fill(
        escape_unprintable(text).replace(" %", "\u00a0%"),
        width,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_on_hyphens=False,
    )
    return filled.replace("\u00a0", " ")


def escape_unprintable(text: str) -> str:
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1]
        for character in text
    )


def show_blanks(label: str) -> str:
    return label if collapse_blanks(label) == label else repr(label)


def _build_table(results: Sequence[Measured]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("metric", "group", "value", "95 % interval", "n", "verdict"):
        table.add_column(heading, justify="right" if heading in ("value", "95 % interval", "n") else "left")
    previous_metric = None
    is_any_cautioned = any(_is_cautioned(measured) for measured in results)
    unbadged = find_unbadged([build_judged_figure(measured) for measured in results])
    for position, measured in enumerate(results):
        title = CATALOGUE[measured.metric].title if measured.metric != previous_metric else ""
        previous_metric = measured.metric
        number = measured.number
        value = "–"
        interval = ""
        if isinstance(number, Value):
            value = _format_cell(number.value, number.value)
            lower, upper = (
                "open" if end is None else _format_cell(end, number.value)
                for end in (number.lower, number.upper)
            )
            interval = f"{lower} to {upper}"
        if is_any_cautioned:
            interval += "*" if _is_cautioned(measured) else " "
        verdict = None if position in unbadged else judge_by_catalogue(measured)
        verdict_text = _name_verdict(verdict) if verdict else ""
        if verdict in VERDICT_COLOURS:
            verdict_text = f"[{VERDICT_COLOURS[verdict]}]{verdict_text}[/]"
        group = show_blanks(measured.group or "") or SCOPE_NAMES.get(measured.scope, measured.scope)
        group += ", furthest out" if _is_furthest(measured) else ""
        table.add_row(
            escape(title), escape(escape_unprintable(group)), value, interval, f"{number.n:,}", verdict_text
        )
    return table


def _format_cell(value: float, figure: float) -> str:
    if abs(figure) >= 10:  # noqa: PLR2004 - counts need no decimals
        return format_to(value, 0 if figure == int(figure) else 2)
    return format_to(value, 4) if figure == 0 or abs(figure) >= 1e-3 else write_minus(f"{value:.1e}")  # noqa: PLR2004 - 0.0010 still shows two digits


def _name_verdict(verdict: Verdict) -> str:
    return verdict.value.replace("_", " ")
