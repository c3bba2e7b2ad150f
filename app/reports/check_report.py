"""Report on one check, from stored figures."""

from collections.abc import Iterator
from dataclasses import replace

from sqlalchemy.orm import Session

from ..charts.ratio_pictures import RatioMark, axis_svg, row_svg
from ..domain.checks import CheckRun, Measurement
from ..domain.deployments import Deployment
from ..domain.group_words import GroupWords
from ..domain.texts import TOGETHER
from ..evidence.sentences import State
from ..metrics.catalogue import CATALOGUE
from ..metrics.rounding import digits_apart, join_of, write_minus
from ..metrics.sides import both_sides
from ..metrics.verdicts import Limits
from ..views.check_views import CheckView, ViewKind
from ..views.forest import Forest, ForestRow, is_on_ratios
from ..views.forest_headline import SHARED_RECORDS, capitalise, word_forest
from ..views.headlines import VERDICT_WORDS, headlines, summary
from ..views.renaming import rename_evidence, rename_view
from ..views.viewing import check_view
from .authors import say_author
from .canonical import canonical_json, digest_of
from .closing import alerts_section, limits_section, tracing_section
from .configuration import deployment_section, monitor_section, window_section
from .document import Attachment, Document, Fact, FirstPage, GroupRow, Made, Section
from .evidence import MOST_SAID, evidence_section, say_since
from .facts import first_of, list_cautions, list_facts
from .headlines import NOTHING, Views, headline_section
from .history import history_sections
from .numbers import ABSENT, moment
from .second_page import second_page
from .source import ReportSource, read_check
from .trace import trace_csv
from .verdict_counts import NONE_MEASURED, count_verdicts, describe_verdicts
from .view_sections import ORDER, view_sections

_TWO_DIGITS = 2
_STATES = {State.UNFAIR: "unfair since", State.SHOWN_FAIR: "shown fair since"}
_ROWS_OF_FULL_PAGE = 11
"""Rows of the forest next to which `MOST_SAID` comparisons fill the page."""


def first_page(source: ReportSource) -> FirstPage:
    forest = source.forest
    headline = word_forest(forest)
    text = headline.text
    if source.check is None:
        text = "No check of this time succeeded."
    elif forest.check is None or not (forest.rows or headlines(source.measurements)):
        text = f"There is no figure of this check: {source.absent or NOTHING}"
    has_pictures = is_on_ratios(forest.metric) and bool(forest.rows)
    attribute = group = None
    if headline.row is not None:
        attribute, group = headline.row.attribute, forest.words.label(headline.row.attribute, headline.row.group)
    # Two rows fewer leave room for one more sentence.
    most, about = MOST_SAID + max(0, _ROWS_OF_FULL_PAGE - len(forest.rows)) // 2, ""
    if source.check is not None:
        span = source.check.span
        end = f"{span.end:%H:%M}" if span.end.date() == span.start.date() else f"{span.end:%Y-%m-%d %H:%M}"
        about = f"{'This' if source.is_of_check else 'The newest'} check, of {span.start:%Y-%m-%d %H:%M} to {end} UTC"
    return FirstPage(
        about=about,
        verdict=VERDICT_WORDS[headline.verdict] if headline.row is not None else "no verdict",
        headline=text,
        cautions=tuple(list_cautions(source)),
        notes=(
            *forest.notes,
            *source.missing,
            *sum_up_verdicts(source),
        ),
        facts=tuple(list_facts(source)),
        axis=axis_svg() if has_pictures else "",
        groups=tuple(group_row(row, has_picture=has_pictures) for row in forest.rows),
        owner=source.deployment.owner,
        attribute=attribute,
        group=group,
        note=f"{capitalise(headline.note)}." if headline.note else "",
        windows=headline.windows,
        categories=dict(name_categories(forest)),
        since=tuple(say_since(rename_evidence(forest.words, source.evidence), attribute=attribute, group=group, most=most)),
    )


def name_categories(forest: Forest) -> Iterator[tuple[str, str]]:
    for row in forest.rows:
        yield TOGETHER.join(row.parts), row.name
        yield TOGETHER.join(forest.words.parts(row.attribute, row.reference)), row.reference_name


def sum_up_verdicts(source: ReportSource) -> Iterator[str]:
    """Yields the verdicts of the check; of a period, those of all its checks before them."""
    if not source.is_of_check:
        counted = count_verdicts(source.histories)
        are_topped_up = bool(counted) and any(one.is_topped_up for one in source.forest.checks)
        yield (describe_verdicts(counted) if counted else NONE_MEASURED) + (f" {SHARED_RECORDS}" if are_topped_up else "")
    if source.check is not None and (shown := headlines(source.measurements, source.check.window)):
        counts = [f"{VERDICT_WORDS[grade].capitalize()}: {first_of(names)}." for grade, names in summary(shown)]
        of = "of this check" if source.is_of_check else f"of the newest check, which ended its span on {moment(source.check.span.end)}"
        yield f"Verdicts {of}. {' '.join(counts)}"


def group_row(row: ForestRow, *, has_picture: bool) -> GroupRow:
    figures, evidence = row.figures, row.evidence
    since = ABSENT
    if evidence is not None and evidence.since is not None and evidence.state in _STATES:
        since = f"{_STATES[evidence.state]} {evidence.since:%Y-%m-%d}"
    elif evidence is not None:
        since = "undecided"
    counts = [ABSENT if count is None else f"{count:,}" for count in (row.n, row.n_reference)]
    limits = next(((one.measurement.lower_limit, one.measurement.upper_limit) for one in figures), (None, None))
    drawn = [
        RatioMark(value=one.value, lower=one.lower, upper=one.upper, verdict=one.verdict, is_hollow=figure is row.counterfactual)
        for figure in figures
        if (one := figure.measurement).value is not None
    ]
    return GroupRow(
        attribute=row.attribute,
        group=row.name,
        records=" / ".join(counts),
        picture=row_svg(drawn, both_sides(CATALOGUE[figures[0].measurement.metric], limits)) if has_picture else "",
        logged=ABSENT if row.logged is None else say_value(row.logged.measurement),
        counterfactual=ABSENT if row.counterfactual is None else say_value(row.counterfactual.measurement),
        verdict=VERDICT_WORDS[row.verdict],
        since=since,
    )


def say_value(one: Measurement) -> str:
    """Figure with its interval: `0.26 (0.15–0.46)`, with digits that show each number on its side of the limits."""
    if one.value is None:
        return "none"
    limits: Limits = (one.lower_limit, one.upper_limit)
    marks = (*both_sides(CATALOGUE[one.metric], limits), CATALOGUE[one.metric].ideal)
    digits = max(digits_apart(end, marks, _TWO_DIGITS) for end in (one.value, one.lower, one.upper) if end is not None)
    value, low, high = (None if end is None else write_minus(f"{end:.{digits}f}") for end in (one.value, one.lower, one.upper))
    if low is None:
        return f"{value} (no interval)" if high is None else f"{value} (up to {high})"
    return f"{value} ({low} and more)" if high is None else f"{value} ({low}{join_of(one.lower or 0.0)}{high})"


def check_report(session: Session, deployment: Deployment, check: CheckRun, made: Made, *, has_annex: bool) -> Document:
    """Returns the report. Evidence, alerts and training data in it are the present ones."""
    source = read_check(session, deployment, check)
    span = f"{moment(check.span.start)} to {moment(check.span.end)}"
    annex = tuple(_annex_of_check(session, source, check)) if has_annex else ()
    return document_of(source, made, subtitle=f"Check {check.id} of {span}", annex=annex)


def document_of(source: ReportSource, made: Made, *, subtitle: str, annex: tuple[Section, ...]) -> Document:
    data = canonical_json(source)
    attachments = [Attachment(name="data.json", media_type="application/json", description="The data of this report", content=data)]
    if source.check is not None:
        trace = trace_csv(source.check, source.measurements)
        described = "Every figure of the check, with its formula and counts"
        attachments.append(Attachment(name="trace.csv", media_type="text/csv", description=described, content=trace))
    page = second_page(source, digest_of(data))
    return Document(
        title=f"Fairness report: {source.deployment.name}",
        subtitle=subtitle,
        made=made,
        first=first_page(source),
        second=replace(page, origin=(Fact(name="Made by", value=say_author(made)), *page.origin)),
        annex=annex,
        attachments=tuple(attachments),
    )


def sections_of_views(check: CheckRun, views: Views, words: GroupWords) -> Iterator[Section]:
    yield window_section(check)
    for kind in ORDER:
        yield from view_sections(rename_view(words, views[kind]))


def views_of(session: Session, deployment: Deployment, check: CheckRun) -> dict[ViewKind, CheckView]:
    return {kind: check_view(session, deployment, check, kind) for kind in ORDER}


def _annex_of_check(session: Session, source: ReportSource, check: CheckRun) -> Iterator[Section]:
    deployment, words = source.deployment, source.forest.words
    measured = [words.rename(one) for one in source.measurements]
    views = views_of(session, deployment, check)
    yield headline_section(check, views, measured, of="of this check")
    yield deployment_section(deployment, check.model_revision)
    yield monitor_section(source.monitor, check)
    yield from sections_of_views(check, views, words)
    yield from history_sections(session, deployment.no, source.monitor, source.span, source.alerts)
    yield evidence_section(rename_evidence(words, source.evidence))
    yield alerts_section(source.alerts, waiting=source.waiting)
    yield limits_section()
    yield tracing_section(check)
