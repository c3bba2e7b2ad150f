"""Reports on one check and on a period, from stored figures."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from ..base.clock import floor_to_hour
from ..base.spreadsheets import write_cell
from ..charts.forest import ForestRow, is_on_ratios
from ..charts.forest_headline import word_forest
from ..charts.pictures.ratio_pictures import RatioMark, draw_ratio_axis, draw_ratio_row
from ..charts.series import rename_evidence, rename_view
from ..checks.views.build_views import CARRIED, build_check_view
from ..checks.views.explain_figure import explain
from ..checks.views.headlines import VERDICT_WORDS, list_headlines, summarize_headlines
from ..checks.views.view_shapes import CheckView, ViewKind
from ..database.binary_rows import read_row
from ..domain.check import CheckRun, CheckState, Measurement, Span
from ..records.second_look.flagged_csv import write_csv_lines
from ..statistics.catalogue import CATALOGUE
from ..statistics.e_values.state_words import capitalise
from ..statistics.measures.worst_group import add_mirror_limits
from .authors import say_author
from .canonical import write_canonical_json
from .document import (
    ABSENT,
    Attachment,
    Block,
    Bullets,
    Document,
    Fact,
    FirstPage,
    GroupRow,
    Paragraph,
    ReportStamp,
    ReportTable,
    Section,
    build_caution,
    format_value_and_interval,
    write_ends,
    write_time,
)
from .report_source import ReportSource
from .sections.configuration_sections import (
    count_states,
    list_cautions,
    list_facts,
    shorten_names,
    write_deployment_section,
    write_monitor_section,
    write_window_section,
)
from .sections.evidence_section import MAX_SENTENCES, say_since, write_evidence_section
from .sections.period_page import fits_on_first_page, write_period_page, write_period_sections
from .sections.second_page import LIMITS, write_alerts_section, write_second_page, write_tracing_section
from .sections.view_sections import VIEW_ORDER, write_view_sections

_ROWS_OF_FULL_PAGE = 11
"""Rows of the forest with which `MAX_SENTENCES` sentences on evidence fill the page."""

MAX_FAILURES = 50
"""Rows of the table of checks without measurements."""

NO_COUNTS = (
    "No whole hour of this time has stored counts, so there are no figures of the period: this page shows "
    "its newest check."
)

NO_FIGURE = "the check measured no figure that compares a monitored group with the reference"


def write_first_page(source: ReportSource) -> FirstPage:
    forest = source.forest
    headline = word_forest(forest)
    text = headline.text
    if source.check is None:
        text = "No check of this time succeeded."
    elif forest.check is None or not (forest.rows or list_headlines(source.measurements)):
        text = f"There is no figure of this check: {source.absent or NO_FIGURE}"
    has_pictures = is_on_ratios(forest.metric) and bool(forest.rows)
    attribute = group = None
    if headline.row is not None:
        attribute = headline.row.attribute
        group = forest.words.label(headline.row.attribute, headline.row.group)
    # Two rows fewer leave room for one more sentence.
    limit = MAX_SENTENCES + max(0, _ROWS_OF_FULL_PAGE - len(forest.rows)) // 2
    about = ""
    if source.check is not None:
        span = source.check.span
        end = f"{span.end:%H:%M}" if span.end.date() == span.start.date() else f"{span.end:%Y-%m-%d %H:%M}"
        about = (
            f"{'This' if source.is_of_check else 'The newest'} check, of {span.start:%Y-%m-%d %H:%M} to "
            f"{end} UTC"
        )
    return FirstPage(
        about=about,
        verdict=VERDICT_WORDS[headline.verdict] if headline.row is not None else "no verdict",
        headline=text,
        cautions=tuple(list_cautions(source)),
        notes=(*forest.notes, *source.missing, *sum_up_verdicts(source)),
        facts=tuple(list_facts(source)),
        axis=draw_ratio_axis() if has_pictures else "",
        groups=tuple(write_group_row(row, has_picture=has_pictures) for row in forest.rows),
        owner=source.deployment.owner,
        attribute=attribute,
        group=group,
        note=f"{capitalise(headline.note)}." if headline.note else "",
        windows=headline.windows,
        since=tuple(
            say_since(
                rename_evidence(forest.words, source.evidence), attribute=attribute, group=group, limit=limit
            )
        ),
    )


def sum_up_verdicts(source: ReportSource) -> Iterator[str]:
    """Yields a sentence on the verdicts of the check, or of the newest one of a period without counts."""
    if not source.is_of_check:
        yield NO_COUNTS
    if source.check is None:
        return
    headlines = list_headlines(source.measurements, source.check.window)
    if headlines:
        counts = [
            f"{VERDICT_WORDS[verdict].capitalize()}: {shorten_names(names)}."
            for verdict, names in summarize_headlines(headlines)
        ]
        yield f"Verdicts {_name_check(source, source.check)}. {' '.join(counts)}"


def _name_check(source: ReportSource, check: CheckRun) -> str:
    return (
        "of this check"
        if source.is_of_check
        else f"of the newest check, which ended its span on {write_time(check.span.end)}"
    )


def write_group_row(row: ForestRow, *, has_picture: bool) -> GroupRow:
    picture = ""
    if has_picture:
        marks = [
            read_row(RatioMark, figure.measurement, is_hollow=figure is row.counterfactual)
            for figure in row.figures
            if figure.measurement.value is not None
        ]
        first = row.figures[0].measurement
        limits = add_mirror_limits(CATALOGUE[first.metric], (first.lower_limit, first.upper_limit))
        picture = draw_ratio_row(marks, limits)
    return GroupRow(
        attribute=row.attribute,
        group=row.name,
        records=" / ".join([ABSENT if count is None else f"{count:,}" for count in (row.n, row.n_reference)]),
        picture=picture,
        logged=ABSENT if row.logged is None else say_value(row.logged.measurement),
        counterfactual=ABSENT if row.counterfactual is None else say_value(row.counterfactual.measurement),
        verdict=VERDICT_WORDS[row.verdict],
        since=ABSENT if row.evidence is None else row.evidence.words,
    )


def say_value(measurement: Measurement) -> str:
    """Says a figure with its interval: `0.26 (0.15–0.46)`. Digits show each number's side of the limits."""
    if measurement.value is None:
        return "none"
    limits = (measurement.lower_limit, measurement.upper_limit)
    marks = (*add_mirror_limits(CATALOGUE[measurement.metric], limits), CATALOGUE[measurement.metric].ideal)
    return "{} ({})".format(*write_ends(measurement.value, measurement.lower, measurement.upper, marks))


def make_document(
    session: Session, source: ReportSource, stamp: ReportStamp, *, has_annex: bool = False
) -> Document:
    """Makes the report on a check or a period. Training data in it are the present ones."""
    subtitle = name_period(source.span, source.zone)
    if source.is_of_check and source.check is not None:
        subtitle = f"Check {source.check.id} of {name_period(source.check.span, source.zone)}"
    data = write_canonical_json(source)
    attachments = [Attachment("data.json", "application/json", "The data of this report", data)]
    if source.check is not None:
        trace = write_trace_csv(source.check, source.measurements)
        attachments.append(
            Attachment(
                "trace.csv", "text/csv", "Every figure of the check, with its formula and counts", trace
            )
        )
    second_page = write_second_page(source, hashlib.sha256(data).hexdigest())
    return Document(
        title=f"Fairness report: {source.deployment.name}",
        subtitle=subtitle,
        made=stamp,
        first=write_first_page(source) if source.period is None else write_period_page(source, source.period),
        second=replace(second_page, origin=(Fact("Made by", say_author(stamp)), *second_page.origin)),
        annex=tuple(_write_annex(session, source, has_annex=has_annex)),
        attachments=attachments,
    )


def name_period(span: Span, zone: ZoneInfo) -> str:
    utc_ends = " to ".join(write_time(at) for at in (span.start, span.end))
    if zone.key == "UTC":
        return f"{utc_ends}, the end not included"
    zone_ends = " to ".join(f"{at.astimezone(zone):%Y-%m-%d %H:%M}" for at in (span.start, span.end))
    minute = floor_to_hour(span.start).astimezone(zone).minute
    hours = f"; its hours begin at minute {minute}" if minute else ""
    return f"{zone_ends} in {zone.key} ({utc_ends}), the end not included{hours}"


def _write_annex(session: Session, source: ReportSource, *, has_annex: bool) -> Iterator[Section]:
    if source.period is not None and (has_annex or not fits_on_first_page(source.period)):
        yield from write_period_sections(source, source.period)
    if not has_annex:
        return
    deployment = source.deployment
    check = source.check
    names = source.forest.words
    headlines = Section("In short", (build_caution("No check of this time succeeded."),))
    view_sections = []
    if check is not None:
        views = {kind: build_check_view(session, deployment, check, kind) for kind in VIEW_ORDER}
        measurements = [names.rename(measurement) for measurement in source.measurements]
        headlines = write_headline_section(check, views, measurements, of=_name_check(source, check))
        view_sections = [write_window_section(check)]
        for view in views.values():
            view_sections += write_view_sections(rename_view(names, view))
    yield headlines if source.is_of_check else replace(headlines, title="The newest check")
    yield write_deployment_section(deployment, None if check is None else check.model_revision)
    yield write_monitor_section(source.monitor, check)
    if source.is_of_check:
        yield from view_sections
    else:
        yield _write_checks_section(source)
    yield write_evidence_section(rename_evidence(names, source.evidence))
    yield write_alerts_section(source)
    if not source.is_of_check:
        yield from view_sections
    yield Section("What these figures cannot say", (Bullets(LIMITS),))
    yield write_tracing_section(check)


def _write_checks_section(source: ReportSource) -> Section:
    blocks: list[Block] = [Paragraph(f"Checks that ended: {count_states(source.runs)}.")]
    failed = [run for run in source.runs if run.state != CheckState.SUCCEEDED]
    if failed:
        note = f"The newest {MAX_FAILURES} of {len(failed):,}." if len(failed) > MAX_FAILURES else None
        # The runs are in the order of their spans.
        rows = [
            (write_time(run.span_end), run.state.replace("_", " "), run.reason or ABSENT, run.id)
            for run in failed[-MAX_FAILURES:]
        ]
        blocks.append(
            ReportTable(
                "Checks without measurements", ("End of the span", "State", "Reason", "Check"), rows, note
            )
        )
    return Section("The checks", blocks)


_HOW_TO_READ_BOTH = (
    "As logged and counterfactual figures answer different questions. As logged: are the groups favoured "
    "alike? Counterfactual: does the model answer alike when the attribute of a record is changed? Read "
    "both, and the notes on the counterfactual figures. A disparate impact of 0.8 says that the group gets "
    "80 favourable outcomes where the reference group gets 100, from equally many records; one of 1.25 says "
    "that the reference group gets 80 where the group gets 100."
)


def write_headline_section(
    check: CheckRun, views: Mapping[ViewKind, CheckView], measurements: Sequence[Measurement], *, of: str
) -> Section:
    """Writes verdicts and figures of a check; `of` names the check, as the end of a sentence."""
    headlines = list_headlines(measurements, check.window)
    if not headlines:
        reason = next((view.reason for view in views.values() if view.reason is not None), NO_FIGURE)
        return Section("In short", (build_caution(f"There is no figure {of}: {reason}"),))
    blocks: list[Block] = []
    if check.carried_from is not None:
        blocks.append(build_caution(CARRIED.format(check_id=check.carried_from)))
    counts = [
        f"{VERDICT_WORDS[verdict].capitalize()}: {', '.join(names)}."
        for verdict, names in summarize_headlines(headlines)
    ]
    blocks.append(Paragraph(f"Verdicts {of}. {' '.join(counts)}"))

    rows = []
    for headline in headlines:
        sentences: list[str] = []
        for part in headline.parts:
            if part.figure is None:
                continue
            name = part.name.lower()
            furthest = part.figure
            figure = part.figure.measurement
            sentences.append(f"{headline.attribute}, {name}: {furthest.text}")
            subject = (headline.attribute, name, furthest.group or ABSENT, figure.metric.replace("_", " "))
            verdict = (f"{figure.n:,}", furthest.limits, VERDICT_WORDS[figure.verdict])
            side = furthest.disadvantaged_group or furthest.disadvantaged or ABSENT
            rows.append((*subject, *format_value_and_interval(figure), *verdict, side))
        if headline.reading is not None:
            sentences.append(f"{headline.attribute}: {headline.reading}")
        blocks.append(Bullets((*sentences, *headline.notes)))
    columns = (
        "Attribute",
        "Records",
        "Furthest out",
        "Metric",
        "Value",
        "95 %",
        "Records counted",
        "Limits",
        "Verdict",
    )
    blocks.append(
        ReportTable(
            "The monitored group furthest out, of each attribute", (*columns, "At a disadvantage"), rows
        )
    )
    blocks.append(Paragraph(_HOW_TO_READ_BOTH))
    return Section("In short", blocks)


MEASUREMENT_COLUMNS = (
    "metric",
    "data",
    "scope",
    "attribute",
    "group",
    "value",
    "lower",
    "upper",
    "interval_method",
    "n",
    "verdict",
    "lower_limit",
    "upper_limit",
    "carried_forward",
    "reason",
)
CHOICE_COLUMNS = ("worst_of", "chosen_lower", "chosen_upper")
TRACE_COLUMNS = (
    "check_id",
    "at",
    "figure",
    *MEASUREMENT_COLUMNS,
    "formula",
    "counts",
    "sentence",
    *CHOICE_COLUMNS,
)


def write_trace_csv(check: CheckRun, measurements: Sequence[Measurement]) -> bytes:
    """Writes one row a measurement, in order, with formula and counts; numbers are unrounded."""
    rows: list[Iterable[str]] = [TRACE_COLUMNS]
    for measurement in measurements:
        figure = explain(measurement)
        counts = "; ".join(f"{count.label} {count.value}" for count in figure.counts)
        derived = {
            "check_id": check.id,
            "figure": figure.title,
            "formula": figure.formula,
            "counts": counts,
            "sentence": figure.sentence,
        }
        rows.append(
            [
                write_cell(derived[name] if name in derived else getattr(measurement, name))
                for name in TRACE_COLUMNS
            ]
        )
    return write_csv_lines(rows)
