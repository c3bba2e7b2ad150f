"""Report on a period."""

from collections import Counter
from collections.abc import Iterator

from sqlalchemy.orm import Session

from ..domain.checks import CheckState, Span
from ..domain.deployments import Deployment
from ..metrics.verdicts import GRAVEST
from ..views.headlines import VERDICT_WORDS
from ..views.renaming import rename_evidence
from .check_report import document_of, sections_of_views, views_of
from .closing import alerts_section, limits_section, tracing_section
from .configuration import deployment_section, monitor_section
from .document import Block, Document, Made, Paragraph, ReportTable, Section
from .evidence import evidence_section
from .headlines import headline_section
from .history import history_sections
from .numbers import ABSENT, moment, number
from .source import ReportSource, read_period
from .verdict_counts import NONE_MEASURED, count_verdicts, describe_verdicts, find_furthest

MOST_FAILURES = 50


def period_report(session: Session, deployment: Deployment, span: Span, made: Made, *, has_annex: bool = False) -> Document:
    source = read_period(session, deployment, span)
    annex = tuple(_annex_of_period(session, source)) if has_annex else ()
    return document_of(source, made, subtitle=f"{moment(span.start)} to {moment(span.end)}, the end not included", annex=annex)


def _annex_of_period(session: Session, source: ReportSource) -> Iterator[Section]:
    deployment, check, monitor = source.deployment, source.check, source.monitor
    words = source.forest.words
    views = {} if check is None else views_of(session, deployment, check)
    in_short: tuple[Block, ...] = (Paragraph("No check of this time succeeded.", is_caution=True),)
    if check is not None:
        of = f"of the newest check, which ended its span on {moment(check.span.end)}"
        in_short = headline_section(check, views, [words.rename(one) for one in source.measurements], of=of).blocks
    yield _verdicts_section(source)
    yield Section("The newest check", in_short)
    yield deployment_section(deployment, None if check is None else check.model_revision)
    yield monitor_section(monitor, check)
    yield from history_sections(session, deployment.no, monitor, source.span, source.alerts)
    yield _checks_section(source)
    yield evidence_section(rename_evidence(words, source.evidence))
    yield alerts_section(source.alerts, waiting=source.waiting)
    if check is not None:
        yield from sections_of_views(check, views, words)
    yield limits_section()
    yield tracing_section(check)


def _checks_section(source: ReportSource) -> Section:
    states = Counter(run.state for run in source.runs)
    counts = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in sorted(states.items()))
    ended: list[Block] = [Paragraph(f"Checks that ended: {counts or 'none'}.")]
    failed = [run for run in source.runs if run.state != CheckState.SUCCEEDED]
    if failed:
        note = f"The newest {MOST_FAILURES} of {len(failed):,}." if len(failed) > MOST_FAILURES else None
        # The runs are in the order of their spans.
        rows = tuple((moment(run.span_end), run.state.replace("_", " "), run.reason or "–", run.id) for run in failed[-MOST_FAILURES:])
        ended.append(ReportTable("Checks without measurements", ("End of the span", "State", "Reason", "Check"), rows, note))
    return Section("The checks", tuple(ended))


def _verdicts_section(source: ReportSource) -> Section:
    if source.monitor is None:
        return Section("In short", (Paragraph("There is no fairness monitor now that says what to sum up.", is_caution=True),))
    measured = [history for history in source.histories if history.fresh]
    counted = count_verdicts(measured)
    if not counted:
        return Section("In short", (Paragraph(NONE_MEASURED, is_caution=True),))
    columns = ("Attribute", "Records", "Furthest out", "When", *(VERDICT_WORDS[verdict].capitalize() for verdict in GRAVEST))
    note = (
        "Counted in checks: the verdict on the monitored group furthest out, as it was given. Furthest out: its disparate impact that lies"
        " furthest beyond the limits, or nearest to them. Checks that carried the figures of an earlier one forward are not counted."
        " Where an hour had few records, its check added those of earlier hours, so that neighbouring checks share records."
    )
    rows = []
    for history, one in zip(measured, counted, strict=True):
        point = find_furthest(history)
        furthest = ("none", ABSENT) if point is None else (number(point.value), moment(point.at))
        rows.append((one.attribute, one.data, *furthest, *(f"{one.verdicts.get(verdict, 0):,}" for verdict in GRAVEST)))
    table = ReportTable("Verdicts of the period, in checks", columns, tuple(rows), note)
    return Section("In short", (Paragraph(describe_verdicts(counted)), table))
