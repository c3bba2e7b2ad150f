"""`evenhand groups`, and evidence as `evenhand evidence` prints it."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Annotated, Any

import msgspec
import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer import Option, Typer, echo

from ...domain.record_times import LeftOutTimes
from ...library.compared_rates import DAY_HOURS
from ...library.hours_of_groups import METRIC_TITLES, ComparisonEvidence, Evidence
from ...library.unlisted_groups import GroupSearch, find_groups
from ...statistics.e_values.nulls import UnfairSide
from ...statistics.e_values.state_words import (
    DAY,
    MINUTE,
    NOT_COVERED,
    FigureLabel,
    IntervalKind,
    choose_form,
)
from ...statistics.scan.scan_results import SearchResult, say_search
from .metrics_files import (
    Earliest,
    Encoding,
    Favourable,
    MeasuredFile,
    MissingTexts,
    Numbers,
    PersonColumn,
    PredictionColumn,
    Text,
    TimeFormat,
    Unfavourable,
    find_twin_values,
    open_console,
    print_notes,
    read_measured,
    refuse_errors,
)
from .metrics_report import escape_unprintable, fill_lines, render_page

LABEL_COLOURS = {FigureLabel.UNFAIR: "red", FigureLabel.CONFIRMED_FAIR: "green", FigureLabel.FAIR: "green"}

_BAR_LEVELS = "▁▂▃▄▅▆▇█"
MAX_BARS = 20
"""Of a comparison; each shows the highest value of its hours."""


def render_evidence(evidence: Evidence, name: str, console: Console) -> str:
    heading = (fill_lines(line, console.width) for line in _list_heading(evidence, name))
    notes = [*_list_notes(evidence), ""]
    sentences = map(phrase_evidence, group_by_figure(evidence))
    return render_page(console, heading, _build_table(evidence), notes, sentences)


def phrase_evidence(sides: Sequence[ComparisonEvidence]) -> str:
    first = sides[0]
    alarm = ""
    earlier = sum(episode.resolved is not None for side in sides for episode in side.episodes)
    times = "once" if earlier == 1 else f"{earlier} times"
    history = f" It was found unfair {times} before, and back inside the limit since." if earlier else ""
    for side in sides:
        if side.alarm_at is not None:
            at = f"on {side.alarm_at:{DAY}}" if side.is_daily else f"at {side.alarm_at:{MINUTE}}"
            alarm = f" The evidence was enough {at}."
    title = METRIC_TITLES[first.metric]
    group = escape_unprintable(first.group)
    return f"{title}, {first.attribute} {group}: {first.statement.sentence}{alarm}{history}"


def _list_heading(evidence: Evidence, name: str) -> Iterator[str]:
    # The last day, but the end of the last hour.
    last = evidence.first + timedelta(hours=evidence.hours - evidence.is_daily)
    span = count_blocks(evidence.hours, is_daily=evidence.is_daily)
    form = DAY if evidence.is_daily else MINUTE
    times = (
        f"{span}, {evidence.first:{form}} to {last:{form}}"
        if evidence.has_times
        else "without times, one block"
    )
    yield f"{name}: {times}. {evidence.records.text}"
    yield from say_left_out(evidence.left_out)
    yield from evidence.records.lines[1:]
    yield f"Favourable: {', '.join(evidence.favourable)}."
    if evidence.chosen:
        yield f"{evidence.chosen[:1].upper()}{evidence.chosen[1:]}."
    if evidence.labels:
        yield evidence.labels
    for warning in evidence.warnings:
        yield f"Warning: {warning}."


def _build_table(evidence: Evidence) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("metric", "group", "limit", "interval", "state", "since (UTC)", "evidence"):
        table.add_column(
            heading,
            justify="right" if heading in ("limit", "interval") else "left",
            no_wrap=heading != "group",
        )
    for sides in group_by_figure(evidence):
        leading = next((side for side in sides if side.alarm_at is not None), sides[0])
        statement = leading.statement
        ends = statement.interval or ()
        limits = {side.direction: _format_number(side.limit) for side in sides}
        lower = limits.get(UnfairSide.BELOW)
        upper = limits.get(UnfairSide.ABOVE)
        limit = f"{lower} to {upper}"
        if not (lower and upper):
            limit = f"≥ {lower}" if lower else f"≤ {upper}"
        state = statement.state.value
        since = ""
        if statement.state in LABEL_COLOURS:
            state = f"[{LABEL_COLOURS[statement.state]}]{state}[/]"
        if leading.since is not None and statement.state in {FigureLabel.UNFAIR, FigureLabel.CONFIRMED_FAIR}:
            form = choose_form(leading.earliest, leading.latest, DAY if leading.is_daily else MINUTE)
            since = f"{leading.since:{form}}"[5:]
        table.add_row(
            escape(METRIC_TITLES[leading.metric]),
            escape(escape_unprintable(leading.group)),
            limit,
            " to ".join("open" if end is None else _format_number(end) for end in ends),
            state,
            since,
            _draw_bars(sides),
        )
    return table


def group_by_figure(evidence: Evidence) -> list[list[ComparisonEvidence]]:
    figures = groupby(evidence.comparisons, key=lambda comparison: (comparison.metric, comparison.group))
    return [list(sides) for _, sides in figures]


_PERSONS_HINT = (
    "Say whose records they are: --person COLUMN names the column of a person's id, "
    "--each-record-another-person NAME declares that no two are of one person. Evidence then counts in full."
)


def _list_notes(evidence: Evidence) -> Iterator[str]:
    if evidence.some_group is not None:
        yield evidence.some_group
    span = count_blocks(max(1, round(evidence.hours / MAX_BARS)), is_daily=evidence.is_daily)
    yield (
        f"Evidence: one bar for {'' if span.startswith('1 ') else 'about '}{span}; a full bar is enough for "
        f"an alarm. {evidence.guarantee} {NOT_COVERED}"
    )
    if evidence.divisor > 1:
        yield _PERSONS_HINT
    kinds = dict.fromkeys(comparison.statement.interval_kind for comparison in evidence.comparisons)
    meanings = [f"{kind}: {_INTERVAL_MEANINGS[kind]}" for kind in kinds if kind is not None]
    if meanings:
        yield f"Interval, 95 %, {'; '.join(meanings)}."


_INTERVAL_MEANINGS = {
    IntervalKind.ONSET: "of the records since the figure is unfair",
    IntervalKind.CHAPTER: "of all records since the last alarm or the first record",
    IntervalKind.HOUR: "of the newest records alone",
}


def _draw_bars(sides: Sequence[ComparisonEvidence]) -> str:
    """A full bar is the evidence of an alarm, until that is resolved."""
    heights = np.zeros(len(sides[0].log_evidence))
    for side in sides:
        heights = np.maximum(heights, np.clip(side.log_evidence / side.log_threshold, 0, 1))
        for episode in side.episodes:
            heights[episode.alarm : len(heights) if episode.resolved is None else episode.resolved] = 1.0
    blocks = heights[:: DAY_HOURS if sides[0].is_daily else 1]
    highest = [float(piece.max()) for piece in np.array_split(blocks, min(MAX_BARS, len(blocks)))]
    return "".join(
        _BAR_LEVELS[min(int(height * len(_BAR_LEVELS)), len(_BAR_LEVELS) - 1)] for height in highest
    )


def _format_number(number: float) -> str:
    return f"{number:.3g}"


def say_left_out(times: Sequence[LeftOutTimes]) -> Iterator[str]:
    if times:
        yield f"Times that cannot be: {', '.join(map(str, times))}."


def count_blocks(hours: int, *, is_daily: bool) -> str:
    number, unit = (-(-hours // DAY_HOURS), "day") if is_daily else (hours, "hour")
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


command = Typer(add_completion=False)


@command.command()
def groups(
    *,
    file: MeasuredFile,
    feature: Annotated[
        list[str], Option(help="Column whose values may describe a subgroup. Repeatable, up to 8 times.")
    ],
    prediction: PredictionColumn = None,
    label: Annotated[
        Text, Option(help="Column of the ground-truth labels, used where there are no predictions.")
    ] = None,
    strata: Annotated[Text, Option(help="Column within each of whose values records are compared.")] = None,
    favourable: Favourable = None,
    unfavourable: Unfavourable = None,
    number: Numbers = None,
    missing: MissingTexts = None,
    encoding: Encoding = "utf-8",
    person: PersonColumn = None,
    time: Annotated[
        Text,
        Option(
            help="Column of the times: they say which record of a person is the first, else the file does."
        ),
    ] = None,
    time_format: TimeFormat = None,
    earliest: Earliest = None,
    direction: Annotated[
        UnfairSide,
        Option(help="below: the subgroup that gets the favourable outcome too rarely. above: more often."),
    ] = UnfairSide.BELOW,
    seed: Annotated[int, Option(min=0, help="Seed of the random starts and tables.")] = 0,
    watch: Annotated[
        Text,
        Option(metavar="DEPLOYMENT", help="Watch the group that is found in this deployment from now on."),
    ] = None,
    name: Annotated[Text, Option(help="Name of the watched group; by default its columns.")] = None,
    key: Annotated[
        str,
        Option(envvar="EVENHAND_KEY", help="API key with the role manage, for --watch.", show_default=False),
    ] = "",
    url: Annotated[
        str, Option(envvar="EVENHAND_URL", help="Address of the service, for --watch.")
    ] = "http://127.0.0.1:8000",
) -> None:
    """Look for the subgroup that nobody listed, at a disadvantage or favoured, and print it or watch it
    from now on.
    """
    with refuse_errors():
        records = read_measured(
            file,
            {"time": time, "prediction": prediction, "label": label, "strata": strata, "person": person},
            favourable=favourable,
            unfavourable=unfavourable,
            missing=missing,
            encoding=encoding,
            numbers=number or (),
            features=feature,
        )
        search = find_groups(
            records.frame,
            features=feature,
            direction=direction,
            seed=seed,
            time_format=time_format,
            earliest=earliest,
            **records.arguments,
        )
    print_notes([*records.notes, *find_twin_values(records.frame, feature)])
    result = search.result
    echo(render_groups(search, file.name, open_console()))
    if watch is not None and result.group:
        from ..import_service import ImportService, open_client  # noqa: PLC0415 - the command asks no service otherwise

        with open_client(url, key) as client:
            monitor = ImportService(client, watch).ask(
                "POST", "/fairness-monitor/found-groups", build_watch_request(result, name)
            )
        attribute_name = next(
            attribute["feature"]
            for attribute in monitor["attributes"]
            if attribute["rule"] and attribute["monitored"] == [result.group.rule.label]
        )
        echo(
            f"\nWatched from now on: {attribute_name}, in version {monitor['version']} of the monitor of "
            f"{watch}."
        )


def render_groups(search: GroupSearch, name: str, console: Console) -> str:
    result = search.result
    with console.capture() as capture:
        for line in (f"{name}: {search.records.text}", say_search(result)):
            console.print(escape(fill_lines(line, console.width)), soft_wrap=True)
        if result.group:
            console.print()
            hint = (
                "To watch the group from now on: --watch DEPLOYMENT, or POST "
                "…/fairness-monitor/found-groups with"
            )
            console.print(escape(fill_lines(hint, console.width)), soft_wrap=True)
    body = msgspec.json.encode(build_watch_request(result)).decode() if result.group else ""
    return f"{capture.get()}{body}".rstrip()


def build_watch_request(result: SearchResult, name: str | None = None) -> dict[str, Any]:
    group = result.group
    assert group is not None, "the search found a group"  # noqa: S101 - for the caller to see
    search = {"rule": msgspec.to_builtins(group.rule), "subsets": result.subsets, "p_value": result.p_value}
    return {"search": search} if name is None else {"search": search, "name": name}
