"""The report on a period: its series summed up, how its checks ended, and the views of its newest succeeded check."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.domain.checks import CheckRun, CheckState, DataSet, Measurement, Scope, Span
from app.domain.deployments import Deployment
from app.domain.monitors import Monitor
from app.domain.texts import TOGETHER
from app.metrics.catalogue import CATALOGUE
from app.metrics.sides import Disadvantaged
from app.metrics.verdicts import GRAVEST, Verdict
from app.metrics.worst import rank
from app.reports.check_report import sections_of_views, views_of
from app.reports.closing import alerts_section, limits_section, tracing_section
from app.reports.configuration import deployment_section, monitor_section
from app.reports.document import Block, Document, Made, Paragraph, Section, Table
from app.reports.headlines import Views, headline_section
from app.reports.history import ends_in, history_sections
from app.reports.numbers import ABSENT, moment, number
from app.store.alerts import alerts_between
from app.store.checks import get
from app.store.ended_checks import checks_waiting_for_alerts
from app.store.monitors import monitor_of
from app.store.results import measurements_of
from app.store.series import EndedRun, ended_runs
from app.views.headlines import IMPACT, VERDICT_WORDS
from app.views.series import SeriesPoint, SeriesWanted, disadvantaged_at, series_of

MOST_FAILURES = 50


def period_report(session: Session, deployment: Deployment, span: Span, made: Made) -> Document:
    """The report. Thousands of checks give roll-ups by day, week or month, and not a table each."""
    monitor = monitor_of(session, deployment.no)
    ends = ends_in(span)
    runs = ended_runs(session, deployment.no, ends.start, ends.end)
    alerts = alerts_between(session, deployment.no, span, checks=ends)
    newest = next((run for run in reversed(runs) if run.state == CheckState.SUCCEEDED), None)
    check = None if newest is None else get(session, deployment.no, newest.id)
    views = {} if check is None else views_of(session, deployment, check)
    measurements = [] if check is None else measurements_of(session, check.no)
    return Document(
        title=f"Fairness report: {deployment.name}",
        subtitle=f"{moment(span.start)} to {moment(span.end)}, the end not included",
        made=made,
        sections=(
            _verdicts_section(session, deployment.no, monitor, span),
            _newest(check, views, measurements),
            deployment_section(deployment, None if check is None else check.model_revision),
            monitor_section(monitor, check),
            *history_sections(session, deployment.no, monitor, span, alerts),
            _checks_section(runs),
            alerts_section(alerts, waiting=checks_waiting_for_alerts(session, deployment.no, ends)),
            *(() if check is None else sections_of_views(check, views)),
            limits_section(),
            tracing_section(check, measurements),
        ),
    )


def _newest(check: CheckRun | None, views: Views, measurements: Sequence[Measurement]) -> Section:
    if check is None:
        return Section("The newest check", (Paragraph("No check of this time succeeded.", is_caution=True),))
    of = f"of the newest check, which ended its span on {moment(check.span.end)}"
    found = headline_section(views, measurements, of=of, window=check.window)
    return Section("The newest check", found.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """The verdicts of a period's checks on one attribute's headline, on one data set, and how often who was at a disadvantage by them."""

    attribute: str
    data: str
    verdicts: Mapping[str | None, int]
    sides: Mapping[str | None, Mapping[Disadvantaged | None, int]]
    furthest: SeriesPoint | None


def _verdicts_section(session: Session, deployment_no: int, monitor: Monitor | None, span: Span) -> Section:
    """How often the headline of each attribute was inside its limits, in all checks of the time, those that people asked for included."""
    if monitor is None:
        return Section("In short", (Paragraph("There is no fairness monitor now that says what to sum up.", is_caution=True),))
    attributes = [one.feature for one in monitor.attributes] + [TOGETHER.join(one) for one in monitor.intersections]
    wanted = [(attribute, data) for attribute in attributes for data in _NAMES]
    counted = [one for attribute, data in wanted if (one := _counted(session, deployment_no, attribute, data, span)) is not None]
    if not counted:
        return Section("In short", (Paragraph(NONE_MEASURED, is_caution=True),))
    columns = ("Attribute", "Records", "Furthest out", "When", *(VERDICT_WORDS[verdict].capitalize() for verdict in GRAVEST))
    note = (
        "Counted in checks: the verdict on the monitored group furthest out, as it was given. Furthest out: its disparate impact that lies"
        " furthest beyond the limits, or nearest to them. Checks that carried the figures of an earlier one forward are not counted."
        " Where an hour had few records, its check added those of earlier hours, so that neighbouring checks share records."
    )
    table = Table("Verdicts of the period, in checks", columns, tuple(_row(one) for one in counted), note)
    return Section("In short", (Paragraph(_in_words(counted)), table))


NONE_MEASURED = "No check of this time measured the disparate impact of an attribute that the monitor watches now."
_NAMES = {DataSet.PAYLOAD: "as logged", DataSet.BALANCED: "with copies"}
_OUTSIDE = (Verdict.UNFAIR, Verdict.SUSPECTED, Verdict.UNWATCHED)
_JUDGED = frozenset({*_OUTSIDE, Verdict.FAIR})


def _counted(session: Session, deployment_no: int, attribute: str, data: DataSet, span: Span) -> _Counted | None:
    ends = ends_in(span)
    wanted = SeriesWanted(metric=IMPACT, data=data, attribute=attribute, since=ends.start, until=ends.end, scopes=(Scope.WORST,))
    series = series_of(session, deployment_no, wanted)
    anew = [point for group in series.groups for point in group.points if not point.carried_forward]
    if not anew:
        return None
    sides: dict[str | None, Counter[Disadvantaged | None]] = {}
    for point in anew:
        sides.setdefault(point.verdict, Counter())[disadvantaged_at(series, point)] += 1
    known = [(_rank(point), point.at, point) for point in anew if point.value is not None]
    furthest = min(known, key=lambda one: one[:2], default=None)
    verdicts = Counter(point.verdict for point in anew)
    return _Counted(
        attribute=attribute, data=_NAMES[data], verdicts=verdicts, sides=sides, furthest=None if furthest is None else furthest[2]
    )


def _rank(point: SeriesPoint) -> tuple[bool, float]:
    limits = (point.lower_limit, point.upper_limit)
    return (True, 0.0) if point.value is None else rank(point.value, CATALOGUE[IMPACT], limits)


def _row(one: _Counted) -> tuple[str, ...]:
    shown = ("none", ABSENT) if one.furthest is None else (number(one.furthest.value), moment(one.furthest.at))
    return (one.attribute, one.data, *shown, *(f"{one.verdicts.get(verdict, 0):,}" for verdict in GRAVEST))


def _in_words(counted: Sequence[_Counted]) -> str:
    told = []
    for verdict in _OUTSIDE:
        found = [_often(one, verdict) for one in counted if one.verdicts.get(verdict)]
        if found:
            told.append(f"{VERDICT_WORDS[verdict].capitalize()}: {'; '.join(found)}.")
    if not told and any(_JUDGED & one.verdicts.keys() for one in counted):
        told.append("Nothing that was judged was unfair, suspected or beyond a side that is not watched.")
    unjudged = [f"{one.attribute} ({one.data})" for one in counted if not _JUDGED & one.verdicts.keys()]
    return " ".join(told + ([f"Never judged: {'; '.join(unjudged)}."] if unjudged else []))


def _often(one: _Counted, verdict: Verdict) -> str:
    """In how many checks, and how often who was at a disadvantage by it."""
    many = one.verdicts[verdict]
    names = {Disadvantaged.MONITORED: "the monitored group", Disadvantaged.REFERENCE: "the reference"}
    sides = [f"{name} at a disadvantage in {count:,}" for side, name in names.items() if (count := one.sides[verdict].get(side, 0))]
    return f"{one.attribute} ({one.data}) in {many:,} check{'' if many == 1 else 's'}, {' and '.join(sides)}"


def _checks_section(runs: Sequence[EndedRun]) -> Section:
    states = Counter(run.state for run in runs)
    told = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in sorted(states.items()))
    blocks: list[Block] = [Paragraph(f"Checks that ended: {told or 'none'}.")]
    failed = [run for run in runs if run.state != CheckState.SUCCEEDED]
    if failed:
        note = f"The newest {MOST_FAILURES} of {len(failed):,}." if len(failed) > MOST_FAILURES else None
        rows = tuple((moment(run.span_end), run.state.replace("_", " "), run.reason or "–", run.id) for run in failed[-MOST_FAILURES:])
        blocks.append(Table("Checks without measurements", ("End of the span", "State", "Reason", "Check"), rows, note))
    return Section("The checks", tuple(blocks))
