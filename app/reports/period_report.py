"""Report on a period: its series summed up, how its checks ended, and the views of its newest succeeded check."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from ..domain.checks import CheckState, DataSet, Scope, Span
from ..domain.comparisons import comparisons_of
from ..domain.deployments import Deployment
from ..domain.monitors import Monitor
from ..metrics.catalogue import CATALOGUE
from ..metrics.sides import Disadvantaged
from ..metrics.verdicts import GRAVEST, Verdict
from ..metrics.worst import rank
from ..store.alerts.alerts import alerts_between
from ..store.checks.checks import get
from ..store.checks.ended_checks import checks_waiting_for_alerts
from ..store.checks.results import measurements_of
from ..store.checks.series import ended_runs
from ..store.deployments.monitors import monitor_of
from ..views.headlines import IMPACT, VERDICT_WORDS
from ..views.series import SeriesPoint, SeriesWanted, disadvantaged_at, series_of
from .check_report import sections_of_views, views_of
from .closing import alerts_section, limits_section, tracing_section
from .configuration import deployment_section, monitor_section
from .document import Block, Document, Made, Paragraph, Section, Table
from .evidence import evidence_section
from .headlines import headline_section
from .history import ends_in, history_sections
from .numbers import ABSENT, moment, number

MOST_FAILURES = 50


def period_report(session: Session, deployment: Deployment, span: Span, made: Made) -> Document:
    """Returns the report. Thousands of checks give roll-ups by day, week or month, and not a table each."""
    monitor = monitor_of(session, deployment.no)
    ends = ends_in(span)
    runs = ended_runs(session, deployment.no, ends.start, ends.end)
    alerts = alerts_between(session, deployment.no, span, checks=ends)
    newest = next((run for run in reversed(runs) if run.state == CheckState.SUCCEEDED), None)
    check = None if newest is None else get(session, deployment.no, newest.id)
    views = {} if check is None else views_of(session, deployment, check)
    measurements = [] if check is None else measurements_of(session, check.no)
    states = Counter(run.state for run in runs)
    counts = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in sorted(states.items()))
    ended: list[Block] = [Paragraph(f"Checks that ended: {counts or 'none'}.")]
    failed = [run for run in runs if run.state != CheckState.SUCCEEDED]
    if failed:
        note = f"The newest {MOST_FAILURES} of {len(failed):,}." if len(failed) > MOST_FAILURES else None
        # The runs are in the order of their spans, so the newest are the last.
        rows = tuple((moment(run.span_end), run.state.replace("_", " "), run.reason or "–", run.id) for run in failed[-MOST_FAILURES:])
        ended.append(Table("Checks without measurements", ("End of the span", "State", "Reason", "Check"), rows, note))

    in_short: tuple[Block, ...] = (Paragraph("No check of this time succeeded.", is_caution=True),)
    if check is not None:
        of = f"of the newest check, which ended its span on {moment(check.span.end)}"
        in_short = headline_section(views, measurements, of=of, window=check.window).blocks
    return Document(
        title=f"Fairness report: {deployment.name}",
        subtitle=f"{moment(span.start)} to {moment(span.end)}, the end not included",
        made=made,
        sections=(
            _verdicts_section(session, deployment.no, monitor, span),
            Section("The newest check", in_short),
            deployment_section(deployment, None if check is None else check.model_revision),
            monitor_section(monitor, check),
            *history_sections(session, deployment.no, monitor, span, alerts),
            Section("The checks", tuple(ended)),
            evidence_section(session, deployment.no),
            alerts_section(alerts, waiting=checks_waiting_for_alerts(session, deployment.no, ends)),
            *(() if check is None else sections_of_views(check, views)),
            limits_section(),
            tracing_section(check, measurements),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _VerdictCounts:
    """Counts of the verdicts of a period's checks on one attribute's headline, on one data set, and of the sides at a disadvantage."""

    attribute: str
    data: str
    verdicts: Mapping[str | None, int]
    sides: Mapping[str | None, Mapping[Disadvantaged | None, int]]
    furthest: SeriesPoint | None


def _verdicts_section(session: Session, deployment_no: int, monitor: Monitor | None, span: Span) -> Section:
    """Returns how often the headline of each attribute was inside its limits in all checks of the time, those of people included."""
    if monitor is None:
        return Section("In short", (Paragraph("There is no fairness monitor now that says what to sum up.", is_caution=True),))
    attributes = [comparison.label for comparison in comparisons_of(monitor)]
    wanted = [(attribute, data) for attribute in attributes for data in _NAMES]
    counted = [one for attribute, data in wanted if (one := _count_verdicts(session, deployment_no, attribute, data, span)) is not None]
    if not counted:
        return Section("In short", (Paragraph(NONE_MEASURED, is_caution=True),))
    columns = ("Attribute", "Records", "Furthest out", "When", *(VERDICT_WORDS[verdict].capitalize() for verdict in GRAVEST))
    note = (
        "Counted in checks: the verdict on the monitored group furthest out, as it was given. Furthest out: its disparate impact that lies"
        " furthest beyond the limits, or nearest to them. Checks that carried the figures of an earlier one forward are not counted."
        " Where an hour had few records, its check added those of earlier hours, so that neighbouring checks share records."
    )
    rows = []
    for one in counted:
        furthest = ("none", ABSENT) if one.furthest is None else (number(one.furthest.value), moment(one.furthest.at))
        rows.append((one.attribute, one.data, *furthest, *(f"{one.verdicts.get(verdict, 0):,}" for verdict in GRAVEST)))
    table = Table("Verdicts of the period, in checks", columns, tuple(rows), note)
    return Section("In short", (Paragraph(_describe_verdicts(counted)), table))


NONE_MEASURED = "No check of this time measured the disparate impact of an attribute that the monitor watches now."
_NAMES = {DataSet.PAYLOAD: "as logged", DataSet.BALANCED: "with copies"}
_OUTSIDE = (Verdict.UNFAIR, Verdict.SUSPECTED, Verdict.UNWATCHED)
_JUDGED = frozenset({*_OUTSIDE, Verdict.FAIR})


def _count_verdicts(session: Session, deployment_no: int, attribute: str, data: DataSet, span: Span) -> _VerdictCounts | None:
    ends = ends_in(span)
    wanted = SeriesWanted(metric=IMPACT, data=data, attribute=attribute, since=ends.start, until=ends.end, scopes=(Scope.WORST,))
    series = series_of(session, deployment_no, wanted)
    fresh = [point for group in series.groups for point in group.points if not point.carried_forward]
    if not fresh:
        return None
    sides: dict[str | None, Counter[Disadvantaged | None]] = {}
    for point in fresh:
        sides.setdefault(point.verdict, Counter())[disadvantaged_at(series, point)] += 1
    ranked = [
        (rank(point.value, CATALOGUE[IMPACT], (point.lower_limit, point.upper_limit)), point.at, point)
        for point in fresh
        if point.value is not None
    ]
    # Points have no order, so the third member must not be compared.
    furthest = min(ranked, key=lambda one: one[:2], default=None)
    return _VerdictCounts(
        attribute=attribute,
        data=_NAMES[data],
        verdicts=Counter(point.verdict for point in fresh),
        sides=sides,
        furthest=None if furthest is None else furthest[2],
    )


def _describe_verdicts(counted: Sequence[_VerdictCounts]) -> str:
    """Returns in words how often which verdict was given, and how often each side was at a disadvantage."""
    names = {Disadvantaged.MONITORED: "the monitored group", Disadvantaged.REFERENCE: "the reference"}
    sentences = []
    for verdict in _OUTSIDE:
        parts = []
        for one in counted:
            checks = one.verdicts.get(verdict)
            if checks:
                sides = [
                    f"{name} at a disadvantage in {count:,}" for side, name in names.items() if (count := one.sides[verdict].get(side, 0))
                ]
                parts.append(f"{one.attribute} ({one.data}) in {checks:,} check{'' if checks == 1 else 's'}, {' and '.join(sides)}")
        if parts:
            sentences.append(f"{VERDICT_WORDS[verdict].capitalize()}: {'; '.join(parts)}.")
    if not sentences and any(_JUDGED & one.verdicts.keys() for one in counted):
        sentences.append("Nothing that was judged was unfair, suspected or beyond a side that is not watched.")
    unjudged = [f"{one.attribute} ({one.data})" for one in counted if not _JUDGED & one.verdicts.keys()]
    if unjudged:
        sentences.append(f"Never judged: {'; '.join(unjudged)}.")
    return " ".join(sentences)
